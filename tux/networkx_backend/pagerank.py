"""PageRank (Page, Brin, Motwani and Winograd 1999), by the power iteration of networkx."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import NOTHING, sum_lists
from tux.networkx_backend.products import sum_neighbours


def pagerank(
    G: CompactGraph,
    alpha: float = 0.85,
    personalization: Mapping[Any, float] | None = None,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: Any = "weight",
    dangling: Mapping[Any, float] | None = None,
) -> dict[Any, float]:
    """Return the PageRank of each node; parameters and errors are those of `networkx.pagerank`.

    ``x = alpha * (P^T x + d * sum of x over nodes without weight) + (1 - alpha) * p``, until the
    sum of changes is below ``n * tol``; P has rows of weights that add up to 1.
    """
    n = len(G)
    if n == 0:
        return {}
    inverse, values = _transitions(G, weight)
    x = np.repeat(1.0 / n, n) if nstart is None else _shares(G, nstart)
    if personalization is None:
        p = np.repeat(1.0 / n, n)
    else:
        p = _shares(G, personalization, empty_is_error=True)
    d = p if dangling is None else _shares(G, dangling)
    without, jumps = np.flatnonzero(inverse == 0), (1 - alpha) * p
    for _ in range(max_iter):
        last = x
        x = sum_neighbours(G.into, values, last * inverse if values is NOTHING else last)
        x += last[without].cumsum()[-1:].sum() * d
        x *= alpha
        x += jumps
        if np.absolute(np.subtract(x, last, out=last)).sum() < n * tol:
            return G.nodes.table(x)
    raise nx.PowerIterationFailedConvergence(max_iter)


def _transitions(graph: CompactGraph, weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 / the weight that leaves each vertex, (n,), 0 where none does; and the share of it
    along each entry of `into`, `NOTHING` if a vertex gives the same to all.
    """
    values = graph.values(weight).numbers
    sums = sum_lists(graph.out, values)
    inverse = np.divide(1.0, sums, out=np.zeros(len(graph)), where=sums != 0)
    if values is NOTHING:
        return inverse, NOTHING
    return inverse, graph.values_into(values) * inverse[graph.into.entries()]


def _shares(
    graph: CompactGraph, given: Mapping[Any, float], *, empty_is_error: bool = False
) -> np.ndarray:
    """Return the values of nodes, 0 where there is none, divided by their sum, (n,) float64."""
    values = np.array([given.get(node, 0) for node in graph], float)
    if empty_is_error and values.sum() == 0:
        raise ZeroDivisionError
    return values / values.sum()
