"""Hybrid-cut: edges of a low-degree target stay with it, those of a high-degree one go to their
sources (PowerLyra, EuroSys 2015).
"""

from __future__ import annotations

import numpy as np

from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends
from tux.partition.common.pieces import Rule, place_pieces

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
    rule = with_low_targets(home, low)
    return limit_parts(place_pieces(rule, edges.src, edges.dst, progress), k, limit)


def with_low_targets(home: np.ndarray, low: np.ndarray) -> Rule:
    """Return the rule that an edge goes to the `home` (n,) int16 of its target where that is `low`
    (n,) bool, else of its source.
    """
    return lambda src, dst: home[np.where(low[dst], dst, src)]
