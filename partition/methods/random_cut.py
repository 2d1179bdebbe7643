"""Random vertex cut: the part of an edge is a hash of its two ends (PowerGraph, OSDI 2012)."""

from __future__ import annotations

import numpy as np

from tux.base.hashing import by_hash, hash_values
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends
from tux.partition.common.pieces import place_pieces


def random(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place each edge in part ``hash(src, dst) mod k``, whichever end comes first; parts (m,)
    int16.

    A vertex of degree d has k (1 - (1 - 1/k)^d) replicas on average, the most of all partitioners.
    """
    first, second, _, _ = ends(src, dst, bipartite)
    limit = capacity(len(first), k, cap)
    parts = place_pieces(lambda a, b: hash_pairs(a, b, k, seed), first, second, progress)
    return limit_parts(parts, k, limit)


def hash_pairs(first: np.ndarray, second: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the part of each edge between vertices of these numbers, (m,) int16."""
    low, high = np.minimum(first, second), np.maximum(first, second)
    return by_hash(hash_values(low, seed) ^ high.astype(np.uint64), k, seed)
