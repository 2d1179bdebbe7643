"""Every vertex's edges with their numbers, laid out for walks that look at the neighbour and the
edge together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.degrees import count_degrees
from tux.partition.common.ends import EdgeEnds


class Adjacency(NamedTuple):
    """The lists of edges of all vertices: those of v are ``entry[first[v]:first[v + 1]]``, in the
    order of the edges; a self-loop is listed once.

    `first` (n + 1,) int64; `entry` (entries, 2) int32 or int64: neighbour and number of the edge,
    side by side so that both come with one read of memory; `degree` (n,) int64.
    """

    first: np.ndarray
    entry: np.ndarray
    degree: np.ndarray


@cached_njit
def _list(src, dst, first, entry):  # type: ignore[no-untyped-def]
    """Fill the lists. `first[v + 1]` begins as the start of v's list and is its end when all edges
    are in.
    """
    for i in range(len(src)):
        u, v = src[i], dst[i]
        place = first[u + 1]
        first[u + 1] = place + 1
        entry[place, 0], entry[place, 1] = v, i
        if u != v:
            place = first[v + 1]
            first[v + 1] = place + 1
            entry[place, 0], entry[place, 1] = u, i


def adjacency(edges: EdgeEnds) -> Adjacency:
    """Return the lists of all vertices: 16 bytes for each edge (32 beyond 2^31 edges)."""
    n, m = edges.vertices, len(edges.src)
    degree = count_degrees([(edges.src, edges.dst)], n, m, of_loop=1).astype(np.int64)
    first = np.zeros(n + 1, np.int64)
    np.cumsum(degree[:-1], out=first[2:])
    entry = np.empty((int(degree.sum()), 2), np.int32 if max(n, m) < 2**31 else np.int64)
    _list(edges.src, edges.dst, first, entry)
    return Adjacency(first, entry, degree)
