"""Random walks, as UDFs of `Generate`: next vertex uniform, by weight, or biased by the one before (node2vec).

A walk ends at a vertex that leads nowhere; of an isolated vertex it is the vertex alone.
"""

from __future__ import annotations

import numpy as np


def by_weight(sums, first, last, rng):
    """One of the edges first..last-1, drawn by weight; `sums` (m,) are running sums of a vertex's weights."""
    low, high, x = first, last - 1, rng.uniform() * sums[last - 1]
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] > x:
            high = middle
        else:
            low = middle + 1
    return low


def edge_to(bounds, ends, u, v):
    """The edge from u to v, or -1."""
    low, high = bounds[u], bounds[u + 1]
    last = high
    while low < high:
        middle = (low + high) >> 1
        if ends[middle] < v:
            low = middle + 1
        else:
            high = middle
    return low if low < last and ends[low] == v else -1


def first_order(path, start, bounds, ends, sums, rng):
    """Each step by weight, or uniform where `sums` is empty."""
    v = np.int64(start)
    path[0] = v
    for i in range(1, len(path)):
        first, last = bounds[v], bounds[v + 1]
        if first == last:
            return
        v = np.int64(ends[by_weight(sums, first, last, rng) if len(sums) else first + rng.below(last - first)])
        path[i] = v


def back(bounds, ends, sums, v, u, extra, most):
    """The share of draws at v that go straight back to u, `extra` being what 1/p has above `most`, the largest other bias."""
    home = edge_to(bounds, ends, v, u)
    if home < 0:
        return 0.0
    first, last = bounds[v], bounds[v + 1]
    if len(sums) == 0:
        return extra / (extra + most * (last - first))
    weight = sums[home] - (sums[home - 1] if home > first else 0.0)
    return extra * weight / (extra * weight + most * sums[last - 1])


def second_order(path, start, bounds, ends, sums, p, q, rng):
    """node2vec's step from t over v to x (Grover and Leskovec, KDD 2016), by rejection: x is proposed by weight and accepted by its bias,

        1/p  if x is t,    1  if t leads to x,    1/q  otherwise,

    as a share of the largest, or all is drawn again. Where 1/p is above both others, `back` draws what it has more: else most would fail.
    """
    most = max(1.0, 1 / q)
    least, extra = min(1.0, 1 / p, 1 / q), max(0.0, 1 / p - most)
    t, v, path[0] = np.int64(-1), np.int64(start), start
    for i in range(1, len(path)):
        first, last = bounds[v], bounds[v + 1]
        if first == last:
            return
        straight = back(bounds, ends, sums, v, t, extra, most) if t >= 0 and extra > 0.0 else 0.0
        while True:
            x = t
            if straight > 0.0 and rng.uniform() < straight:
                break
            x = np.int64(ends[by_weight(sums, first, last, rng) if len(sums) else first + rng.below(last - first)])
            coin = rng.uniform() * most
            # What is below the smallest bias passes anyway, without a search.
            if t < 0 or coin < least or coin < (1 / p if x == t else 1.0 if edge_to(bounds, ends, t, x) >= 0 else 1 / q):
                break
        t, v = v, x
        path[i] = x


def uniform(start, path, topology, p, rng):
    """Each neighbour alike."""
    first_order(path, start, topology.bounds, topology.ends, np.empty(0), rng)


def weighted(start, path, topology, p, rng):
    """Neighbours by the weights of their edges."""
    first_order(path, start, topology.bounds, topology.ends, topology.sums, rng)


def biased(start, path, topology, p, rng):
    """Neighbours by p and q."""
    second_order(path, start, topology.bounds, topology.ends, np.empty(0), np.float64(p.p), np.float64(p.q), rng)


def biased_by_weight(start, path, topology, p, rng):
    """Neighbours by weight, p and q."""
    second_order(path, start, topology.bounds, topology.ends, topology.sums, np.float64(p.p), np.float64(p.q), rng)


def chosen(program):
    """The walk that a program's parameters `weighted`, `p` and `q` ask for."""
    if program.p == program.q == 1:
        return weighted if program.weighted else uniform
    return biased_by_weight if program.weighted else biased
