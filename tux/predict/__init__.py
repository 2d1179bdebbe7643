"""Uses of a trained model.

    predict     scores of pairs; `rows` those of new rows, and vectors of new vertices; `scorer`
                runs the stages behind both
    recommend   the best items for each user; `topk` finds them, on arrays
    neighbours  vertices like one
    factors     the arrays whose inner products are predictions; `ranking` judges them
    judge_topics  coherence of topics in texts; `coherence` has the measures, on arrays, and
                `topics` tells topics by their words
    node_classification  judges vectors by labels
    column_files  files of what is predicted
    export      a model as one file for other programs

Reads from: `run_folder`, `inputs`. Used by: `runs`, `api`, `cli`, `apps`.
"""
