"""The graphs of networkx that are converted: which of them are views of others, and what networkx
keeps with them. No library is imported here, as calls that are left to networkx come here, too.
"""

from __future__ import annotations

from typing import Any

UNDIRECTED_VIEW = "the graph is an undirected view of a directed one"


def kept_conversion(graph: Any) -> Any:
    """Return the compact graph that networkx keeps with a graph, None if it keeps none."""
    kept = (getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("tux", {})
    for each in kept.values():
        if getattr(each, "__networkx_backend__", None) == "tux":
            return each
    return None


def keep_nothing_with_views(graph: Any) -> None:
    """Let networkx keep no conversion with a graph that is a view: it would not be forgotten when
    the graph that it shows changes.
    """
    if getattr(graph, "_graph", None) is not None:
        graph.__networkx_cache__ = None


def joins_directions(graph: Any) -> bool:
    """Return whether a graph is an undirected view of a directed one. There the edge from u to v
    may have other attributes than that from v to u, and functions of networkx read one or the
    other.
    """
    shown = getattr(graph, "_graph", None)
    while shown is not None and not graph.is_directed():
        if shown.is_directed():
            return True
        shown = getattr(shown, "_graph", None)
    return False
