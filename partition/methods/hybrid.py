"""Hybrid-cut: edges of a low-degree target stay with it, those of a high-degree one go to their
sources (PowerLyra, EuroSys 2015).
"""

from __future__ import annotations

import numpy as np

from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import EdgeEnds, Progress, ends

_CHUNK = 1 << 20
THETA = 100
"""The highest in-degree of a low-degree target, unless another is asked for."""


def hybrid(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    theta: float = THETA,
) -> np.ndarray:
    """Place each edge in part ``hash(dst) mod k`` where the in-degree of dst is at most `theta`,
    else in ``hash(src) mod k``; parts (m,) int16.
    """
    edges = ends(src, dst, bipartite)
    limit = capacity(len(edges.src), k, cap)
    home = by_hash(np.arange(edges.vertices), k, seed)
    low = np.bincount(edges.dst, minlength=edges.vertices) <= theta
    return limit_parts(with_low_targets(edges, home, low, progress), k, limit)


def with_low_targets(
    edges: EdgeEnds, home: np.ndarray, low: np.ndarray, progress: Progress
) -> np.ndarray:
    """Place each edge in the `home` (n,) int16 of its target where that is `low` (n,) bool, else of
    its source; parts (m,) int16.
    """
    m, parts = len(edges.src), np.empty(len(edges.src), np.int16)
    for lo in range(0, m, _CHUNK):
        a, b = edges.src[lo : lo + _CHUNK], edges.dst[lo : lo + _CHUNK]
        parts[lo : lo + _CHUNK] = home[np.where(low[b], b, a)]
        if progress:
            progress((lo + len(a)) / m)
    return parts
