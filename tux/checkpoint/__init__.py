"""Checkpoints: the state of a run between two clocks, on disk, so that a run goes on as if it had
not stopped.

    schedule      when states are kept, and how workers and launcher agree on it
    snapshot      what the state of a worker consists of
    shard, saved  that state as one checked file
    spool, segments  lists that stages write to disk, such as walks, as a part of the state
    store         the folder `OUT/checkpoints`; `folder_keeper` makes checkpoints of states there
    redistribute  the states of one cut as those of another number of workers
    old_states    what the former know of vertices, of which a range is read at a time

Reads from: `graph`. Used by: `engine`, `cluster.checkpoint`, `run_folder`, `runs`.
"""
