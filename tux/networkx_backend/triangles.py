"""Triangles of an undirected graph: each is found once, at its edge of smallest ranks (Latapy
2008).

Vertices are ranked by degree. Each keeps the neighbours of higher rank, of which even a vertex with
many neighbours has few.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.lists import NeighbourLists, cut, neighbour


@cached_njit
def _higher_sizes(lists, ranks, sizes):  # type: ignore[no-untyped-def]
    for v in range(len(ranks)):
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            if ranks[neighbour(lists, at)] > ranks[v]:
                sizes[ranks[v]] += 1


@cached_njit
def _place_higher(lists, order, ranks, free, higher):  # type: ignore[no-untyped-def]
    """Write to each rank's list the higher ranks of neighbours, ascending as they come in order."""
    for rank in range(len(order)):
        v = order[rank]
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            other = ranks[neighbour(lists, at)]
            if other < rank:
                higher[free[other]] = rank
                free[other] += 1


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
    n, kind = lists.vertices, lists.neighbours.dtype
    order = np.argsort(lists.sizes, kind="stable")
    ranks = np.empty(n, kind)
    ranks[order] = np.arange(n, dtype=kind)
    sizes = np.zeros(n, np.int64)
    _higher_sizes(lists, ranks, sizes)
    higher = NeighbourLists.of(sizes, np.empty(int(sizes.sum()), kind))
    _place_higher(lists, order, ranks, higher.offsets[:-1].copy(), higher.neighbours)

    def count(piece: tuple[int, int]) -> np.ndarray:
        counts = np.zeros(n, np.int64)
        _count(higher, *piece, counts)
        return counts

    return np.sum(spread(count, cut(higher)), axis=0)[ranks]
