"""Compact graphs of networkx graphs."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.nodes import NodeNumbers
from tux.networkx_backend.values import lists_of


def compact(graph: Any) -> CompactGraph:
    """Return the compact graph of a networkx graph of any of its four classes, which keeps it."""
    return _make(graph, lambda: graph)


def compact_for_cache(graph: Any) -> CompactGraph:
    """Return the compact graph of a networkx graph, for networkx, which keeps it with the graph. It
    does not keep the graph in turn: only the collector of garbage would find both.

    networkx caches one for each set of attributes that is asked for, and forgets them when the
    graph changes. As a compact graph can read all attributes, one that is there is taken again.
    """
    cached = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("tux", {})
    for found in cached.values():
        if isinstance(found, CompactGraph):
            return found
    return _make(graph, weakref.ref(graph))


def _make(graph: Any, original: Callable[[], Any]) -> CompactGraph:
    nodes = NodeNumbers(graph._adj)
    return CompactGraph(
        nodes,
        lists_of(graph._adj, nodes),
        directed=graph.is_directed(),
        multigraph=graph.is_multigraph(),
        original=original,
    )
