"""Compact graphs of networkx graphs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.nodes import NodeNumbers
from tux.networkx_backend.originals import (
    UNDIRECTED_VIEW,
    joins_directions,
    keep_nothing_with_views,
    kept_conversion,
)
from tux.networkx_backend.values import lists_of


class CachedGraph(CompactGraph):
    """A compact graph that networkx keeps with the graph that it was made from.

    A copy of that graph, or one that was pickled, has None in its place, which networkx takes for a
    conversion that is still to be made.
    """

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return type(None), ()


def compact(graph: Any) -> CompactGraph:
    """Return the compact graph of a networkx graph of any of its four classes, which keeps it.

    Raises NotImplementedError for an undirected view of a directed graph.
    """
    return _make(CompactGraph, graph, graph)


def compact_for_cache(graph: Any) -> Any:
    """Return the compact graph of a networkx graph, for networkx, which keeps it with the graph. It
    does not keep the graph in turn: only the collector of garbage would find both.

    networkx caches one for each set of attributes that is asked for, and forgets them when the
    graph changes. As a compact graph can read all attributes, one that is there is taken again.
    """
    keep_nothing_with_views(graph)
    found = kept_conversion(graph)
    return _make(CachedGraph, graph, _same_data(graph)) if found is None else found


def _same_data(graph: Any) -> Any:
    """Return a graph of the same class that has the same dicts, but does not know `graph`, as the
    properties do that a class caches.
    """
    made, kind = object.__new__(type(graph)), type(graph)
    for name, value in vars(graph).items():
        if not isinstance(getattr(kind, name, None), cached_property):
            vars(made)[name] = value
    vars(made)["__networkx_cache__"] = None
    return made


def _make(kind: type[CompactGraph], graph: Any, original: Any) -> Any:
    if joins_directions(graph):
        raise NotImplementedError(UNDIRECTED_VIEW)
    nodes = NodeNumbers(graph._adj)
    return kind(
        nodes,
        lists_of(graph._adj, nodes),
        directed=graph.is_directed(),
        multigraph=graph.is_multigraph(),
        original=original,
    )
