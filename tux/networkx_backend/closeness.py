"""Closeness centrality (Freeman 1979; Wasserman and Faust 1994 for graphs of several parts)."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour, pieces_of


@cached_njit
def _sum_distances(lists, targets, facts):  # type: ignore[no-untyped-def]
    """Write to facts[i] how many vertices `lists` lead to from targets[i], itself too, and the sum
    of their distances in edges.
    """
    n = len(lists.offsets) - 1
    depths, queue = np.full(n, -1, np.int64), np.empty(n, lists.neighbours.dtype)
    for i in range(len(targets)):
        queue[0], depths[targets[i]] = targets[i], 0
        count, at_queue, total = 1, 0, 0
        while at_queue < count:
            v = queue[at_queue]
            at_queue += 1
            for at in range(lists.offsets[v], lists.offsets[v + 1]):
                w = neighbour(lists, at)
                if depths[w] < 0:
                    depths[w] = depths[v] + 1
                    total += depths[w]
                    queue[count] = w
                    count += 1
        for at_queue in range(count):
            depths[queue[at_queue]] = -1
        facts[i, 0], facts[i, 1] = count, total


def closeness_centrality(
    G: CompactGraph, u: Any = None, distance: None = None, wf_improved: bool = True
) -> Any:
    """Return the closeness centrality of each node, or of node `u` the number alone, by distances
    to it in edges.

    Raises networkx.NodeNotFound.
    """
    number = -1 if u is None else G.nodes.find(u)
    if u is not None and number < 0:
        raise nx.NodeNotFound(f"Source {u} is not in G")
    targets = np.arange(len(G)) if u is None else np.array([number])
    facts, lists = np.zeros((len(targets), 2), np.int64), G.into
    spread(
        lambda piece: _sum_distances(lists, targets[piece], facts[piece]), pieces_of(len(targets))
    )
    reached, total = facts.T
    closeness = np.divide(reached - 1.0, total, out=np.zeros(len(targets)), where=total > 0)
    if wf_improved and len(G) > 1:
        closeness *= (reached - 1.0) / (len(G) - 1)
    return G.nodes.table(closeness) if u is None else float(closeness[0])
