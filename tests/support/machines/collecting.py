"""The model that workers in one process send to a launcher, range by range."""

import numpy as np

from tux.arrays.ragged import Lists
from tux.engine.model_shares import ModelAnswer, ModelShare, ModelTables


def model_tables(program, data, seed=0):
    """Return the tables of the model of a program on data, as the launcher has them."""
    return ModelTables(program, {name: len(ids) for name, ids in data.ids.items()}, seed)


def collect(tables, workers, table, first=0, end=0):
    """Ask workers for a range of a table, the last of them first; return their answers, put
    together.
    """
    rows = max(end, 1) if table == len(tables.sizes) else end
    answer = ModelAnswer(tables, table, first, rows, len(workers))
    over = [
        answer.install(message)
        for worker in reversed(workers)
        for message in ModelShare(worker).messages(table, first, end, len(workers))
    ]
    assert over == [False] * (len(over) - 1) + [True]
    return answer


def collect_fields(tables, workers, name, step=5):
    """Ask workers for all vertices of a type, in ranges of so many; return the fields."""
    table, size = tables.names.index(name), tables.sizes[name]
    parts = [
        collect(tables, workers, table, at, min(at + step, size)).rows()
        for at in range(0, size, step)
    ]
    return {
        f: (Lists.join if isinstance(column, Lists) else np.concatenate)([p[f] for p in parts])
        for f, column in parts[0].items()
    }
