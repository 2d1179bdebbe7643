"""Connected components, weak ones of directed graphs too.

The loops are those of Afforest (Sutton, Ben-Nun and Barak 2018): a first round joins each vertex
with two neighbours. Most vertices are then in one component, whose lists need not be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np

from tux.base.compiled import cached_njit
from tux.base.merge_sort import compiled_merge_sort
from tux.networkx_backend.breadth_first import breadth_first
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour

SAMPLES = 1024
"""Vertices whose components are counted to find the largest one."""


@cached_njit
def _root(parents, v):  # type: ignore[no-untyped-def]
    while parents[v] != v:
        parents[v] = parents[parents[v]]
        v = parents[v]
    return v


@cached_njit
def _join(parents, v, w):  # type: ignore[no-untyped-def]
    """Join two components; the root of one is its smallest vertex."""
    a, b = _root(parents, v), _root(parents, w)
    if a < b:
        parents[b] = a
    else:
        parents[a] = b


@cached_njit
def _flatten(parents):  # type: ignore[no-untyped-def]
    """Make the root of each vertex its parent. Parents are smaller, so that theirs are flat."""
    for v in range(len(parents)):
        parents[v] = parents[parents[v]]


@cached_njit
def _most_frequent(roots):  # type: ignore[no-untyped-def]
    samples = len(roots)
    compiled_merge_sort(roots)
    best, most, count = roots[0], 0, 0
    for i in range(samples):
        count = count + 1 if i > 0 and roots[i] == roots[i - 1] else 1
        if count > most:
            best, most = roots[i], count
    return best


@cached_njit
def _label(lists, symmetric, samples, parents):  # type: ignore[no-untyped-def]
    """Write the smallest vertex of each vertex's component to `parents`, which has each vertex."""
    n = len(parents)
    first = 2
    for v in range(n):
        begin, end = lists.offsets[v], lists.offsets[v + 1]
        for at in range(begin, min(end, begin + first)):
            _join(parents, v, neighbour(lists, at))
    _flatten(parents)
    # an edge of an undirected graph is in the lists of both its ends
    some = np.arange(samples) * n // samples if symmetric and n > 0 else np.empty(0, np.int64)
    left_out = _most_frequent(parents[some]) if len(some) > 0 else -1
    for v in range(n):
        if parents[v] == left_out:
            continue
        for at in range(lists.offsets[v] + first, lists.offsets[v + 1]):
            w = neighbour(lists, at)
            if parents[v] != parents[w]:
                _join(parents, v, w)
    _flatten(parents)


@cached_njit
def _group(labels, bounds, members):  # type: ignore[no-untyped-def]
    """Write the vertices of each component, ascending, to `members`, in the order of their smallest
    ones, and their bounds to `bounds`; return how many components there are.
    """
    n = len(labels)
    number, count = np.empty(n, np.int64), 0
    for v in range(n):
        if labels[v] == v:
            number[v] = count
            count += 1
        bounds[number[labels[v]] + 1] += 1
    for c in range(count):
        bounds[c + 1] += bounds[c]
    free = bounds[:count].copy()
    for v in range(n):
        c = number[labels[v]]
        members[free[c]] = v
        free[c] += 1
    return count


def _labels(graph: CompactGraph) -> np.ndarray:
    """Return the smallest vertex of each vertex's component, (n,)."""
    labels = np.arange(len(graph), dtype=graph.out.kind.dtype)
    _label(graph.out, not graph.directed, SAMPLES, labels)
    return labels


def connected_components(G: CompactGraph) -> Iterator[set[Any]]:
    """Yield the nodes of each component, as `networkx.connected_components` does."""
    labels = _labels(G)
    bounds, members = np.zeros(len(G) + 1, np.int64), np.empty_like(labels)
    count = _group(labels, bounds, members)
    return sets_of(G, bounds[: count + 1], members)


def sets_of(graph: CompactGraph, bounds: np.ndarray, members: np.ndarray) -> Iterator[set[Any]]:
    """Yield ``members[bounds[i]:bounds[i + 1]]`` as sets of nodes, one after the other."""
    if len(bounds) < 2:
        return
    largest = int(np.diff(bounds).argmax())
    yield from _cut_to_sets(graph, bounds[: largest + 1], members)
    yield graph.nodes.subset(members[bounds[largest] : bounds[largest + 1]])
    yield from _cut_to_sets(graph, bounds[largest + 1 :], members)


def _cut_to_sets(
    graph: CompactGraph, bounds: np.ndarray, members: np.ndarray
) -> Iterator[set[Any]]:
    names = graph.nodes.pick(members[bounds[0] : bounds[-1]])
    ends = (bounds - bounds[0]).tolist()
    for begin, end in zip(ends[:-1], ends[1:], strict=True):
        yield set(names[begin:end])


def number_connected_components(G: CompactGraph) -> int:
    """Count the components, as `networkx.number_connected_components` does."""
    return int(np.count_nonzero(_labels(G) == np.arange(len(G))))


def is_connected(G: CompactGraph) -> bool:
    """Return whether there is one component.

    Raises networkx.NetworkXPointlessConcept for a graph without nodes.
    """
    if len(G) == 0:
        raise nx.NetworkXPointlessConcept("Connectivity is undefined for the null graph.")
    return not _labels(G).any()


def node_connected_component(G: CompactGraph, n: Any) -> set[Any]:
    """Return the nodes of the component of node `n`; KeyError if there is no such node."""
    source = G.nodes.find(n)
    if source < 0:
        hash(n)  # which raises TypeError, as networkx does
        raise KeyError(n)
    members, _ = breadth_first(G.out, [source])
    return G.nodes.subset(members)


weakly_connected_components = connected_components
number_weakly_connected_components = number_connected_components
is_weakly_connected = is_connected
