"""Unknowns of a vertex: its factors, and behind them its bias, if there are biases."""

from __future__ import annotations

import numpy as np


def unknowns_of(v, p):
    """Return the numbers of a vertex that are solved for: its factors as they lie, or with its bias
    in an array of their own, which `put_unknowns` puts back.
    """
    if not p.biases.width:
        return v.f
    x = np.empty(p.rank + 1)
    for k in range(p.rank):
        x[k] = v.f[k]
    x[p.rank] = p.biases.of(v)
    return x


def put_unknowns(v, x, p):
    """Set the factors and the bias of a vertex to `x`, which `unknowns_of` has returned."""
    if p.biases.width:
        for k in range(p.rank):
            v.f[k] = x[k]
        p.biases.put(v, x[p.rank])
