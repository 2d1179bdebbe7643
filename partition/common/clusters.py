"""Clusters of vertices from a stream of edges, and the parts that they belong to: phase one of
2PS (Mayer et al., ICDE 2022).
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.least_loaded import replay_matches, tournament


def singletons(degree: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put each vertex in a cluster of its own: `cluster` (n,) of the vertices, int32 or int64, and
    `volume` (n,) of the clusters, as `degree`.

    The volume of a cluster is the sum of the degrees of its vertices.
    """
    n = len(degree)
    return np.arange(n, dtype=np.int32 if n < 2**31 else np.int64), degree.copy()


@cached_njit
def gather(src, dst, degree, cluster, volume, most):  # type: ignore[no-untyped-def]
    """Join clusters edge by edge: the end whose cluster is smaller without it (the source, if they
    are equal) joins the other's.

    Not if either cluster has a volume above `most`, or would have.
    """
    for i in range(len(src)):
        u, v = src[i], dst[i]
        a, b = cluster[u], cluster[v]
        if a == b or volume[a] > most or volume[b] > most:
            continue
        if volume[a] - degree[u] > volume[b] - degree[v]:
            u, a, b = v, b, a
        if volume[b] + degree[u] <= most:
            cluster[u] = b
            volume[a] -= degree[u]
            volume[b] += degree[u]


def parts_of_clusters(volume: np.ndarray, k: int) -> np.ndarray:
    """Choose the part of each cluster (n,) int16: largest first, each to the part with the least
    volume (Graham 1969); lower numbers first.
    """
    nonempty = np.flatnonzero(volume)
    order = nonempty[np.argsort(-volume[nonempty], kind="stable")]
    part = np.zeros(len(volume), np.int16)
    _pack(order, volume, np.zeros(k, np.int64), tournament(k), part)
    return part


@cached_njit
def _pack(order, volume, load, winners, part):  # type: ignore[no-untyped-def]
    for c in order:
        least = winners[1]
        part[c] = least
        load[least] += volume[c]
        replay_matches(winners, load, least)
