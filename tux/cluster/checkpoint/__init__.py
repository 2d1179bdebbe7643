"""The states of all workers on their way to a checkpoint, and back.

    worker_marks  a worker's part: copies its state where the launcher wants it, and writes it
    keeper        the launcher's part: answers workers, and has checkpoints made of the files
    worker_files, remote_files, pieces  files of other machines, which travel in pieces

Used by: `cluster.job`, `runs`.
"""
