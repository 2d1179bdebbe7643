"""Core numbers (Batagelj and Zaversnik 2003)."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour


@cached_njit
def _lower(u, limit, cores, order, places, starts):  # type: ignore[no-untyped-def]
    """Take an edge from vertex u, if its degree is above `limit`: it moves to the front of the
    vertices of its degree, and these begin one later.
    """
    degree = cores[u]
    if degree > limit:
        front = starts[degree]
        other = order[front]
        place = places[u]
        order[front], order[place] = u, other
        places[u], places[other] = front, place
        starts[degree] += 1
        cores[u] = degree - 1


@cached_njit
def _peel(lists, back, both, cores, starts):  # type: ignore[no-untyped-def]
    """Replace degrees by core numbers; `starts` has where each degree begins in their order."""
    n = len(cores)
    order, places = np.empty(n, np.int64), np.empty(n, np.int64)
    free = starts.copy()
    for v in range(n):
        places[v] = free[cores[v]]
        order[places[v]] = v
        free[cores[v]] += 1
    for at_order in range(n):
        v = order[at_order]
        limit = cores[v]
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            _lower(neighbour(lists, at), limit, cores, order, places, starts)
        if both:
            for at in range(back.offsets[v], back.offsets[v + 1]):
                _lower(neighbour(back, at), limit, cores, order, places, starts)


def core_numbers(graph: CompactGraph) -> np.ndarray:
    """Return the core number of each vertex, (n,) int64: the largest k so that it is in a subgraph
    in which all have degree k, in-degrees and out-degrees together.

    Raises networkx.NetworkXNotImplemented for self-loops.
    """
    if (graph.loops >= 0).any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    cores = graph.degrees()
    starts = np.zeros(cores.max(initial=0) + 2, np.int64)
    starts[1:] = np.bincount(cores, minlength=len(starts) - 1).cumsum()
    _peel(graph.out, graph.into, graph.directed, cores, starts)
    return cores


def core_number(G: CompactGraph) -> dict[Any, int]:
    """Return the core number of each node; errors are those of `networkx.core_number`."""
    return G.nodes.table(core_numbers(G))
