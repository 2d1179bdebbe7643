"""Every vertex's neighbours, without the numbers of edges, from edges that are read twice."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, slices, spread
from tux.partition.common.chunked import ChunkedEdges
from tux.partition.common.degrees import count_degrees


class VertexNeighbours(NamedTuple):
    """The lists of neighbours of all vertices: those of v are ``entry[first[v]:first[v + 1]]``, in
    the order of the edges; a self-loop is listed once.

    `first` (n + 1,) int64; `entry` (entries,) int32, or int64 beyond 2^31 vertices. `high` (n,)
    bool: vertices of more than `tau` times the mean degree, which have no list; `mean`: the mean
    degree of the vertices that have edges; `unlisted`: the number of edges between two high ones.
    """

    first: np.ndarray
    entry: np.ndarray
    high: np.ndarray
    mean: float
    unlisted: int


@cached_njit
def _list(lo, hi, src, dst, high, first, entry):  # type: ignore[no-untyped-def]
    """Fill the lists of the vertices lo .. hi - 1. `first[v + 1]` begins as the start of v's list
    and is its end when all edges are in. Return how many edges out of these vertices are between
    two high ones.
    """
    unlisted = 0
    for i in range(len(src)):
        u, v = src[i], dst[i]
        if lo <= u < hi:
            if high[u]:
                unlisted += high[v]
            else:
                place = first[u + 1]
                first[u + 1] = place + 1
                entry[place] = v
        if lo <= v < hi and u != v and not high[v]:
            place = first[v + 1]
            first[v + 1] = place + 1
            entry[place] = u
    return unlisted


def _list_range(arrays: tuple[np.ndarray, ...], vertices: slice) -> int:
    return int(_list(vertices.start, vertices.stop, *arrays))


def list_neighbours(edges: ChunkedEdges, tau: float = np.inf) -> VertexNeighbours:
    """Return the lists of all vertices of at most `tau` times the mean degree, from two readings of
    the edges. 8 bytes for each edge between vertices with lists (16 beyond 2^31 vertices).
    """
    n, m = edges.vertices, edges.edges
    degree = count_degrees(edges, n, m, of_loop=1)
    mean = float(degree.sum(dtype=np.int64) / max(np.count_nonzero(degree), 1))
    high = degree > min(tau * mean, m)
    degree[high] = 0
    first = np.zeros(n + 1, np.int64)
    np.cumsum(degree[:-1], out=first[2:])
    entry = np.empty(int(degree.sum(dtype=np.int64)), np.int32 if n < 2**31 else np.int64)
    del degree
    unlisted = 0
    for src, dst in edges:
        ranges = slices(n, max(1, n * ENTRIES_PER_THREAD // max(len(src), 1)))
        unlisted += sum(spread(partial(_list_range, (src, dst, high, first, entry)), ranges))
    return VertexNeighbours(first, entry, high, mean, unlisted)
