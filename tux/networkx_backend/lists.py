"""Neighbour lists of the vertices 0..n-1, and the loops that turn, sort and cut them.

Compiled code gets a neighbour by `neighbour` alone, so that lists can be held in another form.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tux.arrays.integers import index_dtype
from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, threads

NOTHING = np.empty(0, np.float64)
"""Values along lists that are all 1."""

PIECES_PER_THREAD = 8
LEAST_VERTICES = 64
"""Vertices of a piece of `pieces_of`."""


class NeighbourLists(NamedTuple):
    """The neighbours of vertex v are the entries ``offsets[v]`` .. ``offsets[v + 1] - 1``.

    `offsets` (n + 1,) int64; `neighbours` (entries,) int32, int64 from 2^31 vertices on.
    """

    offsets: np.ndarray
    neighbours: np.ndarray

    @classmethod
    def of(cls, sizes: np.ndarray, neighbours: np.ndarray) -> NeighbourLists:
        """Make lists of their `sizes` (n,) and of all neighbours, one list after the other."""
        offsets = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return cls(offsets, neighbours)

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> np.ndarray:
        """The number of neighbours of each vertex, (n,) int64."""
        return np.diff(self.offsets)


@cached_njit
def neighbour(lists, at):  # type: ignore[no-untyped-def]
    """Return the neighbour at an entry of lists, an int64."""
    return np.int64(lists.neighbours[at])


@cached_njit
def _count_targets(lists, counts):  # type: ignore[no-untyped-def]
    for at in range(lists.offsets[-1]):
        counts[neighbour(lists, at)] += 1


@cached_njit
def _place_sources(lists, free, turned):  # type: ignore[no-untyped-def]
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            w = neighbour(lists, at)
            turned[free[w]] = v
            free[w] += 1


@cached_njit
def _place_values(lists, values, free, turned):  # type: ignore[no-untyped-def]
    for at in range(lists.offsets[-1]):
        w = neighbour(lists, at)
        turned[free[w]] = values[at]
        free[w] += 1


def count_targets(lists: NeighbourLists) -> np.ndarray:
    """Count in how many lists each vertex is, (n,) int64."""
    counts = np.zeros(lists.vertices, np.int64)
    _count_targets(lists, counts)
    return counts


def transpose(lists: NeighbourLists) -> NeighbourLists:
    """Return, for each vertex, the vertices in whose lists it is, ascending."""
    turned = np.empty(len(lists.neighbours), index_dtype(lists.vertices))
    result = NeighbourLists.of(count_targets(lists), turned)
    _place_sources(lists, result.offsets[:-1].copy(), turned)
    return result


def transpose_values(
    lists: NeighbourLists, turned: NeighbourLists, values: np.ndarray
) -> np.ndarray:
    """Return `values` (entries,) along `lists` in the order of ``turned = transpose(lists)``."""
    result = np.empty_like(values)
    _place_values(lists, values, turned.offsets[:-1].copy(), result)
    return result


def cut(lists: NeighbourLists) -> list[tuple[int, int]]:
    """Cut the vertices into ranges (first, last + 1), one for each thread, which have nearly the
    same number of entries; fewer ranges where there is little work.
    """
    entries = int(lists.offsets[-1])
    count = max(1, min(threads(), entries // ENTRIES_PER_THREAD))
    aims = [entries * at // count for at in range(1, count)]
    bounds = [0, *np.searchsorted(lists.offsets, aims).tolist(), lists.vertices]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


@cached_njit
def contains(lists, v, w):  # type: ignore[no-untyped-def]
    """Return whether w is in the ascending list of v."""
    low, high = lists.offsets[v], lists.offsets[v + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbour(lists, middle) < w:
            low = middle + 1
        else:
            high = middle
    return low < lists.offsets[v + 1] and neighbour(lists, low) == w


@cached_njit
def _find_loops(lists, loops):  # type: ignore[no-untyped-def]
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            if neighbour(lists, at) == v:
                loops[v] = at


def loops_of(lists: NeighbourLists) -> np.ndarray:
    """Return the entry of each vertex's self-loop, (n,) int64, -1 where there is none."""
    loops = np.full(lists.vertices, -1, np.int64)
    _find_loops(lists, loops)
    return loops


@cached_njit
def _sum_lists(lists, values, sums):  # type: ignore[no-untyped-def]
    for v in range(len(lists.offsets) - 1):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            sums[v] += values[at]


def sum_lists(lists: NeighbourLists, values: Any) -> np.ndarray:
    """Add up `values` (entries,) along each list, in its order, (n,) of their type. Values that
    are `NOTHING` are 1 each.
    """
    if values is NOTHING:
        return lists.sizes.astype(np.float64)
    sums = np.zeros(lists.vertices, values.dtype)
    _sum_lists(lists, values, sums)
    return sums


def pieces_of(count: int) -> list[slice]:
    """Cut 0..count into consecutive ranges, several for each thread, as work may not be even."""
    pieces = max(1, min(PIECES_PER_THREAD * threads(), count // LEAST_VERTICES))
    return [slice(count * at // pieces, count * (at + 1) // pieces) for at in range(pieces)]
