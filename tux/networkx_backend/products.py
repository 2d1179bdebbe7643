"""Sums over neighbours, the product of a matrix and a vector: what power iterations consist of."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.lists import NeighbourLists, cut, neighbour


@cached_njit
def _sum_neighbours(lists, values, x, first, end, sums):  # type: ignore[no-untyped-def]
    for v in range(first, end):
        total = 0.0
        if len(values) > 0:
            for at in range(lists.offsets[v], lists.offsets[v + 1]):
                total += values[at] * x[neighbour(lists, at)]
        else:
            for at in range(lists.offsets[v], lists.offsets[v + 1]):
                total += x[neighbour(lists, at)]
        sums[v] = total


def sum_neighbours(lists: NeighbourLists, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return for each vertex the sum of ``values[at] * x[neighbour]`` over its list, in its order,
    (n,) float64; `values` are 1 if they are `NOTHING`. Any number of threads gives the same bits.
    """
    sums = np.empty(lists.vertices)
    spread(lambda range_: _sum_neighbours(lists, values, x, *range_, sums), cut(lists))
    return sums
