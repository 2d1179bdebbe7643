"""The most edges that a part may hold, and the places of edges for which there is no room."""

from __future__ import annotations

import math

import numpy as np

from tux.base.compiled import cached_njit

MOST_PARTS = 32_767


def check_parts(k: int) -> None:
    """Raise ValueError unless 1 <= k <= MOST_PARTS."""
    if not 1 <= k <= MOST_PARTS:
        raise ValueError(f"{k} parts: there can be 1 to {MOST_PARTS:,}")


def capacity(edges: int, k: int, cap: float | None) -> int:
    """Return the most edges in one of k parts: max(ceil(m/k), floor(cap m/k)), or all of them
    without a `cap`.

    `cap` is a multiple of the mean load m/k. ValueError for one below 1, for NaN, or for an
    impossible k.
    """
    check_parts(k)
    if cap is None:
        return edges
    if not cap >= 1:
        raise ValueError(
            f"cap={cap}: the largest part cannot be below the mean; give 1 or more, as 1.05"
        )
    return max(-(-edges // k), math.floor(min(cap * edges / k, edges)))


@cached_njit
def _spill(parts, taken, limit, left):  # type: ignore[no-untyped-def]
    free = 0
    for i in range(len(parts)):
        if taken[parts[i]] < limit:
            taken[parts[i]] += 1
            continue
        while left[free] == 0:
            free += 1
        parts[i] = free
        left[free] -= 1


def limit_parts(parts: np.ndarray, k: int, limit: int) -> np.ndarray:
    """Change `parts` (m,) int16 in place so that none has more than `limit` edges: the bound for
    rules that know no balance.

    A part keeps its first `limit` edges, in their order; each of the others goes to the first part
    with room to spare.
    """
    wanted = np.bincount(parts, minlength=k)
    if wanted.max() > limit:
        _spill(parts, np.zeros(k, np.int64), limit, limit - np.minimum(wanted, limit))
    return parts
