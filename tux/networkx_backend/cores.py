"""Core numbers (Seidman 1983)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour


@cached_njit
def _peel(lists, back, both, cores):  # type: ignore[no-untyped-def]
    """Replace degrees by core numbers: for each k, vertices of degree k are taken away until there
    are none. As each k looks at the vertices of higher cores alone, that takes time linear in
    edges.
    """
    n = len(cores)
    left, queue = np.empty(n, lists.kind.dtype), np.empty(n, lists.kind.dtype)
    for v in range(n):
        left[v] = v
    k, n_left = 0, n
    while n_left > 0:
        count = kept = 0
        lowest = cores[left[0]]
        for i in range(n_left):
            v = left[i]
            if cores[v] == k:
                queue[count] = v
                count += 1
            elif cores[v] > k:  # the others have been taken away
                lowest = cores[v] if kept == 0 else min(lowest, cores[v])
                left[kept] = v
                kept += 1
        n_left, at_queue = kept, 0
        is_empty = count == 0
        while at_queue < count:
            v = queue[at_queue]
            at_queue += 1
            for side in range(1 + both):
                around = back if side else lists
                for at in range(around.offsets[v], around.offsets[v + 1]):
                    u = neighbour(around, at)
                    if cores[u] > k:
                        cores[u] -= 1
                        if cores[u] == k:
                            queue[count] = u
                            count += 1
        k = lowest if is_empty else k + 1


def core_numbers(graph: CompactGraph) -> np.ndarray:
    """Return the core number of each vertex, (n,) integers: the largest k so that it is in a
    subgraph in which all have degree k, in-degrees and out-degrees together.

    Raises networkx.NetworkXNotImplemented for self-loops.
    """
    if (graph.loops >= 0).any():
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; "
            "Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    cores = graph.degrees().astype(graph.out.kind.dtype)
    _peel(graph.out, graph.into, graph.directed, cores)
    return cores


def core_number(G: CompactGraph) -> dict[Any, int]:
    """Return the core number of each node; errors are those of `networkx.core_number`."""
    return G.nodes.table(core_numbers(G))


def k_core(
    G: CompactGraph, k: int | None = None, core_number: Mapping[Any, int] | None = None
) -> Any:
    """Return the networkx graph of the nodes of core numbers from k on (if None, the largest), with
    all attributes; `core_number` may have the numbers.
    """
    return _subgraph(G, k, core_number, operator.ge)


def k_shell(
    G: CompactGraph, k: int | None = None, core_number: Mapping[Any, int] | None = None
) -> Any:
    """Return the networkx graph of the nodes of core number k (if None, the largest), with all
    attributes; `core_number` may have the numbers.
    """
    return _subgraph(G, k, core_number, operator.eq)


def _subgraph(
    graph: CompactGraph,
    k: int | None,
    given: Mapping[Any, int] | None,
    fits: Callable[[int, int], bool],
) -> Any:
    cores = core_number(graph) if given is None else given
    wanted = max(cores.values()) if k is None else k
    nodes = [node for node, core in cores.items() if fits(core, wanted)]
    return graph.to_networkx().subgraph(nodes).copy()
