"""Betweenness centrality (Brandes 2001; of some sources, Brandes and Pich 2007)."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread, threads
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour

ENTRIES_AT_ONCE = 1 << 22
"""Dependencies that a thread keeps before they are added up."""


@cached_njit
def _accumulate(lists, back, sources, endpoints, rows):  # type: ignore[no-untyped-def]
    """Write to rows[i] how far the shortest paths from the i-th source depend on each vertex:
    ``delta(v) = sum over w, whose shortest paths come through v, of sigma(v) / sigma(w) *
    (1 + delta(w))``.
    """
    n = len(lists.offsets) - 1
    depths, queue = np.full(n, -1, np.int64), np.empty(n, lists.neighbours.dtype)
    sigma = np.zeros(n)
    for i in range(len(sources)):
        source, delta = sources[i], rows[i]
        queue[0], depths[source], sigma[source] = source, 0, 1.0
        count, at_queue = 1, 0
        while at_queue < count:
            v = queue[at_queue]
            at_queue += 1
            for at in range(lists.offsets[v], lists.offsets[v + 1]):
                w = neighbour(lists, at)
                if depths[w] < 0:
                    depths[w] = depths[v] + 1
                    queue[count] = w
                    count += 1
                if depths[w] == depths[v] + 1:
                    sigma[w] += sigma[v]
        for at_queue in range(count - 1, 0, -1):
            w = queue[at_queue]
            share = (1 + delta[w]) / sigma[w]
            for at in range(back.offsets[w], back.offsets[w + 1]):
                v = neighbour(back, at)
                if depths[v] == depths[w] - 1:
                    delta[v] += sigma[v] * share
        if endpoints:
            for at_queue in range(1, count):
                delta[queue[at_queue]] += 1
        delta[source] = count - 1 if endpoints else 0.0
        for at_queue in range(count):
            depths[queue[at_queue]] = -1
            sigma[queue[at_queue]] = 0.0


def _sum_of_sources(graph: CompactGraph, sources: np.ndarray, endpoints: bool) -> np.ndarray:
    """Add up the dependencies of all sources, (n,), in their order: with any number of threads to
    the same bits.
    """
    n = len(graph)
    total = np.zeros(n)
    at_once = max(1, min(ENTRIES_AT_ONCE // max(n, 1), -(-len(sources) // threads())))
    lists, back = graph.out, graph.into

    def accumulate(piece: np.ndarray) -> np.ndarray:
        rows = np.zeros((len(piece), n))
        _accumulate(lists, back, piece, endpoints, rows)
        return rows

    for begin in range(0, len(sources), at_once * threads()):
        end = min(len(sources), begin + at_once * threads())
        pieces = [sources[at : min(at + at_once, end)] for at in range(begin, end, at_once)]
        for rows in spread(accumulate, pieces):
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
    weight: None = None,
    endpoints: bool = False,
    seed: Random | None = None,
) -> dict[Any, float]:
    """Return the betweenness centrality of each node, of the paths from `k` nodes that `seed` draws
    or from all; parameters and errors are those of `networkx.betweenness_centrality`.
    """
    if k is None or k == len(G):
        k, sources = None, np.arange(len(G))
    else:
        assert seed is not None  # networkx makes one
        sources = np.array([G.nodes.find(node) for node in seed.sample(list(G), k)], np.int64)
    total = _sum_of_sources(G, sources, endpoints)
    of_sources, of_others = _scales(G, k, normalized, endpoints)
    factors = np.full(len(G), of_others, float)
    factors[sources] = of_sources
    return G.nodes.table(total * factors)
