"""Compact graphs of networkx graphs."""

from __future__ import annotations

from typing import Any

from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.nodes import NodeNumbers
from tux.networkx_backend.values import lists_of


def compact(graph: Any) -> CompactGraph:
    """Return the compact graph of a networkx graph of any of its four classes.

    networkx caches one for each set of attributes that is asked for, and forgets them when the
    graph changes. As a compact graph can read all attributes, one that is there is taken again.
    """
    cached = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("tux", {})
    for found in cached.values():
        if isinstance(found, CompactGraph):
            return found
    nodes = NodeNumbers(graph._adj)
    return CompactGraph(
        nodes, lists_of(graph._adj, nodes), directed=graph.is_directed(), original=graph
    )
