"""The worker, which runs a program's steps on one partition, and the loop over epochs.

    training    epochs, evaluation, stopping, the best model: the entry point is `Training`
    partition   the rows, edges, masters and mirrors of a worker, as stages know them
    worker      runs the steps of stages on its partition
    clock_loop  runs the clocks of a pass: segments, sending, installing
    transport   how a worker's messages leave and come
    threads     the threads of a worker
    initial, eval_rows, model, shares, checks, records, spans, timeline  what these need

Reads from: `sync`, `checkpoint`. Used by: `stages`, `cluster`, `runs`.
"""
