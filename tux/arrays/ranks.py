"""Long columns of integers of a narrow range as ranks among the distinct ones: compiled loops, on
all threads.
"""

from __future__ import annotations

import numpy as np

from tux.base.parallel import slices, spread
from tux.partition.compiled import compiled


@compiled
def _mark(column, low, present):  # type: ignore[no-untyped-def]
    """Set present[i - low] for each i of `column`; threads that set the same one do no harm."""
    for value in column:
        present[value - low] = True


@compiled
def _look_up(column, low, rank, out):  # type: ignore[no-untyped-def]
    for i in range(len(column)):
        out[i] = rank[column[i] - low]


def ranked(column: np.ndarray, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct values of `column` (m,), which are from `low` to `high`, ascending, and each
    row's place among them, (m,) int32. A table of the range, of 5 bytes a value, is used.
    """
    column = column.astype(np.int64 if column.itemsize == 8 else np.int32, order="C", copy=False)
    column = column.view()
    column.flags.writeable = False  # one kind of array is one compilation
    pieces = slices(len(column))
    present, codes = np.zeros(high - low + 1, np.bool_), np.empty(len(column), np.int32)
    spread(lambda piece: _mark(column[piece], low, present), pieces)
    rank = np.cumsum(present, dtype=np.int32)
    rank -= 1
    spread(lambda piece: _look_up(column[piece], low, rank, codes[piece]), pieces)
    return np.flatnonzero(present) + low, codes
