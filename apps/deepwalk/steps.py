"""Steps of random walks: uniform or by weight, and by the vertex before (node2vec).

A walk ends at a vertex that leads nowhere; of an isolated vertex it is the vertex alone.
"""

from __future__ import annotations

import numpy as np


def by_weight(sums, first, last, rng):
    """Draw one of the edges first..last-1 by weight; `sums` (m,) are running sums of a vertex's
    weights.
    """
    low, high, x = first, last - 1, float(rng.uniform()) * sums[last - 1]
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] > x:
            high = middle
        else:
            low = middle + 1
    return low


def edge_to(bounds, ends, u, v):
    """Return the edge from u to v, or -1."""
    low, high = bounds[u], bounds[u + 1]
    last = high
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low if low < last and ends[low] == v else -1


def first_order(path, start, at, bounds, ends, sums, rng):
    """Step by weight, or uniformly where `sums` is empty."""
    if at == 0:
        path[0] = start
        return
    v = np.int64(path[at - 1])
    if v < 0 or bounds[v] == bounds[v + 1]:
        return
    first, last = bounds[v], bounds[v + 1]
    path[at] = ends[
        by_weight(sums, first, last, rng) if len(sums) else first + rng.below(last - first)
    ]


def share_back(bounds, ends, sums, v, u, extra, most):
    """Return the share of draws at v that go straight back to u, `extra` being what 1/p has above
    `most`, the largest other bias.
    """
    home = edge_to(bounds, ends, v, u)
    if home < 0:
        return 0.0
    first, last = bounds[v], bounds[v + 1]
    if len(sums) == 0:
        return extra / (extra + most * (last - first))
    weight = sums[home] - (sums[home - 1] if home > first else 0.0)
    return extra * weight / (extra * weight + most * sums[last - 1])


def second_order(path, start, at, bounds, ends, sums, p, q, rng):
    """Make node2vec's step from t over v to x (Grover and Leskovec, KDD 2016), by rejection: x is
    proposed by weight and accepted by its bias,

        1/p  if x is t,    1  if t leads to x,    1/q  otherwise,

    as a share of the largest, or all is drawn again. Where 1/p is above both others, `share_back`
    draws what it has more: else most would fail.
    """
    if at < 2:
        return first_order(path, start, at, bounds, ends, sums, rng)
    t, v = np.int64(path[at - 2]), np.int64(path[at - 1])
    if v < 0 or bounds[v] == bounds[v + 1]:
        return
    first, last = bounds[v], bounds[v + 1]
    most = max(1.0, 1 / q)
    least, extra = min(1.0, 1 / p, 1 / q), max(0.0, 1 / p - most)
    straight = share_back(bounds, ends, sums, v, t, extra, most) if extra > 0.0 else 0.0
    while True:
        x = t
        if straight > 0.0 and rng.uniform() < straight:
            break
        x = np.int64(
            ends[
                by_weight(sums, first, last, rng) if len(sums) else first + rng.below(last - first)
            ]
        )
        coin = rng.uniform() * most
        # What is below the smallest bias passes anyway, without a search.
        if coin < least or coin < (
            1 / p if x == t else 1.0 if edge_to(bounds, ends, t, x) >= 0 else 1 / q
        ):
            break
    path[at] = x
