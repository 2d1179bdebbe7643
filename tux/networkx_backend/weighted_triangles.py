"""Triangles around vertices, by the weights of their edges (Onnela, Saramaki, Kertesz and Kaski
2005; directed: Fagiolo 2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.graph import CompactGraph
from tux.networkx_backend.lists import neighbour, pieces_of

FARTHEST = 1e100
"""Times that a weight may be larger than another: floats hold a product of three."""


@cached_njit
def _sum_marked(lists, roots, j, marks):  # type: ignore[no-untyped-def]
    total = 0.0
    for at in range(lists.offsets[j], lists.offsets[j + 1]):
        k = neighbour(lists, at)
        if k != j:
            total += roots[at] * marks[k]
    return total


@cached_njit
def _mark(lists, roots, v, by, marks):  # type: ignore[no-untyped-def]
    """Add `by` times the roots of v's entries to the marks of their vertices, but not to v's."""
    for at in range(lists.offsets[v], lists.offsets[v + 1]):
        w = neighbour(lists, at)
        if w != v:
            marks[w] += by * roots[at]


@cached_njit
def _weigh(lists, roots, back, back_roots, both, chosen, totals):  # type: ignore[no-untyped-def]
    """Write to totals[i] of each chosen vertex v the sum of s(v, j) s(v, k) s(j, k) of all ordered
    pairs of neighbours, where s has the roots of both directions if `both`.
    """
    marks = np.zeros(len(lists.offsets) - 1)
    for i in range(len(chosen)):
        v = chosen[i]
        _mark(lists, roots, v, 1.0, marks)
        if both:
            _mark(back, back_roots, v, 1.0, marks)
        for side in range(1 + both):
            around = back if side else lists
            for at in range(around.offsets[v], around.offsets[v + 1]):
                j = neighbour(around, at)
                if j != v:
                    sums = _sum_marked(lists, roots, j, marks)
                    if both:
                        sums += _sum_marked(back, back_roots, j, marks)
                    totals[i] += (back_roots[at] if side else roots[at]) * sums
        for side in range(1 + both):
            around = back if side else lists
            for at in range(around.offsets[v], around.offsets[v + 1]):
                marks[neighbour(around, at)] = 0.0


def roots_of(graph: CompactGraph, weight: Any) -> np.ndarray:
    """Return the cube roots of weights along `out`, divided by the largest, (entries,) float64.

    Raises NotImplementedError if that is 0, and if products of three weights, of which networkx
    takes the roots, may overflow or vanish.
    """
    values = graph.values(weight).numbers
    if not len(values):
        values = np.ones(int(graph.out.offsets[-1]))
    largest = values.max(initial=-np.inf)
    if largest == 0:
        raise NotImplementedError(f"the largest {weight!r} of an edge is 0")
    with np.errstate(over="ignore", under="ignore"):
        shares = values / largest
    sizes = np.abs(shares[values != 0])
    if sizes.min(initial=1.0) < 1 / FARTHEST or sizes.max(initial=1.0) > FARTHEST:
        raise NotImplementedError(f"the {weight!r} of edges are more than {FARTHEST} times apart")
    roots: np.ndarray = np.cbrt(shares)
    return roots


def weigh_triangles(graph: CompactGraph, chosen: np.ndarray, roots: np.ndarray) -> np.ndarray:
    """Return for each chosen vertex the sum of ``s_vj s_vw s_jw`` over all ordered pairs of
    neighbours, (k,) float64, where s are the `roots` along `out`.
    """
    back_roots, totals = graph.values_into(roots), np.zeros(len(chosen))

    def weigh(piece: slice) -> None:
        _weigh(
            graph.out, roots, graph.into, back_roots, graph.directed, chosen[piece], totals[piece]
        )

    spread(weigh, pieces_of(len(chosen)))
    return totals
