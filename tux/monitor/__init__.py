"""Views of a run while it goes on, and afterwards.

    json_lines  the progress of a run as lines of JSON
    sinks       other programs to which a run writes its curves: MLflow, TensorBoard
    trace       the time of each worker as a chart
    watch       the page of `tux watch`

Reads from: `run_folder`. Used by: `runs`, `api`, `cli`.
"""
