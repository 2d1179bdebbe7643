"""Random vertex cut: the part of an edge is a hash of its two ends (PowerGraph, OSDI 2012)."""

from __future__ import annotations

import numpy as np

MOST_PARTS = 32_767
_CHUNK = 1 << 20
_GOLDEN, _M1, _M2 = (np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def hashed(values: np.ndarray, seed: int) -> np.ndarray:
    """SplitMix64's finaliser of `values` (n,) under `seed`; uint64 (n,)."""
    with np.errstate(over="ignore"):
        z = np.asarray(values).astype(np.uint64) * _GOLDEN + np.uint64(seed % 2**64) * _M1 + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _M1
        z = (z ^ (z >> np.uint64(27))) * _M2
        return z ^ (z >> np.uint64(31))


def check_parts(k: int) -> None:
    """ValueError unless 1 <= k <= MOST_PARTS."""
    if not 1 <= k <= MOST_PARTS:
        raise ValueError(f"{k} parts: there can be 1 to {MOST_PARTS:,}")


def by_hash(values: np.ndarray, k: int, seed: int) -> np.ndarray:
    """``hash(values) mod k`` as parts (n,) int16."""
    return (hashed(values, seed) % np.uint64(k)).astype(np.int16)


def random(src: np.ndarray, dst: np.ndarray, k: int, seed: int = 0) -> np.ndarray:
    """Each edge to part ``hash(src, dst) mod k``, whichever end comes first; parts (m,) int16.

    A vertex of degree d has k (1 - (1 - 1/k)^d) replicas on average, the most of all partitioners. ValueError for an impossible k.
    """
    check_parts(k)
    parts = np.empty(len(src), np.int16)
    for lo in range(0, len(src), _CHUNK):
        a, b = src[lo : lo + _CHUNK], dst[lo : lo + _CHUNK]
        first, second = np.minimum(a, b), np.maximum(a, b)
        with np.errstate(over="ignore"):
            parts[lo : lo + _CHUNK] = by_hash(hashed(first, seed) ^ second.astype(np.uint64), k, seed)
    return parts
