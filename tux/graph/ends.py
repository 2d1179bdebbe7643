"""The rows of one end of edges: numbers of 32 bits, or of 16 where there are few; of edges that lie
in tiles, 16-bit offsets from the first row that the tile has of this end; of edges grouped by this
end, the bounds of its groups.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.arrays.disk_columns import empty_column, store_column
from tux.base.compiled import cached_njit
from tux.base.parallel import slices, spread
from tux.graph.sorting import count_keys
from tux.rows.table import freeze

OFFSETS = 1 << 16
"""Rows that 16 bits number."""

PIECE = 1 << 20
"""Edges whose rows are computed at a time, at least."""


class TileEnd(NamedTuple):
    """One end of edges in tiles: `offsets` (m,) uint16 from the `first` row (tiles,) int32 of each
    tile, whose edges are ``bounds[t] .. bounds[t + 1]``.
    """

    offsets: np.ndarray
    first: np.ndarray
    bounds: np.ndarray

    @staticmethod
    def of_rows(rows: np.ndarray, first: np.ndarray, bounds: np.ndarray) -> TileEnd:
        """Return the offsets of `rows` (m,), which lie in tiles."""
        offsets = empty_column(len(rows), np.uint16)
        own = TileEnd(offsets, first, bounds)
        spread(
            lambda part: _subtract(rows, *own, own.tile(part.start), part.start, part.stop),
            slices(len(rows)),
        )
        return own

    def rows(self, lo: int = 0, hi: int | None = None) -> np.ndarray:
        """Return the rows of the edges lo..hi, int32."""
        hi = len(self.offsets) if hi is None else hi
        rows = empty_column(hi - lo, np.int32)
        own = self._replace(offsets=freeze(self.offsets))
        spread(
            lambda part: _add(rows, *own, own.tile(lo + part.start), lo, part.start, part.stop),
            slices(hi - lo),
        )
        return rows

    def tile(self, edge: int) -> int:
        """Return the tile of an edge."""
        return int(np.searchsorted(self.bounds, edge, "right")) - 1


class GroupedEnd(NamedTuple):
    """One end of edges grouped by its rows: row r has the edges of `across` groups, and group g is
    edges ``bounds[g] .. bounds[g + 1]``.
    """

    bounds: np.ndarray
    across: int

    def rows(self) -> np.ndarray:
        """Return the rows of all edges, int32."""
        ends, out = self.bounds[:: self.across], empty_column(count_edges(self), np.int32)
        first = 0
        while first < len(ends) - 1:
            full = int(np.searchsorted(ends, ends[first] + PIECE, side="right")) - 1
            last = max(full, first + 1)
            some = np.arange(first, last, dtype=np.int32)
            out[ends[first] : ends[last]] = np.repeat(some, np.diff(ends[first : last + 1]))
            first = last
        return out

    def degrees(self) -> np.ndarray:
        """Return the number of edges of each row, int64."""
        return np.diff(self.bounds[:: self.across])


End = np.ndarray | TileEnd | GroupedEnd


def count_edges(end: End) -> int:
    """Return the number of edges of an end."""
    if isinstance(end, GroupedEnd):
        return int(end.bounds[-1])
    return len(end.offsets) if isinstance(end, TileEnd) else len(end)


def rows_of(end: End) -> np.ndarray:
    """Return the rows of an end (m,) int32."""
    return store_column(end, np.int32) if isinstance(end, np.ndarray) else end.rows()


def array_of(end: End) -> np.ndarray:
    """Return the array (m,) that an end takes; of no edges where they are grouped by it."""
    if isinstance(end, GroupedEnd):
        return np.empty(0, np.int32)
    return end.offsets if isinstance(end, TileEnd) else end


def count_rows(end: End, n: int) -> np.ndarray:
    """Count the edges of each of n rows, (n,) int64: of pieces that are not small beside n."""
    total, size = np.zeros(n, np.int64), max(PIECE, n)
    if isinstance(end, np.ndarray):
        return count_keys(end, n)
    if isinstance(end, GroupedEnd):
        degrees = end.degrees()
        total[: len(degrees)] = degrees[:n]
        return total
    for lo in range(0, len(end.offsets), size):
        total += count_keys(end.rows(lo, min(lo + size, len(end.offsets))), n)
    return total


@cached_njit
def _subtract(rows, offsets, first, bounds, tile, lo, hi):  # type: ignore[no-untyped-def]
    """Write the offsets of the rows lo..hi, of which the first lies in `tile`."""
    for e in range(lo, hi):
        while e >= bounds[tile + 1]:
            tile += 1
        offsets[e] = rows[e] - first[tile]


@cached_njit
def _add(rows, offsets, first, bounds, tile, begin, lo, hi):  # type: ignore[no-untyped-def]
    """Write the rows of the edges begin + lo .. begin + hi, of which the first lies in `tile`, to
    lo..hi.
    """
    for e in range(begin + lo, begin + hi):
        while e >= bounds[tile + 1]:
            tile += 1
        rows[e - begin] = first[tile] + offsets[e]
