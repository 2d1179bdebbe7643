"""Katz centrality and eigenvector centrality, by power iterations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.products import sum_neighbours


@np.errstate(over="ignore", invalid="ignore")  # as Python's floats
def katz_centrality(
    G: CompactGraph,
    alpha: float = 0.1,
    beta: Any = 1.0,
    max_iter: int = 1000,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    normalized: bool = True,
    weight: Any = None,
) -> dict[Any, float]:
    """Return the Katz centrality (Katz 1953) of each node, ``x = alpha A^T x + beta``; parameters
    and errors are those of `networkx.katz_centrality`.
    """
    n = len(G)
    if n == 0:
        return {}
    x = np.zeros(n) if nstart is None else _start(G, nstart)
    try:
        b = np.full(n, float(beta))
    except (TypeError, ValueError, AttributeError) as error:
        if set(beta) != set(G):
            raise nx.NetworkXError("beta dictionary must have a value for every node") from error
        b = np.array([beta[node] for node in G], float)
    values = G.values_into(G.values(weight).numbers)
    for _ in range(max_iter):
        last = x
        x = alpha * sum_neighbours(G.into, values, x) + b
        if np.abs(x - last).sum() < n * tol:
            if normalized:
                length = _length(x)
                x = x * (1.0 / length if length else 1.0)
            return _by_node(G, x, nstart)
    raise nx.PowerIterationFailedConvergence(max_iter)


@np.errstate(over="ignore", invalid="ignore")  # as Python's floats
def eigenvector_centrality(
    G: CompactGraph,
    max_iter: int = 100,
    tol: float = 1.0e-6,
    nstart: Mapping[Any, float] | None = None,
    weight: Any = None,
) -> dict[Any, float]:
    """Return the eigenvector centrality (Bonacich 1987) of each node, of length 1, by the power
    iteration of ``A^T + I``; parameters and errors are those of `networkx.eigenvector_centrality`.
    """
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept("cannot compute centrality for the null graph")
    x = np.ones(n) if nstart is None else _start(G, nstart)
    if not x.any():
        raise nx.NetworkXError("initial vector cannot have all zero values")
    if x.sum() == 0:
        raise NotImplementedError("nstart adds up to 0, by which networkx divides")
    x = x / x.sum()
    values = G.values_into(G.values(weight or None).numbers)
    for _ in range(max_iter):
        last = x
        x = last + sum_neighbours(G.into, values, last)
        x = x / (_length(x) or 1)
        if np.abs(x - last).sum() < n * tol:
            return _by_node(G, x, nstart)
    raise nx.PowerIterationFailedConvergence(max_iter)


def _length(x: np.ndarray) -> float:
    """Return the Euclidean length of a vector, whose squares may be too large or too small for
    floats.
    """
    largest = float(np.abs(x).max())
    return largest * float(np.linalg.norm(x / largest)) if 0 < largest < math.inf else largest


def _start(graph: CompactGraph, nstart: Mapping[Any, float]) -> np.ndarray:
    """Return the values that a start has for all nodes, (n,).

    Raises NotImplementedError if it is not for these nodes.
    """
    if len(nstart) != len(graph) or any(node not in graph for node in nstart):
        raise NotImplementedError("nstart has not one value for each node")
    return np.array([nstart[node] for node in graph], float)


def _by_node(
    graph: CompactGraph, x: np.ndarray, nstart: Mapping[Any, float] | None
) -> dict[Any, float]:
    """Return the value of each node, in the order of the start, if one was given."""
    found = graph.nodes.table(x)
    return found if nstart is None else {node: found[node] for node in nstart}
