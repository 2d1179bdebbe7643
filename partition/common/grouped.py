"""Edges grouped by one of their ends, by counting."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit


def group_by_key(keys: np.ndarray, values: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Sort `values` (m,) by `keys` (m,), numbers below n, equal keys in the order given: return
    starts (n+1,) int64 and members (m,).

    Those of key v are members[starts[v] : starts[v + 1]].
    """
    starts, members = np.zeros(n + 2, np.int64), np.empty_like(values)
    _sort(keys, values, starts, members)
    return starts[:-1], members


@cached_njit
def _sort(keys, values, starts, members):  # type: ignore[no-untyped-def]
    # Counts are kept two places to the right, so that starts[v + 1] is first the beginning of v,
    # and its end when all of v is placed.
    for i in range(len(keys)):
        starts[keys[i] + 2] += 1
    for v in range(2, len(starts)):
        starts[v] += starts[v - 1]
    for i in range(len(keys)):
        v = keys[i] + 1
        members[starts[v]] = values[i]
        starts[v] += 1
