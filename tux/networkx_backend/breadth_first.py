"""Breadth-first search: distances in edges, layers, and what can be reached."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import NeighbourLists, neighbour


@cached_njit
def _search(lists, cutoff, depths, queue, count):  # type: ignore[no-untyped-def]
    """Extend a queue of `count` sources by all that is at most `cutoff` edges from them; return its
    length. `depths` are 0 at the sources, -1 elsewhere.
    """
    at_queue = 0
    while at_queue < count:
        v = queue[at_queue]
        at_queue += 1
        if not depths[v] < cutoff:  # nan is a limit, too
            break
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            w = neighbour(lists, at)
            if depths[w] < 0:
                depths[w] = depths[v] + 1
                queue[count] = w
                count += 1
    return count


def limit_of(cutoff: Any) -> float:
    """Return a cutoff as a float, infinite if there is none or if floats do not reach it."""
    try:
        return math.inf if cutoff is None else float(cutoff)
    except OverflowError:
        return math.inf if cutoff > 0 else -math.inf


def breadth_first(
    lists: NeighbourLists, sources: Sequence[int], cutoff: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices that are at most `cutoff` edges from the sources, (k,), in the order of
    the search, and their distances in edges, (k,).
    """
    kind = lists.kind.dtype
    depths, queue = np.full(lists.vertices, -1, kind), np.empty(lists.vertices, kind)
    queue[: len(sources)] = sources
    depths[queue[: len(sources)]] = 0
    found = queue[: _search(lists, limit_of(cutoff), depths, queue, len(sources))]
    return found, depths[found]


def _distances(
    graph: CompactGraph, lists: NeighbourLists, number: int, source: Any, cutoff: float | None
) -> dict[Any, int]:
    """Return the distances from a node with this number, for which the caller has `source`."""
    found, depths = breadth_first(lists, [number], cutoff)
    return dict(zip([source, *graph.nodes.pick(found[1:])], depths.tolist(), strict=True))


def single_source_shortest_path_length(
    G: CompactGraph, source: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distance in edges from `source` to each node that it reaches, nearest first.

    Raises networkx.NodeNotFound.
    """
    number = G.nodes.find(source)
    if number < 0:
        raise nx.NodeNotFound(f"Source {source} is not in G")
    return _distances(G, G.out, number, source, cutoff)


def single_target_shortest_path_length(
    G: CompactGraph, target: Any, cutoff: float | None = None
) -> dict[Any, int]:
    """Return the distance in edges to `target` from each node that reaches it, nearest first.

    Raises networkx.NodeNotFound.
    """
    number = G.nodes.find(target)
    if number < 0:
        raise nx.NodeNotFound(f"Target {target} is not in G")
    return _distances(G, G.predecessors, number, target, cutoff)


def all_pairs_shortest_path_length(
    G: CompactGraph, cutoff: float | None = None
) -> Iterator[tuple[Any, dict[Any, int]]]:
    """Yield each node with its distances, as `single_source_shortest_path_length` gives them."""
    for number, node in enumerate(G):
        yield node, _distances(G, G.out, number, node, cutoff)


def bfs_layers(G: CompactGraph, sources: Any) -> Iterator[list[Any]]:
    """Yield the nodes at distance 0, 1, ... from a node, or from several, as `networkx.bfs_layers`.

    Raises networkx.NetworkXError for a source that is no node.
    """
    several = list({sources} if sources in G else set(sources))
    numbers = [_number(G, source) for source in several]
    found, depths = breadth_first(G.out, numbers)
    layers = np.searchsorted(depths, np.arange(depths.max(initial=-1) + 2)).tolist()
    names = [*several, *G.nodes.pick(found[len(several) :])]
    for begin, end in zip(layers[:-1], layers[1:], strict=True):
        yield names[begin:end]


def descendants_at_distance(G: CompactGraph, source: Any, distance: Any) -> set[Any]:
    """Return the nodes that are `distance` edges from `source`, as a set.

    Raises networkx.NetworkXError if `source` is no node.
    """
    number = _number(G, source)
    if distance == 0 or distance not in range(len(G)):
        return {source} if distance == 0 else set()
    found, depths = breadth_first(G.out, [number], distance)
    return G.nodes.subset(found[depths == distance])


def descendants(G: CompactGraph, source: Any) -> set[Any]:
    """Return the nodes that `source` reaches, without it.

    Raises networkx.NetworkXError if it is no node.
    """
    hash(source)  # which raises TypeError, as networkx does
    found, _ = breadth_first(G.out, [_number(G, source, "digraph" if G.directed else "graph")])
    return G.nodes.subset(found[1:])


def ancestors(G: CompactGraph, source: Any) -> set[Any]:
    """Return the nodes that reach `source`, without it.

    Raises networkx.NetworkXError if it is no node.
    """
    hash(source)  # as in `descendants`
    found, _ = breadth_first(G.into, [_number(G, source, "digraph" if G.directed else "graph")])
    return G.nodes.subset(found[1:])


def _number(graph: CompactGraph, node: Any, kind: str = "graph") -> int:
    number = graph.nodes.find(node)
    if number < 0:
        raise nx.NetworkXError(f"The node {node} is not in the {kind}.")
    return number
