"""Triangles of an undirected graph: each is found once, at its edge of smallest ranks (Latapy
2008).

Vertices are ranked by degree. Each keeps the neighbours of higher rank, of which even a vertex with
many neighbours has few.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.merge_sort import compiled_merge_sort
from tux.base.parallel import spread
from tux.networkx_backend.lists import NeighbourLists, cut, neighbour, write_neighbour


@cached_njit
def _rank_by_size(offsets, ranks):  # type: ignore[no-untyped-def]
    """Write to `ranks` the place of each vertex in the order of sizes, and of numbers."""
    n = len(ranks)
    largest = 0
    for v in range(n):
        largest = max(largest, offsets[v + 1] - offsets[v])
    free = np.zeros(largest + 2, np.int64)
    for v in range(n):
        free[offsets[v + 1] - offsets[v] + 1] += 1
    for size in range(largest):
        free[size + 1] += free[size]
    for v in range(n):
        size = offsets[v + 1] - offsets[v]
        ranks[v] = free[size]
        free[size] += 1


@cached_njit
def _higher_sizes(lists, ranks, first, end, sizes):  # type: ignore[no-untyped-def]
    for v in range(first, end):
        size, own = 0, ranks[v]
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            size += ranks[neighbour(lists, at)] > own
        sizes[own] = size


@cached_njit
def _place_higher(lists, ranks, first, end, higher):  # type: ignore[no-untyped-def]
    """Write to each rank's list the higher ranks of neighbours, ascending."""
    found = np.empty(len(ranks), ranks.dtype)
    for v in range(first, end):
        count, own = 0, ranks[v]
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            rank = ranks[neighbour(lists, at)]
            found[count] = rank  # the next one takes its place, unless it is kept
            count += rank > own
        compiled_merge_sort(found[:count])
        for i in range(count):
            write_neighbour(higher, higher.offsets[own] + i, found[i])


@cached_njit
def _count(higher, first, end, counts):  # type: ignore[no-untyped-def]
    for u in range(first, end):
        stop = higher.offsets[u + 1]
        for at in range(higher.offsets[u], stop):
            v = neighbour(higher, at)
            a, b, last = at + 1, higher.offsets[v], higher.offsets[v + 1]
            while a < stop and b < last:
                x, y = neighbour(higher, a), neighbour(higher, b)
                if x == y:
                    counts[u] += 1
                    counts[v] += 1
                    counts[x] += 1
                a += x <= y
                b += y <= x


def count_triangles(lists: NeighbourLists) -> np.ndarray:
    """Count the triangles of each vertex, (n,) int64; self-loops are in none."""
    n = lists.vertices
    ranks = np.empty(n, lists.kind.dtype)
    _rank_by_size(lists.offsets, ranks)
    sizes = np.empty(n, np.int64)
    spread(lambda piece: _higher_sizes(lists, ranks, *piece, sizes), cut(lists))
    higher = NeighbourLists.of_sizes(sizes)
    spread(lambda piece: _place_higher(lists, ranks, *piece, higher), cut(lists))

    def count(piece: tuple[int, int]) -> np.ndarray:
        counts = np.zeros(n, np.int64)
        _count(higher, *piece, counts)
        return counts

    return np.sum(spread(count, cut(higher)), axis=0)[ranks]
