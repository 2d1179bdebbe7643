"""Closeness centrality (Freeman 1979; Wasserman and Faust 1994 for graphs of several parts)."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from tux.networkx_backend.dijkstra import number_of, sum_weighted_distances
from tux.networkx_backend.distances import sum_distances
from tux.networkx_backend.graph import CompactGraph


def closeness_centrality(
    G: CompactGraph, u: Any = None, distance: Any = None, wf_improved: bool = True
) -> Any:
    """Return the closeness centrality of each node, or of node `u` the number alone, by distances
    to it in edges, or by their attribute `distance`.

    Raises networkx.NodeNotFound, and ValueError for negative distances.
    """
    if u is None:
        targets = np.arange(len(G))
    elif distance is None and u not in G:
        raise nx.NodeNotFound(f"Source {u} is not in G")
    else:
        targets = np.array([number_of(G, u)])
    if distance is None:
        reached, total, _ = sum_distances(G.into, targets).T
    else:
        values = G.values_into(G.values(distance, parallel="min").numbers)
        reached, total = sum_weighted_distances(G.into, values, targets).T
    closeness = np.divide(reached - 1.0, total, out=np.zeros(len(targets)), where=total > 0)
    if wf_improved and len(G) > 1:
        closeness *= (reached - 1.0) / (len(G) - 1)
    return G.nodes.table(closeness) if u is None else float(closeness[0])
