"""Hashes that are the same on every machine and in every process."""

from __future__ import annotations

import numpy as np

_GOLDEN, _M1, _M2 = (
    np.uint64(x) for x in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def hash_values(values: np.ndarray, seed: int) -> np.ndarray:
    """Hash `values` (n,) under `seed` by SplitMix64's finaliser; uint64 (n,)."""
    with np.errstate(over="ignore"):
        z = np.asarray(values).astype(np.uint64) * _GOLDEN + np.uint64(seed % 2**64) * _M1 + _GOLDEN
        z = (z ^ (z >> np.uint64(30))) * _M1
        z = (z ^ (z >> np.uint64(27))) * _M2
        return z ^ (z >> np.uint64(31))


def by_hash(values: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return ``hash(values) mod k`` as parts (n,) int16."""
    return (hash_values(values, seed) % np.uint64(k)).astype(np.int16)
