"""Betweenness centrality (Brandes 2001; of some sources, Brandes and Pich 2007)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.merge_sort import compiled_merge_sort
from tux.base.parallel import spread, threads
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import NeighbourLists, neighbour
from tux.networkx_backend.weighted_betweenness import weighted_dependencies

ENTRIES_AT_ONCE = 1 << 22
"""Dependencies that a thread keeps before they are added up."""


@cached_njit
def _search(lists, source, places, queue, sigma, bounds, leads):  # type: ignore[no-untyped-def]
    """Search from a source; return how many vertices it reaches. `queue` has them in the order of
    the search, `places` (-1 elsewhere) their places in it, and `sigma`, by place, the number of
    shortest paths to each. The steps of these paths lead from place i to the places
    ``leads[bounds[i]:bounds[i + 1]]``.
    """
    queue[0], places[source], sigma[0], bounds[0] = source, 0, 1.0, 0
    count, steps, next_level, level_end = 1, 0, 1, 1
    i = 0
    while i < count:
        if i == level_end:
            next_level = level_end = count
        v = queue[i]
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            w = neighbour(lists, at)
            place = places[w]
            if place < 0:
                place = places[w] = count
                queue[count] = w
                sigma[count] = 0.0
                count += 1
            if place >= next_level:
                sigma[place] += sigma[i]
                leads[steps] = place
                steps += 1
        i += 1
        bounds[i] = steps
    return count


@cached_njit
def _accumulate(lists, sources, endpoints, rows):  # type: ignore[no-untyped-def]
    """Write to rows[i] how far the shortest paths from the i-th source depend on each vertex:
    ``delta(v) = sum over w to which a step leads from v of sigma(v) / sigma(w) * (1 + delta(w))``.

    The terms are added from the last w of the search to the first, as networkx does.
    """
    n, kind = len(lists.offsets) - 1, lists.kind.dtype
    places, queue, leads = (
        np.full(n, -1, kind),
        np.empty(n, kind),
        np.empty(lists.offsets[-1], kind),
    )
    sigma, shares, bounds = np.empty(n), np.empty(n), np.empty(n + 1, np.int64)
    for i in range(len(sources)):
        row = rows[i]
        count = _search(lists, sources[i], places, queue, sigma, bounds, leads)
        for place in range(count - 1, -1, -1):
            compiled_merge_sort(leads[bounds[place] : bounds[place + 1]])
            delta = 0.0
            for at in range(bounds[place + 1] - 1, bounds[place] - 1, -1):
                delta += sigma[place] * shares[leads[at]]
            shares[place] = (1 + delta) / sigma[place]
            row[queue[place]] = delta + 1 if endpoints else delta
            places[queue[place]] = -1
        row[sources[i]] = count - 1 if endpoints else 0.0


def _dependencies(lists: NeighbourLists, sources: np.ndarray, endpoints: bool) -> np.ndarray:
    """Return how far the shortest paths from each source depend on each vertex, (k, n) float64."""
    rows = np.zeros((len(sources), lists.vertices))
    _accumulate(lists, sources, endpoints, rows)
    return rows


def _sum_of_sources(
    n: int, sources: np.ndarray, dependencies: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Add up the dependencies of all sources, (n,), in their order: with any number of threads to
    the same bits.
    """
    total = np.zeros(n)
    at_once = max(1, min(ENTRIES_AT_ONCE // max(n, 1), -(-len(sources) // threads())))

    for begin in range(0, len(sources), at_once * threads()):
        end = min(len(sources), begin + at_once * threads())
        pieces = [sources[at : min(at + at_once, end)] for at in range(begin, end, at_once)]
        for rows in spread(dependencies, pieces):
            for row in rows:
                total += row
    return total


def _scales(
    graph: CompactGraph, k: int | None, normalized: bool, endpoints: bool
) -> tuple[float, float]:
    """Return the factors of sources and of other nodes, as `networkx` has them."""
    others = len(graph) if endpoints else len(graph) - 1
    sources = others if k is None else k
    correction = 1 if graph.directed else 2
    if others < 2:
        return 1, 1

    def scale(pairs: int) -> float:
        return 1 / (pairs * (others - 1)) if normalized else others / (pairs * correction)

    if k is None or endpoints:
        return scale(sources), scale(sources)
    return scale(sources - 1) if sources > 1 else math.nan, scale(sources)


def betweenness_centrality(
    G: CompactGraph,
    k: int | None = None,
    normalized: bool = True,
    weight: Any = None,
    endpoints: bool = False,
    seed: Random | None = None,
) -> dict[Any, float]:
    """Return the betweenness centrality of each node, of the paths from `k` nodes that `seed` draws
    or from all; parameters and errors are those of `networkx.betweenness_centrality`.
    """
    if weight is None:
        dependencies = partial(_dependencies, G.out, endpoints=endpoints)
    else:  # before the seed is used, as the weights may be refused
        values = G.values(weight, parallel="min").numbers
        dependencies = partial(weighted_dependencies, G.out, values, endpoints=endpoints)
    if k is None or k == len(G):
        k, sources = None, np.arange(len(G))
    else:
        assert seed is not None  # networkx makes one
        sources = np.array([G.nodes.find(node) for node in seed.sample(list(G), k)], np.int64)
    total = _sum_of_sources(len(G), sources, dependencies)
    of_sources, of_others = _scales(G, k, normalized, endpoints)
    factors = np.full(len(G), of_others, float)
    factors[sources] = of_sources
    return G.nodes.table(total * factors)
