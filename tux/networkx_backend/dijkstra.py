"""Shortest paths by weights (Dijkstra 1959), in the order in which networkx finds them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.breadth_first import limit_of
from tux.networkx_backend.graph import CompactGraph, refuse_iterator
from tux.networkx_backend.lists import NeighbourLists, neighbour, pieces_of
from tux.networkx_backend.values import EdgeValues


@cached_njit
def _is_before(keys, a, b):  # type: ignore[no-untyped-def]
    """Return whether push a comes before push b: pushes are numbered, and equal ones in order."""
    return keys[a] < keys[b] or (keys[a] == keys[b] and a < b)


@cached_njit
def push(keys, heap, size, number):  # type: ignore[no-untyped-def]
    """Add a push, which has a number and its key, to the `size` pushes of a heap."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if not _is_before(keys, number, heap[above]):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = number


@cached_njit
def pop(keys, heap, size):  # type: ignore[no-untyped-def]
    """Return the first of `size` pushes, and move the others up."""
    first, moved, at, left = heap[0], heap[size - 1], 0, size - 1
    while 2 * at + 1 < left:
        below = 2 * at + 1
        if below + 1 < left and _is_before(keys, heap[below + 1], heap[below]):
            below += 1
        if _is_before(keys, moved, heap[below]):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = moved
    return first


@cached_njit
def _search(lists, values, sources, target, cutoff, found, distances):  # type: ignore[no-untyped-def]
    """Write the vertices to `found`, nearest first, up to `target` (-1: all), and distances of all
    vertices to `distances`; return how many are found, -1 if a weight is negative.

    `distances` (n,) are infinite.
    """
    n = len(distances)
    room = len(sources) + lists.offsets[-1]
    keys, vertices = np.empty(room), np.empty(room, lists.kind.dtype)
    heap, is_done = np.empty(room, np.int64), np.zeros(n, np.bool_)
    size = pushes = count = 0
    for v in sources:
        distances[v] = 0.0
        keys[pushes], vertices[pushes] = 0.0, v
        push(keys, heap, size, pushes)
        size += 1
        pushes += 1
    while size > 0:
        first = pop(keys, heap, size)
        size -= 1
        v, distance = vertices[first], keys[first]
        if is_done[v]:
            continue
        is_done[v] = True
        distances[v] = distance
        found[count] = v
        count += 1
        if v == target:
            break
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            w = neighbour(lists, at)
            further = distance + (values[at] if len(values) > 0 else 1.0)
            if further > cutoff:
                continue
            if is_done[w]:
                if further < distances[w]:
                    return -1
            elif further < distances[w]:
                distances[w] = further
                keys[pushes], vertices[pushes] = further, w
                push(keys, heap, size, pushes)
                size += 1
                pushes += 1
    return count


@cached_njit
def _sum_distances(lists, values, sources, facts):  # type: ignore[no-untyped-def]
    """Write to facts[i] how many vertices are reached from sources[i], itself too, and the sum of
    their distances, the nearest first; -1 vertices if a weight is negative.
    """
    n = len(lists.offsets) - 1
    found, distances = np.empty(n, lists.kind.dtype), np.empty(n)
    for i in range(len(sources)):
        distances[:] = np.inf
        count = _search(lists, values, sources[i : i + 1], -1, np.inf, found, distances)
        total = 0.0
        for at in range(count):
            total += distances[found[at]]
        facts[i, 0], facts[i, 1] = count, total


def sum_weighted_distances(
    lists: NeighbourLists, values: np.ndarray, sources: np.ndarray
) -> np.ndarray:
    """Return for each of the sources (k,): how many vertices `lists` lead to from it, itself too,
    and the sum of their distances by `values` along the lists, (k, 2) float64.

    Raises ValueError for negative weights.
    """
    facts = np.zeros((len(sources), 2))
    spread(
        lambda piece: _sum_distances(lists, values, sources[piece], facts[piece]),
        pieces_of(len(sources)),
    )
    if (facts[:, 0] < 0).any():
        raise ValueError("Contradictory paths found:", "negative weights?")
    return facts


def _distances(
    graph: CompactGraph,
    weights: EdgeValues,
    sources: Collection[Any],
    cutoff: float | None = None,
    target: int = -1,
) -> dict[Any, float]:
    """Return the distance from the nearest source to each node that is reached, nearest first.

    Raises networkx.NodeNotFound for a source that is no node, and ValueError for negative weights.
    """
    n = len(graph)
    found, distances = np.empty(n, graph.out.kind.dtype), np.full(n, math.inf)
    starts = np.array([number_of(graph, source) for source in sources], np.int64)
    count = _search(graph.out, weights.numbers, starts, target, limit_of(cutoff), found, distances)
    if count < 0:
        raise ValueError("Contradictory paths found:", "negative weights?")
    found = found[:count]
    reached = distances[found].astype(np.int64 if weights.whole else np.float64).tolist()
    names, places = graph.nodes.pick(found), np.full(n, -1, found.dtype)
    places[found] = np.arange(count)
    for place, source in zip(places[starts].tolist()[::-1], list(sources)[::-1], strict=True):
        if place >= 0 and reached[place] == 0:  # networkx begins with the first of equal sources
            names[place], reached[place] = source, 0
    return dict(zip(names, reached, strict=True))


def number_of(graph: CompactGraph, node: Any) -> int:
    """Return the number of a node; networkx.NodeNotFound if there is no such node."""
    number = graph.nodes.find(node)
    if number < 0:
        raise nx.NodeNotFound(f"Node {node} not found in graph")
    return number


def multi_source_dijkstra_path_length(
    G: CompactGraph, sources: Collection[Any], cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, float]:
    """Return the distance from the nearest source to each node that is reached, nearest first.

    Raises ValueError without sources and for negative weights, and networkx.NodeNotFound.
    """
    if not sources:
        raise ValueError("sources must not be empty")
    refuse_iterator("sources", sources)
    return _distances(G, G.values(weight, parallel="min"), sources, cutoff)


def single_source_dijkstra_path_length(
    G: CompactGraph, source: Any, cutoff: float | None = None, weight: Any = "weight"
) -> dict[Any, float]:
    """Return the distance from `source` to each node that it reaches, nearest first.

    Raises ValueError for negative weights, and networkx.NodeNotFound.
    """
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


def all_pairs_dijkstra_path_length(
    G: CompactGraph, cutoff: float | None = None, weight: Any = "weight"
) -> Iterator[tuple[Any, dict[Any, float]]]:
    """Yield each node with its distances, as `single_source_dijkstra_path_length` gives them."""
    weights = G.values(weight, parallel="min")  # at once, as it may be refused
    return ((node, _distances(G, weights, [node], cutoff)) for node in G)


def dijkstra_path_length(
    G: CompactGraph, source: Any, target: Any, weight: Any = "weight"
) -> float:
    """Return the distance from `source` to `target`.

    Raises ValueError for negative weights, networkx.NodeNotFound, and networkx.NetworkXNoPath.
    """
    number_of(G, source)
    if source == target:
        return 0
    end = G.nodes.find(target)
    found = _distances(G, G.values(weight, parallel="min"), [source], target=end)
    if end < 0 or target not in found:
        raise nx.NetworkXNoPath(f"Node {target} not reachable from {source}")
    return found[target]
