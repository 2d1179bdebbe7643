"""Eccentricity, diameter, radius and mean distance, of distances in edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.distances import sum_distances
from tux.networkx_backend.graph import CompactGraph, choose


def eccentricity(G: CompactGraph, v: Any = None, sp: None = None, weight: None = None) -> Any:
    """Return the largest distance from each node, or from some; from one node the number alone.

    Raises networkx.NetworkXError if a node does not reach all others.
    """
    chosen, named = choose(G, v)
    reached, _, farthest = sum_distances(G.out, chosen).T
    if (reached < len(G)).any():
        kind = "digraph is not strongly" if G.directed else "graph is not"
        raise nx.NetworkXError(f"Found infinite path length because the {kind} connected")
    if v is not None and v in G:
        return int(farthest[0])
    return dict(zip(named, farthest.tolist(), strict=True))


def diameter(
    G: CompactGraph,
    e: Mapping[Any, int] | None = None,
    usebounds: bool = False,
    weight: None = None,
) -> int:
    """Return the largest distance, of the eccentricities `e` if they are given.

    Raises networkx.NetworkXError as `eccentricity` does, and ValueError for a graph without nodes.
    """
    return max((eccentricity(G) if e is None else e).values())


def radius(
    G: CompactGraph,
    e: Mapping[Any, int] | None = None,
    usebounds: bool = False,
    weight: None = None,
) -> int:
    """Return the least eccentricity, of the eccentricities `e` if they are given.

    Raises networkx.NetworkXError as `eccentricity` does, and ValueError for a graph without nodes.
    """
    return min((eccentricity(G) if e is None else e).values())


def average_shortest_path_length(
    G: CompactGraph, weight: None = None, method: None = None
) -> float:
    """Return the mean distance between two nodes; 0 for one node.

    Raises networkx.NetworkXPointlessConcept without nodes, and networkx.NetworkXError if some node
    does not reach another.
    """
    n = len(G)
    if n == 0:
        raise nx.NetworkXPointlessConcept(
            "the null graph has no paths, thus there is no average shortest path length"
        )
    if n == 1:
        return 0
    reached, total, _ = sum_distances(G.out, np.arange(n)).T
    if (reached < n).any():
        kind = "strongly connected" if G.directed else "connected"
        raise nx.NetworkXError(f"Graph is not {kind}.")
    return int(total.sum()) / (n * (n - 1))
