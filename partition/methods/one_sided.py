"""1D cuts: the edges of a source, or of a target, stay together; the other end alone is cut
(EdgePartition1D of GraphX, OSDI 2014).
"""

from __future__ import annotations

import numpy as np

from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends
from tux.partition.common.pieces import place_pieces


def source(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place each edge in part ``hash(src) mod k``; parts (m,) int16.

    Without `cap` all edges out of a vertex lie in one part; as a target a vertex of in-degree d has
    up to min(k, d) replicas.
    """
    edges = ends(src, dst, bipartite)
    return by_one_end(edges.src, k, seed, cap, progress)


def target(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place each edge in part ``hash(dst) mod k``; parts (m,) int16. As `source`, with the ends
    exchanged.
    """
    edges = ends(src, dst, bipartite)
    return by_one_end(edges.dst, k, seed, cap, progress)


def by_one_end(
    end: np.ndarray, k: int, seed: int, cap: float | None, progress: Progress
) -> np.ndarray:
    """Place each edge by the hash of its end in `end` (m,)."""
    limit = capacity(len(end), k, cap)
    parts = place_pieces(lambda some, _: by_hash(some, k, seed), end, end, progress)
    return limit_parts(parts, k, limit)
