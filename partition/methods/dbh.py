"""DBH: degree-based hashing, which cuts the end of higher degree (Xie et al., NIPS 2014)."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.degrees import count_degrees
from tux.partition.common.ends import Progress, ends
from tux.partition.common.pieces import Rule, place_pieces


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
    degree = count_degrees([(edges.src, edges.dst)], edges.vertices, m)
    rule = by_lower_degree(degree, by_hash(np.arange(edges.vertices), k, seed))
    return limit_parts(place_pieces(rule, edges.src, edges.dst, progress), k, limit)


def by_lower_degree(degree: np.ndarray, home: np.ndarray) -> Rule:
    """Return the rule that an edge goes to the `home` (n,) of its end of lower `degree` (n,)."""

    def place(src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        parts = np.empty(len(src), np.int16)
        _by_lower_degree(src, dst, degree, home, parts)
        return parts

    return place


@cached_njit
def _by_lower_degree(src, dst, degree, home, parts):  # type: ignore[no-untyped-def]
    for i in range(len(src)):
        u, v = src[i], dst[i]
        first = degree[u] < degree[v] or (degree[u] == degree[v] and u < v)
        parts[i] = home[u if first else v]
