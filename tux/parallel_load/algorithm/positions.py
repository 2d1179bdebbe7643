"""The positions at which the edges of a part are, and the place of each among these: the rows.

There are two ways. Where the part has edges at many of all positions, a table of all positions is
no larger than the column, and nothing is sorted. Else memory follows the column, however many
vertices there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.arrays.integers import index_dtype
from tux.arrays.lookup import CHUNK, look_up
from tux.base.compiled import cached_njit


def occurring(columns: Sequence[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct positions, of 0 to n-1, in some columns (m,), ascending, and how often
    each occurs: int32.
    """
    if n <= sum(map(len, columns)):
        counts = np.zeros(n, np.int32)
        for column in columns:
            _count(column, counts)
        found = np.flatnonzero(counts).astype(index_dtype(n))
        return found, counts[found]
    ordered = np.concatenate(columns)
    ordered.sort()
    runs = _runs(ordered)
    found, counts = np.empty(runs, index_dtype(n)), np.empty(runs, np.int32)
    _compress(ordered, found, counts)
    return found, counts


def make_rows(column: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the place of each position, of 0 to n-1, in a column (m,) among the `rows`, ascending
    positions: (m,) int32, in the memory of the column if that is int32, too.
    """
    out = column if column.dtype == np.int32 else np.empty(len(column), np.int32)
    if n <= len(column):
        place = np.empty(n, np.int32)
        place[rows] = np.arange(len(rows), dtype=np.int32)
        return look_up(place, column, out)
    for lo in range(0, len(column), CHUNK):
        out[lo : lo + CHUNK] = np.searchsorted(rows, column[lo : lo + CHUNK])
    return out


@cached_njit
def _count(column, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` (n,) how often each number is in `column`."""
    for position in column:
        counts[position] += 1


@cached_njit
def _runs(ordered):  # type: ignore[no-untyped-def]
    """Return the number of distinct numbers in an ascending array."""
    runs = 0
    for i in range(len(ordered)):
        runs += i == 0 or ordered[i] != ordered[i - 1]
    return runs


@cached_njit
def _compress(ordered, found, counts):  # type: ignore[no-untyped-def]
    """Write the distinct numbers to `found`, and how often each occurs to `counts`."""
    at = -1
    for i in range(len(ordered)):
        if i == 0 or ordered[i] != ordered[i - 1]:
            at += 1
            found[at] = ordered[i]
            counts[at] = 0
        counts[at] += 1
