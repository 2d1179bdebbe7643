"""Edges after vertices: each edge to the part of its lower-degree end, because a vertex of high
degree will be in many parts anyway.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.ends import EdgeEnds
from tux.partition.common.least_loaded import replay_matches, tournament


@cached_njit
def count_lower_ends(src, dst, degree, edges):  # type: ignore[no-untyped-def]
    """Add to `edges` (n,) how many edges each vertex has whose other end has no lower degree; of
    equals, the source counts.
    """
    for i in range(len(src)):
        edges[src[i] if degree[src[i]] <= degree[dst[i]] else dst[i]] += 1


@cached_njit
def _assign(src, dst, degree, home, limit, load, winners, parts):  # type: ignore[no-untyped-def]
    for i in range(len(src)):
        low, high = (src[i], dst[i]) if degree[src[i]] <= degree[dst[i]] else (dst[i], src[i])
        p = home[low]
        if load[p] >= limit:
            p = home[high]
        if load[p] >= limit:
            p = winners[1]
        parts[i] = p
        load[p] += 1
        replay_matches(winners, load, p)


def lower_degree(
    edges: EdgeEnds, degree: np.ndarray, home: np.ndarray, k: int, limit: int
) -> np.ndarray:
    """Place each edge in `home` (n,) of its end of lower degree, else of the other end, else in the
    least loaded part; parts (m,) int16.

    A part that has `limit` edges is full; k limit >= m.
    """
    parts = np.empty(len(edges.src), np.int16)
    _assign(edges.src, edges.dst, degree, home, limit, np.zeros(k, np.int64), tournament(k), parts)
    return parts
