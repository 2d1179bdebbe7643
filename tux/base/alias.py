"""Drawing from a distribution over many in constant time: Walker's tables."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit


@cached_njit
def fill_aliases(phi, chance, alias):  # type: ignore[no-untyped-def]
    """Fill tables to draw a column of each row of `phi` (n, m) with one random number: column j
    with `chance` (n, m), else its `alias` (n, m).

    Walker's tables, filled as Vose does (IEEE Transactions on Software Engineering, 1991). Rows of
    weights need not sum to 1.
    """
    m = phi.shape[1]
    weight, waiting = np.empty(m), np.empty(m, alias.dtype)
    for k in range(len(phi)):
        total = 0.0
        for j in range(m):
            total += phi[k, j]
        # the stack of light columns grows from the left, that of heavy ones from the right
        small, large = 0, m
        for j in range(m):
            weight[j] = phi[k, j] / total * m
            chance[k, j], alias[k, j] = 1.0, j
            if weight[j] < 1.0:
                waiting[small] = j
                small += 1
            else:
                large -= 1
                waiting[large] = j
        while small and large < m:
            light, heavy = waiting[small - 1], waiting[large]
            small -= 1
            chance[k, light], alias[k, light] = weight[light], heavy
            weight[heavy] -= 1.0 - weight[light]
            if weight[heavy] < 1.0:
                large += 1
                waiting[small] = heavy
                small += 1
