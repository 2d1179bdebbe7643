"""Triangles, clustering coefficients (Watts and Strogatz 1998; directed: Fagiolo 2007; weighted:
Onnela, Saramaki, Kertesz and Kaski 2005), transitivity, and squares (Lind, Gonzalez and Herrmann
2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.graph import CompactGraph, choose
from tux.networkx_backend.lists import contains, neighbour, pieces_of
from tux.networkx_backend.triangles import count_triangles
from tux.networkx_backend.weighted_triangles import roots_of, weigh_triangles

LONGER = 16
"""Times that a list is longer than the other from which on it is searched instead of read."""


@cached_njit
def _count_marked(lists, j, marks, own, n_own):  # type: ignore[no-untyped-def]
    """Add up the `marks` of the neighbours of j but j. `own` has each marked vertex as often as its
    mark says.
    """
    total = 0
    if lists.offsets[j + 1] - lists.offsets[j] > LONGER * n_own:
        for i in range(n_own):
            if own[i] != j and contains(lists, j, own[i]):
                total += 1
    else:
        for at in range(lists.offsets[j], lists.offsets[j + 1]):
            k = neighbour(lists, at)
            if k != j:
                total += marks[k]
    return total


@cached_njit
def _mark(lists, v, marks, own, n_own):  # type: ignore[no-untyped-def]
    for at in range(lists.offsets[v], lists.offsets[v + 1]):
        w = neighbour(lists, at)
        if w != v:
            marks[w] += 1
            own[n_own] = w
            n_own += 1
    return n_own


@cached_njit
def _count_around(lists, back, both, chosen, facts):  # type: ignore[no-untyped-def]
    """Write to facts[i] of each chosen vertex: its neighbours, those of them in both directions,
    and the closed pairs of neighbours, in the ascending `lists` and, if `both`, in `back`.
    """
    n = len(lists.offsets) - 1
    marks, own = np.zeros(n, np.int8), np.empty(2 * n, lists.kind.dtype)
    for i in range(len(chosen)):
        v = chosen[i]
        n_own = _mark(lists, v, marks, own, 0)
        if both:
            n_own = _mark(back, v, marks, own, n_own)
        closed = mutual = 0
        for at in range(n_own):
            j = own[at]
            mutual += marks[j] == 2
            closed += _count_marked(lists, j, marks, own, n_own)
            if both:
                closed += _count_marked(back, j, marks, own, n_own)
        for at in range(n_own):
            marks[own[at]] = 0
        facts[i, 0], facts[i, 1], facts[i, 2] = n_own, mutual // 2, closed


@cached_njit
def _count_squares(lists, chosen, facts):  # type: ignore[no-untyped-def]
    """Write to facts[i] of each chosen vertex: its squares, and the squares that might be.

    With p2(x) the paths of two edges from v to x, the squares are the sum of p2 (p2 - 1) / 2; the
    pairs of neighbours u, w might have ``deg(u) + deg(w) - 2`` more neighbours, of which each
    triangle takes one and each square is counted twice (see networkx).
    """
    n = len(lists.offsets) - 1
    paths, near = np.zeros(n, np.int64), np.zeros(n, np.int8)
    for i in range(len(chosen)):
        v = chosen[i]
        degree = squares = triangles = degrees = 0
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            u = neighbour(lists, at)
            if u == v:
                continue
            near[u] = 1
            degree += 1
            for at_u in range(lists.offsets[u], lists.offsets[u + 1]):
                x = neighbour(lists, at_u)
                if x != u:
                    degrees += 1
                    if x != v:
                        squares += paths[x]  # the sum of 0, 1, .. p2 - 1
                        paths[x] += 1
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            u = neighbour(lists, at)
            if u == v:
                continue
            near[u] = 0
            triangles += paths[u]
        for at in range(lists.offsets[v], lists.offsets[v + 1]):
            u = neighbour(lists, at)
            for at_u in range(lists.offsets[u], lists.offsets[u + 1]):
                paths[neighbour(lists, at_u)] = 0
        possible = (degrees - degree) * (degree - 1) - triangles - squares
        facts[i, 0], facts[i, 1] = squares, possible


def _facts(graph: CompactGraph, chosen: np.ndarray) -> np.ndarray:
    """Return (k, 3) int64, as `_count_around` has them, of the chosen vertices."""
    lists, back = graph.ascending, graph.ascending_into
    facts = np.zeros((len(chosen), 3), np.int64)
    spread(
        lambda piece: _count_around(lists, back, graph.directed, chosen[piece], facts[piece]),
        pieces_of(len(chosen)),
    )
    return facts


def triangles(G: CompactGraph, nodes: Any = None) -> Any:
    """Return the number of triangles of each node, or of some; of one node the number alone."""
    if nodes is None:
        return G.nodes.table(count_triangles(G.out))
    chosen, named = choose(G, nodes)
    counts = _facts(G, chosen)[:, 2] // 2
    return _by_node(G, nodes, named, counts.tolist())


def _coefficients(graph: CompactGraph, nodes: Any, weight: Any) -> tuple[list[Any], list[float]]:
    """Return the nodes that are asked for, and their clustering coefficients: 0 where there is no
    triangle.
    """
    # before nodes are taken, which may be an iterator, as the weights may be refused
    roots = None if weight is None else roots_of(graph, weight)
    chosen, named = choose(graph, nodes)
    if nodes is None and not graph.directed and weight is None:
        neighbours = graph.out.sizes - (graph.loops >= 0)
        closed, possible = 2 * count_triangles(graph.out), neighbours * (neighbours - 1)
    else:
        neighbours, mutual, closed = _facts(graph, chosen).T
        possible = neighbours * (neighbours - 1)
        if graph.directed:
            possible = 2 * (possible - 2 * mutual)
    if roots is not None:
        closed = weigh_triangles(graph, chosen, roots)
    shares = np.divide(closed, possible, out=np.zeros(len(chosen)), where=closed != 0)
    return named, [share or 0 for share in shares.tolist()]  # networkx has the integer 0


def clustering(G: CompactGraph, nodes: Any = None, weight: Any = None) -> Any:
    """Return the clustering coefficient of each node, or of some, by their attribute `weight` if it
    is given; of one node the number alone.
    """
    return _by_node(G, nodes, *_coefficients(G, nodes, weight))


def average_clustering(
    G: CompactGraph, nodes: Any = None, weight: Any = None, count_zeros: bool = True
) -> float:
    """Return the mean clustering coefficient, of those that are not 0 unless `count_zeros`.

    Raises ZeroDivisionError if there is none.
    """
    if nodes is not None and nodes in G:
        raise NotImplementedError("nodes is one node, of which networkx takes no mean")
    once = list(dict(zip(*_coefficients(G, nodes, weight), strict=True)).values())
    kept = once if count_zeros else [share for share in once if abs(share) > 0]
    return sum(kept) / len(kept)


def transitivity(G: CompactGraph) -> float:
    """Return the share of paths of two edges whose ends have an edge; 0 without triangles."""
    neighbours = G.out.sizes - (G.loops >= 0)
    closed = 2 * int(count_triangles(G.out).sum())
    return closed / int((neighbours * (neighbours - 1)).sum()) if closed else 0


def square_clustering(G: CompactGraph, nodes: Any = None) -> Any:
    """Return the share of possible squares at each node that exist, or at some; of one node the
    number alone.
    """
    chosen, named = choose(G, nodes)
    facts = np.zeros((len(chosen), 2), np.int64)
    spread(
        lambda piece: _count_squares(G.out, chosen[piece], facts[piece]),
        pieces_of(len(chosen)),
    )
    squares, possible = facts.T
    pairs = zip(squares.tolist(), possible.tolist(), strict=True)
    shares = [a / b if b > 0 else 0 for a, b in pairs]
    return _by_node(G, nodes, named, shares)


def _by_node(graph: CompactGraph, nodes: Any, named: list[Any], values: list[Any]) -> Any:
    """Return the value of each node that is named as a dict, or that of one node alone."""
    if nodes is not None and nodes in graph:
        return values[0]
    return dict(zip(named, values, strict=True))
