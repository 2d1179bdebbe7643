"""Scores of pairs of nodes by their common neighbours (Liben-Nowell and Kleinberg 2004)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.graph import CompactGraph, refuse_iterator
from tux.networkx_backend.lists import neighbour, pieces_of

PAIRS_AT_ONCE = 1 << 16

Scored = Iterator[tuple[Any, Any, float]]


@cached_njit
def _score(lists, terms, pairs, scores):  # type: ignore[no-untyped-def]
    """Write to scores[i] of each pair: the sum of the `terms` of its common neighbours, its own two
    left out, and the number of vertices in one of its ascending lists or both.
    """
    for i in range(len(pairs)):
        u, v = pairs[i, 0], pairs[i, 1]
        a, a_end = lists.offsets[u], lists.offsets[u + 1]
        b, b_end = lists.offsets[v], lists.offsets[v + 1]
        union = a_end - a + b_end - b
        total = 0.0
        while a < a_end and b < b_end:
            x, y = neighbour(lists, a), neighbour(lists, b)
            if x == y:
                union -= 1
                if x != u and x != v:
                    total += terms[x]
            a += x <= y
            b += y <= x
        scores[i, 0], scores[i, 1] = total, union


def _scores(graph: CompactGraph, terms: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    scores, lists = np.zeros((len(pairs), 2)), graph.ascending
    spread(lambda piece: _score(lists, terms, pairs[piece], scores[piece]), pieces_of(len(pairs)))
    return scores


def _non_edges(graph: CompactGraph) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of nodes without an edge, in the order of `networkx.non_edges`."""
    nodes = set(graph)
    while nodes:
        u = nodes.pop()
        for v in nodes - set(graph.neighbors(u)):
            yield u, v


def _pairs(graph: CompactGraph, ebunch: Iterable[Any] | None) -> Iterable[tuple[Any, Any]]:
    """Return the pairs that are asked for; networkx.NodeNotFound if one is of other nodes."""
    if ebunch is None:
        return _non_edges(graph)
    refuse_iterator("ebunch", ebunch)
    pairs = [(u, v) for u, v in ebunch]
    for node in (node for pair in pairs for node in pair):
        if node not in graph:
            raise nx.NodeNotFound(f"Node {node} not in G.")
    return pairs


def _predict(
    graph: CompactGraph, pairs: Iterable[tuple[Any, Any]], terms: np.ndarray, *, shares: bool
) -> Scored:
    """Yield (u, v, score): the sum of terms, or its share of all neighbours of both; the integer 0
    where there are none, as in networkx.
    """
    left, find = iter(pairs), graph.nodes.find
    while part := list(islice(left, PAIRS_AT_ONCE)):
        numbers = np.array([(find(u), find(v)) for u, v in part], np.int64)
        for (u, v), (total, union) in zip(
            part, _scores(graph, terms, numbers).tolist(), strict=True
        ):
            if total == np.inf:  # a neighbour of degree 1, whose logarithm is 0
                raise ZeroDivisionError("float division by zero")
            yield u, v, (total / union if union else 0) if shares else total or 0


def jaccard_coefficient(G: CompactGraph, ebunch: Iterable[Any] | None = None) -> Scored:
    """Yield (u, v, common neighbours by all neighbours) for each pair, or those without an edge.

    Raises networkx.NodeNotFound.
    """
    return _predict(G, _pairs(G, ebunch), np.ones(len(G)), shares=True)


def adamic_adar_index(G: CompactGraph, ebunch: Iterable[Any] | None = None) -> Scored:
    """Yield (u, v, sum of 1 / log(degree) of common neighbours) for each pair, or those without an
    edge (Adamic and Adar 2003).

    Raises networkx.NodeNotFound, and ZeroDivisionError for a common neighbour of degree 1.
    """
    with np.errstate(divide="ignore"):
        terms = 1 / np.log(np.maximum(G.degrees(), 1))
    return _predict(G, _pairs(G, ebunch), terms, shares=False)


def resource_allocation_index(G: CompactGraph, ebunch: Iterable[Any] | None = None) -> Scored:
    """Yield (u, v, sum of 1 / degree of common neighbours) for each pair, or those without an edge
    (Zhou, Lu and Zhang 2009).

    Raises networkx.NodeNotFound.
    """
    return _predict(G, _pairs(G, ebunch), 1 / np.maximum(G.degrees(), 1), shares=False)


def preferential_attachment(G: CompactGraph, ebunch: Iterable[Any] | None = None) -> Scored:
    """Yield (u, v, product of degrees) for each pair, or those without an edge.

    Raises networkx.NodeNotFound.
    """
    degrees, find = G.degrees().tolist(), G.nodes.find
    return ((u, v, degrees[find(u)] * degrees[find(v)]) for u, v in _pairs(G, ebunch))
