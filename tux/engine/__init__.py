"""The worker, which runs a program's steps on one partition, and the loop over epochs.

    training    epochs, evaluation, stopping, the best model: the entry point is `Training`
    worker      one partition's rows, edges and masters
    clock_loop  runs the clocks of a pass: segments, sending, installing
    transport   how a worker's messages leave and come
    threads     the threads of a worker
    initial, eval_rows, model, shares, checks, records, timeline  what these need

Reads from: `sync`, `checkpoint`. Used by: `stages`, `cluster`, `runs`.
"""
