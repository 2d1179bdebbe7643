"""Strongly connected components (Tarjan 1972), in networkx's order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.networkx_backend.components import sets_of
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour


@cached_njit
def _tarjan(lists, bounds, members, most):  # type: ignore[no-untyped-def]
    """Write the vertices of each component to `members` and where each ends to `bounds`, in the
    order in which the search leaves them, until there are `most`; return how many there are.

    `low` is n + 1 for the vertices of components that are done.
    """
    n = len(lists.offsets) - 1
    order, low = np.zeros(n, np.int64), np.zeros(n, np.int64)
    next_at = lists.offsets[:-1].copy()
    path, waiting = np.empty(n, members.dtype), np.empty(n, members.dtype)
    seen = depth = n_waiting = placed = count = 0
    for source in range(n):
        if order[source] > 0:
            continue
        path[0], depth = source, 1
        while depth > 0:
            v = path[depth - 1]
            if order[v] == 0:
                seen += 1
                order[v] = low[v] = seen
                waiting[n_waiting] = v
                n_waiting += 1
            deeper = False
            while next_at[v] < lists.offsets[v + 1]:
                w = neighbour(lists, next_at[v])
                if order[w] == 0:  # this entry is read again, when w is done
                    path[depth] = w
                    depth += 1
                    deeper = True
                    break
                low[v] = min(low[v], low[w])
                next_at[v] += 1
            if deeper:
                continue
            depth -= 1
            if low[v] == order[v]:
                while True:
                    n_waiting -= 1
                    w = waiting[n_waiting]
                    members[placed] = w
                    low[w] = n + 1
                    placed += 1
                    if w == v:
                        break
                count += 1
                bounds[count] = placed
                if count == most:
                    return count
    return count


def _components(graph: CompactGraph, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the bounds (c + 1,) of the first components, at most `most`, and their members."""
    bounds = np.zeros(len(graph) + 1, np.int64)
    members = np.empty(len(graph), graph.out.kind.dtype)
    count = _tarjan(graph.out, bounds, members, most)
    return bounds[: count + 1], members[: bounds[count]]


def strongly_connected_components(G: CompactGraph) -> Iterator[set[Any]]:
    """Yield the nodes of each component, those first that reach no other component that is still to
    come, as `networkx.strongly_connected_components` does.
    """
    return sets_of(G, *_components(G, len(G)))


def number_strongly_connected_components(G: CompactGraph) -> int:
    """Count the strongly connected components."""
    return len(_components(G, len(G))[0]) - 1


def is_strongly_connected(G: CompactGraph) -> bool:
    """Return whether there is one strongly connected component.

    Raises networkx.NetworkXPointlessConcept for a graph without nodes.
    """
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return len(_components(G, 1)[1]) == len(G)
