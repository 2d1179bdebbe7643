"""Entries or rows of a table looked up by long columns of indices, by all threads."""

from __future__ import annotations

import numpy as np

from tux.arrays.disk_columns import empty_column
from tux.base.parallel import slices, spread

CHUNK = 1 << 15
"""Entries looked up at a time, so that numpy's 64-bit copies of indices stay in the cache."""


def look_up(table: np.ndarray, index: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Compute ``table[index]``, (m, ...), on all threads. It is written to `out`, which may be
    `index` itself, if that is given and its type holds what the table (n, ...) does.
    """
    fits = out is not None and np.can_cast(table.dtype, out.dtype)
    found = (
        out
        if out is not None and fits
        else empty_column((len(index), *table.shape[1:]), table.dtype)
    )

    def look(piece: slice) -> None:
        for start in range(piece.start, piece.stop, CHUNK):
            rows = slice(start, min(start + CHUNK, piece.stop))
            found[rows] = table[index[rows]]

    spread(look, slices(len(index)))
    return found
