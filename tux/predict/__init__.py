"""Uses of a trained model.

    predict     scores of pairs; `rows` those of new rows, and vectors of new vertices
    recommend   the best items for each user; `topk` finds them, on arrays
    neighbours  vertices like one
    factors     the arrays whose inner products are predictions; `ranking` judges them
    node_classification  judges vectors by labels
    export      a model as one file for other programs

Reads from: `run_folder`, `inputs`. Used by: `runs`, `api`, `cli`, `apps`.
"""
