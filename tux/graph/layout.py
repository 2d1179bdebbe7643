"""Orders in which edges are walked: grouped by one end, or in tiles that fit the cache. Pure
functions on arrays.

A tile is a range of rows of one end by a range of rows of the other. Walking a graph tile by tile
keeps the rows of both ranges in the second-level cache while their edges are visited, where a walk
along one end would fetch the other end's rows from memory for each edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tux.arrays.byte_codes import ByteCodes, Column
from tux.arrays.disk_columns import empty_column
from tux.arrays.integers import index_dtype
from tux.arrays.lookup import look_up
from tux.base.compiled import cached_njit
from tux.base.parallel import slices, spread
from tux.base.random import permutation, uniforms
from tux.graph.ends import OFFSETS, End, GroupedEnd, TileEnd, rows_of
from tux.graph.sorting import Sorting
from tux.graph.stored_arrays import Indices
from tux.rows.table import freeze

TILE_BYTES = 1 << 20
"""Bytes of rows that a tile may touch: a usual second-level cache. A constant, so that runs
repeat on any machine.
"""

STRIP_BYTES = 1 << 14
"""Bytes of one end's rows whose edges lie together within a tile: half of a usual first-level
cache.
"""

SUMMED = 1 << 20
"""Degrees that are summed up at a time."""

LAST_LEVEL_BYTES = 1 << 24
"""Bytes of rows that stay in a usual last-level cache beside everything else."""

MIN_TILES = 8
"""Ranges each end is cut into at least (where it has so many rows): edges in file order need
that much mixing.
"""


ROWS_BESIDE = 32
"""Rows of a range, at least, where UDFs compare its edges with others: with fewer there are hardly
any to compare with.
"""


@dataclass(frozen=True)
class Layout:
    """The edges in one order. `src`, `dst` are rows (m,) int32 or uint16, or of tiles offsets (m,)
    uint16 of rows from the `first` ones (tiles,) int32 that a tile has of either end. The bounds
    tell the rows of the end with number `grouped` (0: src), whose array is empty. Edge i of this
    order has its fields at ``index[i]``, which `number` computes, or at i without it.

    `bounds` (groups + 1,) int64: group g is edges bounds[g]..bounds[g+1]; a group is a row of the
    grouped end, or a tile. `blocks` (blocks + 1,) int64: block b consists of the groups
    blocks[b]..blocks[b+1]. `across`: the number of tiles in a row of the grid of tiles, which
    belong to one range of the enumerated end. `columns`: copies of fields in this order.
    """

    src: np.ndarray
    dst: np.ndarray
    number: Callable[[], np.ndarray] | None
    bounds: np.ndarray
    blocks: np.ndarray
    across: int = 1
    first: tuple[np.ndarray, np.ndarray] | None = None
    grouped: int | None = None
    columns: dict[str, Column] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """True if the edges lie in memory in this order."""
        return self.number is None

    @cached_property
    def index(self) -> np.ndarray | tuple[()]:
        """The place of each edge's fields (m,), computed when it is first asked for; () if they lie
        in this order.
        """
        return self.number() if self.number else ()

    def reorder(self, fields: Mapping[str, Column]) -> dict[str, Column]:
        """Return the `fields` (m, ...), which never change, in this order; arrays are read-only.
        Copies are made once.
        """
        if self.number is None:
            return {
                name: each if isinstance(each, ByteCodes) else freeze(each)
                for name, each in fields.items()
            }
        if missing := [name for name in fields if name not in self.columns]:
            index = self.number()
            for name in missing:
                values = fields[name]
                self.columns[name] = (
                    values.reorder(index)
                    if isinstance(values, ByteCodes)
                    else freeze(look_up(values, index))
                )
        return {name: self.columns[name] for name in fields}

    def held_ends(self) -> list[End]:
        """Return either end as it is held in memory, in this order."""
        ends: list[End] = [self.src, self.dst]
        if self.grouped is not None:
            ends[self.grouped] = GroupedEnd(self.bounds, self.across)
        elif self.first is not None:
            offsets = zip((self.src, self.dst), self.first, strict=True)
            ends = [TileEnd(each, first, self.bounds) for each, first in offsets]
        return ends

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows (m,) int32 of either end, in this order."""
        src, dst = map(rows_of, self.held_ends())
        return src, dst

    @staticmethod
    def of_vertices(n: int) -> Layout:
        """Make a layout without edges, with a group for each of n rows."""
        none = np.empty(0, np.int32)
        return Layout(none, none, None, np.zeros(n + 1, np.int64), np.arange(n + 1))


class TileGrid(NamedTuple):
    """The grid of tiles of edges: the ranges of rows of the enumerated end `role`, and of the other
    end. `strips`: the end by which edges are sorted within a tile, and the rows of a strip.
    """

    role: str
    cuts: np.ndarray
    other_cuts: np.ndarray
    strips: tuple[str, int]

    @property
    def across(self) -> int:
        """The number of tiles in a row of the grid."""
        return len(self.other_cuts) - 1

    @property
    def is_narrow(self) -> bool:
        """True if 16 bits number the rows of each range."""
        widths = np.concatenate([np.diff(self.cuts), np.diff(self.other_cuts)])
        return bool(widths.max(initial=0) <= OFFSETS)

    def first_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the first row (tiles,) int32 of each tile, of `role` and of the other end."""
        own = np.repeat(self.cuts[:-1], self.across).astype(np.int32)
        return own, np.tile(self.other_cuts[:-1], len(self.cuts) - 1).astype(np.int32)


def sort_by_rows(rows: np.ndarray, n: int) -> Sorting:
    """Sort edges by their `rows` (m,), each in 0..n-1."""
    return Sorting(rows, n)


def sort_by_tiles(
    over: np.ndarray, other: np.ndarray, over_cuts: np.ndarray, other_cuts: np.ndarray
) -> Sorting:
    """Sort edges by tile: ranges of `over` by `over_cuts`, then of `other` by `other_cuts`."""
    tiles = (len(over_cuts) - 1) * (len(other_cuts) - 1)
    # few bytes an edge: the keys are held while the edges are there twice
    dtype = np.dtype(np.uint16) if tiles <= 1 << 16 else index_dtype(tiles)
    a = np.repeat(np.arange(len(over_cuts) - 1, dtype=dtype), np.diff(over_cuts))
    a *= len(other_cuts) - 1
    b = np.repeat(np.arange(len(other_cuts) - 1, dtype=dtype), np.diff(other_cuts))
    keys = empty_column(len(over), dtype)
    over, other = freeze(over), freeze(other)
    spread(lambda piece: _tiles(over[piece], other[piece], a, b, keys[piece]), slices(len(over)))
    return Sorting(keys, tiles)


@cached_njit
def _tiles(over, other, a, b, keys):  # type: ignore[no-untyped-def]
    """Write the tile of each edge to `keys`: that of its row of `over`, by `a`, and of `other`, by
    `b`.
    """
    for i in range(len(keys)):
        keys[i] = a[over[i]] + b[other[i]]


def even_cuts(lo: int, hi: int, most: int) -> np.ndarray:
    """Cut lo..hi into the fewest ranges of nearly equal length, none longer than `most`."""
    parts = max(1, -(-(hi - lo) // max(most, 1)))
    return np.linspace(lo, hi, parts + 1).astype(np.int64)


def tile_rows(n: int, row_bytes: int) -> int:
    """Return the number of rows of one end in a tile: as many as half of TILE_BYTES holds, and no
    more than 1/MIN_TILES of the n rows.
    """
    return max(1, min(TILE_BYTES // 2 // max(row_bytes, 1), n // MIN_TILES))


def strip_rows(row_bytes: int) -> int:
    """Return the number of rows of one end in a strip: as many as STRIP_BYTES hold."""
    return max(1, STRIP_BYTES // max(row_bytes, 1))


def cut_tiles(
    cuts: np.ndarray,
    n_other: int,
    row_bytes: tuple[int, int],
    columns: np.ndarray | None,
    least: int = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Cut the rows of the enumerated end and of the other one, `n_other`, into the ranges of tiles.
    None crosses one of the `cuts`. `row_bytes`: of either end. `columns`: the ranges of the other
    end, if they are given. `least`: rows of a range, if there are so many.
    """
    own = refine(cuts, max(least, tile_rows(int(cuts[-1]), row_bytes[0])))
    if columns is not None:
        return own, columns
    most = max(least, tile_rows(n_other, row_bytes[1]))
    return own, refine(np.array([0, n_other]), most)


def refine(cuts: np.ndarray, most: int) -> np.ndarray:
    """Cut each range of `cuts` evenly into ranges of at most `most`."""
    pieces = [
        even_cuts(int(lo), int(hi), most)[:-1]
        for lo, hi in zip(cuts[:-1], cuts[1:], strict=True)
        if hi > lo
    ]
    return np.concatenate([*pieces, cuts[-1:]]).astype(np.int64)


def columns_of_round(stream: np.uint64, across: int, round: int, rounds: int) -> np.ndarray:
    """Return the columns of a grid of tiles, `across` in all, that belong to a round: `stream`
    draws one of `rounds` for each column.
    """
    return np.sort(permutation(stream, across)[round::rounds])


ABREAST = 8
"""Ranges of the end with more bytes that meet one range of the other end in a run."""


def diagonals(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """List all cells (row, column) of a grid, diagonal after diagonal: so neighbours in the list
    share neither, and threads that take them in turn seldom wait.
    """
    short, long = min(rows, columns), max(rows, columns)
    turn, at = np.divmod(np.arange(short * long), max(short, 1))
    across = (at + turn) % max(long, 1)
    return (at, across) if rows <= columns else (across, at)


def tile_order(
    stream: np.uint64,
    first: int,
    last: int,
    across: int,
    row_bytes: tuple[int, int],
    columns: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw a random order of the tiles first..last, whole rows of a grid `across` tiles wide, or
    some of its `columns`. Return it, and the boundaries (runs + 1,) of the runs that one thread
    should take, as they share a range.

    `row_bytes`: of all rows of either end. Where these stay in the last-level cache, tiles come
    along the diagonals of the grid, each a run. Else the ranges of the end with more bytes come in
    groups of about ABREAST, which are fetched from memory once and stay in that cache: with each
    range of the other end, which stays in the second-level cache, a group makes a run. All runs of
    a group have its ranges in the same order, so that threads follow one another.
    """
    tiles = np.arange(first, last).reshape(-1, max(across, 1))
    tiles = tiles if columns is None else tiles[:, columns]
    tiles = tiles.T if row_bytes[1] > row_bytes[0] else tiles
    lines, width = permutation(stream, len(tiles)), tiles.shape[1]
    if sum(row_bytes) <= LAST_LEVEL_BYTES:
        a, b = diagonals(len(tiles), width)
        order = np.argsort(uniforms(stream, np.array([1]), width)[0])
        return tiles[lines[a], order[b]], np.arange(tiles.size + 1)
    groups = np.array_split(lines, max(1, round(len(tiles) / ABREAST)))
    inner = np.argsort(uniforms(stream, np.arange(1, len(groups) + 1), width), axis=1)
    found = [
        tiles[np.ix_(group, order)].T.reshape(-1)
        for group, order in zip(groups, inner, strict=True)
    ]
    sizes = np.repeat([len(group) for group in groups], width)
    return np.concatenate(found), np.concatenate([[0], np.cumsum(sizes)])


def blocks_by_vertices(n: int, size: int) -> np.ndarray:
    """Return block boundaries (blocks + 1,): ranges of `size` rows; 0 is one block of all."""
    return np.append(np.arange(0, n, size), n) if 0 < size < n else np.array([0, n])


def move_to_group_ends(groups: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Move each of the block boundaries `cuts` (blocks + 1,) that lies within a group, between its
    boundaries in `groups`, to the end of the group.
    """
    return np.unique(groups[np.searchsorted(groups, cuts)])


def blocks_by_edges(degrees: Indices, size: int) -> np.ndarray:
    """Return block boundaries (blocks + 1,): ranges of rows whose `degrees` (n,) sum to about
    `size` edges; 0 is one block of all. Of n rows, so many as SUMMED are summed up at a time.
    """
    n = len(degrees)
    if size <= 0 or n == 0:
        return np.array([0, n])
    before, last = 0, int(degrees.sum(dtype=np.int64)) - 1
    cuts = [np.array([0, n])]
    for first in range(0, n, SUMMED):
        ends = np.cumsum(degrees[first : first + SUMMED], dtype=np.int64) + before
        wanted = np.arange(before // size + 1, min(int(ends[-1]), last) // size + 1) * size
        cuts.append(np.searchsorted(ends, wanted, side="left") + first + 1)
        before = int(ends[-1])
    return np.unique(np.concatenate(cuts)).astype(np.int64)
