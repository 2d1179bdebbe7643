"""The data of a run, from files, from memory, or made up: `load` is the entry point.

    load           edges to train on and edges held out, whatever the program takes
    untyped, samples, points, vertices, memory, synthetic  the kinds of data
    in_shares      the same by a loader process for each worker; `serial_reason` says when not
    new_rows, pairs  the rows and pairs for which a model is to predict
    examination    what `tux check` shows

Reads from: `io`, `parallel_load`, `run_folder`. Used by: `predict`, `runs`, `backends`.
"""
