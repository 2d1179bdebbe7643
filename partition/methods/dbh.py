"""DBH: degree-based hashing, which cuts the end of higher degree (Xie et al., NIPS 2014)."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends

_CHUNK = 1 << 20


def dbh(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place each edge in part ``hash(w) mod k`` of w, its end of lower degree; of equal degrees,
    the end with the lower number. parts (m,) int16.

    Degrees are exact: all edges at a vertex, in and out, repeated ones too, a self-loop twice.
    """
    edges = ends(src, dst, bipartite)
    m, limit = len(edges.src), capacity(len(edges.src), k, cap)
    degree = np.zeros(edges.vertices, np.int64)
    _count(edges.src, edges.dst, degree)
    home, parts = by_hash(np.arange(edges.vertices), k, seed), np.empty(m, np.int16)
    for lo in range(0, m, _CHUNK):
        a, b, out = (x[lo : lo + _CHUNK] for x in (edges.src, edges.dst, parts))
        by_lower_degree(a, b, degree, home, out)
        if progress:
            progress((lo + len(a)) / m)
    return limit_parts(parts, k, limit)


@cached_njit
def _count(src, dst, degree):  # type: ignore[no-untyped-def]
    for i in range(len(src)):
        degree[src[i]] += 1
        degree[dst[i]] += 1


@cached_njit
def by_lower_degree(src, dst, degree, home, parts):  # type: ignore[no-untyped-def]
    """Write to `parts` (m,) the `home` (n,) of each edge's end of lower `degree` (n,)."""
    for i in range(len(src)):
        u, v = src[i], dst[i]
        first = degree[u] < degree[v] or (degree[u] == degree[v] and u < v)
        parts[i] = home[u if first else v]
