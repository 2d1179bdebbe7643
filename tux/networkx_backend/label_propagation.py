"""Communities by label propagation: asynchronous (Raghavan, Albert and Kumara 2007), fast (Traag
and Subelj 2023) and semi-synchronous (Cordasco and Gargano 2010).
"""

from __future__ import annotations

from collections.abc import Iterator, ValuesView
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.networkx_backend.components import sets_of
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import NOTHING, NeighbourLists, neighbour
from tux.networkx_backend.twister import draw_below, draws_of, give_back, shuffle


@cached_njit
def _weigh(lists, values, labels, v, weights, found, seen):  # type: ignore[no-untyped-def]
    """Add the neighbours of v to the `weights` of their labels, which are nan for those that have
    not been seen. Write these behind the `seen` first ones of `found`; return how many are seen.
    """
    for at in range(lists.offsets[v], lists.offsets[v + 1]):
        label = labels[neighbour(lists, at)]
        if np.isnan(weights[label]):
            weights[label] = 0.0
            found[seen] = label
            seen += 1
        weights[label] += values[at] if len(values) > 0 else 1.0
    return seen


@cached_njit
def _keep_best(weights, best, seen):  # type: ignore[no-untyped-def]
    """Keep those with the greatest weight among the `seen` first labels of `best`, in their order;
    return how many there are. Their weights are nan again.
    """
    most = -np.inf
    for i in range(seen):
        most = max(most, weights[best[i]])
    count = 0
    for i in range(seen):
        label = best[i]
        if weights[label] == most:
            best[count] = label
            count += 1
        weights[label] = np.nan
    return count


@cached_njit
def _find_best(lists, values, labels, v, weights, best):  # type: ignore[no-untyped-def]
    """Write the labels with the greatest weight among the neighbours of v to `best`, in the order
    of their first neighbours; return how many there are. `weights` are nan before and after it.
    """
    return _keep_best(weights, best, _weigh(lists, values, labels, v, weights, best, 0))


@cached_njit
def _is_among(label, best, count):  # type: ignore[no-untyped-def]
    for i in range(count):
        if best[i] == label:
            return True
    return False


@cached_njit
def _propagate(lists, values, labels, draws):  # type: ignore[no-untyped-def]
    """Give vertices in random order one of the best labels of their neighbours, until all have
    one.
    """
    n = len(labels)
    weights, best = np.full(n, np.nan), np.empty(n, labels.dtype)
    goes_on = True
    while goes_on:
        goes_on = False
        order = np.arange(n)
        shuffle(draws, order)
        for v in order:
            count = _find_best(lists, values, labels, v, weights, best)
            if count > 0 and not _is_among(labels[v], best, count):
                labels[v] = best[draw_below(draws, count)]
                goes_on = True


class _Neighbours(NamedTuple):
    """The predecessors of vertices and their successors, with values along them; in an undirected
    graph no predecessors. `into_first`: predecessors are weighed before successors.
    """

    into: NeighbourLists
    out: NeighbourLists
    values_into: np.ndarray
    values_out: np.ndarray
    into_first: bool


@cached_njit
def _enqueue(lists, v, labels, queue, begin, count, waits):  # type: ignore[no-untyped-def]
    """Let the neighbours of v that have another label wait at the end of the `queue`, a ring whose
    `count` first ones are from `begin` on; return how many wait then.
    """
    for at in range(lists.offsets[v], lists.offsets[v + 1]):
        w = neighbour(lists, at)
        if labels[w] != labels[v] and not waits[w]:
            queue[(begin + count) % len(queue)] = w
            waits[w] = True
            count += 1
    return count


@cached_njit
def _propagate_by_queue(of, labels, draws):  # type: ignore[no-untyped-def]
    """Give the first vertex of a queue one of the best labels of its neighbours, until none waits.
    All wait at first, in random order; and those whose neighbour has got another label than theirs.
    """
    n = len(labels)
    weights, best = np.full(n, np.nan), np.empty(n, labels.dtype)
    queue, waits, begin, count = np.arange(n), np.ones(n, np.bool_), 0, n
    shuffle(draws, queue)
    while count > 0:
        v = queue[begin]
        begin, count, waits[v], seen = (begin + 1) % n, count - 1, False, 0
        if of.into_first:
            seen = _weigh(of.into, of.values_into, labels, v, weights, best, seen)
        seen = _weigh(of.out, of.values_out, labels, v, weights, best, seen)
        if not of.into_first:
            seen = _weigh(of.into, of.values_into, labels, v, weights, best, seen)
        if seen == 0:
            continue
        label = best[draw_below(draws, _keep_best(weights, best, seen))]
        if labels[v] != label:
            labels[v] = label
            count = _enqueue(of.into, v, labels, queue, begin, count, waits)
            count = _enqueue(of.out, v, labels, queue, begin, count, waits)


@cached_njit
def _color(lists, order, colors):  # type: ignore[no-untyped-def]
    """Give each vertex in an order the first color that no neighbour has; `colors` are -1."""
    taken_by = np.full(len(order) + 1, -1, np.int64)
    for v in order:
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            color = colors[neighbour(lists, at)]
            if color >= 0:
                taken_by[color] = v
        color = 0
        while taken_by[color] == v:
            color += 1
        colors[v] = color


@cached_njit
def _propagate_by_color(lists, values, order, labels):  # type: ignore[no-untyped-def]
    """Give vertices in an order the largest of the best labels of their neighbours, unless theirs
    is one of several, until all have one of the best.
    """
    n = len(labels)
    weights, best = np.full(n, np.nan), np.empty(n, labels.dtype)
    while True:
        is_done = True
        for v in range(n):
            count = _find_best(lists, values, labels, v, weights, best)
            is_done &= count == 0 or _is_among(labels[v], best, count)
        if is_done:
            return
        for v in order:
            count = _find_best(lists, values, labels, v, weights, best)
            if count > 0 and not _is_among(labels[v], best, count):
                labels[v] = best[:count].max()


def _communities(graph: CompactGraph, labels: np.ndarray) -> Iterator[set[Any]]:
    """Yield the nodes of each label, those of the first node first."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    numbers = np.argsort(np.argsort(first))[places]
    bounds = np.append(0, np.bincount(numbers, minlength=len(first)).cumsum())
    return sets_of(graph, bounds, np.argsort(numbers, kind="stable"))


def asyn_lpa_communities(
    G: CompactGraph, weight: Any = None, seed: Random | None = None
) -> Iterator[set[Any]]:
    """Yield the communities of `networkx.asyn_lpa_communities`, for the same `seed` the same."""
    assert seed is not None  # networkx makes one
    draws_of(seed)  # at once, as it may be refused, and the weights too
    return _asynchronous(G, G.values(weight).numbers, seed)


def _asynchronous(graph: CompactGraph, values: np.ndarray, seed: Random) -> Iterator[set[Any]]:
    labels, draws = np.arange(len(graph), dtype=graph.out.kind.dtype), draws_of(seed)
    _propagate(graph.out, values, labels, draws)
    give_back(seed, draws)
    yield from _communities(graph, labels)


def fast_label_propagation_communities(
    G: CompactGraph, *, weight: Any = None, seed: Random | None = None
) -> Iterator[set[Any]]:
    """Yield the communities of `networkx.fast_label_propagation_communities`, for the same `seed`
    the same.
    """
    assert seed is not None  # networkx makes one
    draws_of(seed)  # at once, as in `asyn_lpa_communities`
    values = G.values(weight).numbers
    into = G.predecessors if G.directed else NeighbourLists.of_sizes(np.zeros(len(G), np.int64))
    values_into = G.values_of_predecessors(values) if G.directed else NOTHING
    # networkx's order where it does not read weights: the first neighbours are the predecessors
    return _fast(G, _Neighbours(into, G.out, values_into, values, weight is None), seed)


def _fast(graph: CompactGraph, of: _Neighbours, seed: Random) -> Iterator[set[Any]]:
    labels, draws = np.arange(len(graph), dtype=graph.out.kind.dtype), draws_of(seed)
    _propagate_by_queue(of, labels, draws)
    give_back(seed, draws)
    yield from _communities(graph, labels)


def label_propagation_communities(G: CompactGraph) -> ValuesView[Any]:
    """Return the communities of `networkx.label_propagation_communities`, the values of a dict."""
    labels = np.arange(len(G), dtype=G.out.kind.dtype)
    colors = np.full_like(labels, -1)
    _color(G.out, np.argsort(-G.degrees(), kind="stable"), colors)
    _propagate_by_color(G.out, NOTHING, np.argsort(colors, kind="stable"), labels)
    return dict(enumerate(_communities(G, labels))).values()
