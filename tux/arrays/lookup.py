"""Long columns of numbers looked up in a table, by all threads."""

from __future__ import annotations

import numpy as np

from tux.arrays.disk_columns import empty_column
from tux.base.parallel import slices, spread

CHUNK = 1 << 15
"""Entries looked up at a time, so that numpy's 64-bit copies of indices stay in the cache."""


def look_up(table: np.ndarray, index: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Compute ``table[index]``, (m,), on all threads. It is written to `out`, which may be `index`
    itself, if that is given and its type holds what the table does.
    """
    fits = out is not None and np.can_cast(table.dtype, out.dtype)
    found = out if out is not None and fits else empty_column(len(index), table.dtype)

    def look(piece: slice) -> None:
        for start in range(piece.start, piece.stop, CHUNK):
            rows = slice(start, min(start + CHUNK, piece.stop))
            found[rows] = table[index[rows]]

    spread(look, slices(len(index)))
    return found


def take_rows(column: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Copy the entries or rows of a column (m, ...) at `index` to a new one, on all threads."""
    out = empty_column((len(index), *column.shape[1:]), column.dtype)

    def take(piece: slice) -> None:
        for start in range(piece.start, piece.stop, CHUNK):
            rows = slice(start, min(start + CHUNK, piece.stop))
            out[rows] = column[index[rows]]

    spread(take, slices(len(index)))
    return out
