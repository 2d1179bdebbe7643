"""A server that answers by a trained model: `tux serve RUN`.

    questions  what may be asked, and its checks
    known_ids  ids, and the rows in which they stand
    answering  a model in memory, which answers questions
    current    the model that a run's folder has now
    app        the answer to one request: paths, access, limits
    server     the process that listens
    start      who may listen where

Begin with `answering`. Reads from: `predict`, `monitor`. Used by: `cli`, `api`.
"""
