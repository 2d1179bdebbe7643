"""Degree centralities, and the mean degree of neighbours (Barrat, Barthelemy, Pastor-Satorras and
Vespignani 2004).
"""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.graph import CompactGraph, choose
from tux.networkx_backend.lists import NOTHING
from tux.networkx_backend.products import sum_neighbours


def _centrality(graph: CompactGraph, degrees: np.ndarray) -> dict[Any, float]:
    """Return degrees by n - 1; 1 for a node alone."""
    if len(graph) <= 1:
        return dict.fromkeys(graph, 1)
    return graph.nodes.table(degrees * (1.0 / (len(graph) - 1.0)))


def degree_centrality(G: CompactGraph) -> dict[Any, float]:
    """Return the degree of each node by n - 1."""
    return _centrality(G, G.degrees())


def in_degree_centrality(G: CompactGraph) -> dict[Any, float]:
    """Return the in-degree of each node by n - 1."""
    return _centrality(G, G.in_degrees())


def out_degree_centrality(G: CompactGraph) -> dict[Any, float]:
    """Return the out-degree of each node by n - 1."""
    return _centrality(G, G.out_degrees())


def average_neighbor_degree(
    G: CompactGraph,
    source: str = "out",
    target: str = "out",
    nodes: Any = None,
    weight: None = None,
) -> dict[Any, float]:
    """Return the mean `target` degree of each node's neighbours in the direction `source`; both are
    "in", "out" or "in+out", and "out" in undirected graphs.

    Raises networkx.NetworkXError for others.
    """
    if G.directed:
        kinds = {"in": G.in_degrees, "out": G.out_degrees, "in+out": G.degrees}
        for role, kind in (("source", source), ("target", target)):
            if kind not in kinds:
                raise nx.NetworkXError(f"{role} argument {kind} must be 'in', 'out' or 'in+out'")
    else:
        kinds = {"out": G.degrees}
        if source != "out" or target != "out":
            raise nx.NetworkXError(
                "source and target arguments are only supported for directed graphs"
            )
    if nodes is not None and nodes in G:
        raise NotImplementedError("nodes is one node, which networkx takes for several")
    degrees, of_neighbours = kinds[source](), kinds[target]().astype(np.float64)
    total = np.zeros(len(G))
    if "out" in source:
        total += sum_neighbours(G.out, NOTHING, of_neighbours)
    if "in" in source:
        total += sum_neighbours(G.into, NOTHING, of_neighbours)
    means = np.divide(total, degrees, out=np.zeros(len(G)), where=degrees > 0)
    chosen, named = choose(G, nodes)
    return dict(zip(named, means[chosen].tolist(), strict=True))
