"""Edges as the partitioners' kernels take them: two equal arrays of dense vertex numbers, of one
numbering for both ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Progress = Callable[[float], object] | None
"""Called now and then with the share of the work that is done, from 0 to 1."""


class EdgeEnds(NamedTuple):
    """The ends of edges: `src`, `dst` (m,) int32, or int64 where there are more than 2^31 vertices;
    numbers below `vertices`.

    `sources`: of a bipartite graph, how many of the vertices are sources: they come first, the
    targets after them; else `vertices`.
    """

    src: np.ndarray
    dst: np.ndarray
    vertices: int
    sources: int


def ends(src: np.ndarray, dst: np.ndarray, bipartite: bool = False) -> EdgeEnds:
    """Return the ends of the edges (src[i], dst[i]); with `bipartite`, equal numbers on the two
    sides are different vertices.

    Dense numbers (0 to n-1) are taken as they are; sparse ones (64-bit ids) are renumbered in
    ascending order, so that memory follows the edges and never the largest id. ValueError unless
    both are one-dimensional, of equal length, integers and not negative.
    """
    first, sources = side(src, "src")
    second, targets = side(dst, "dst")
    if len(first) != len(second):
        raise ValueError(f"src has {len(first)} edges and dst {len(second)}: there must be as many")
    if not bipartite:
        sources = targets = max(sources, targets)
    dense = 8 * len(first) + 1024
    if bipartite:
        if sources > dense:
            first, sources = _renumber(first)
        if targets > dense:
            second, targets = _renumber(second)
    elif sources > dense:
        joined, sources = _renumber(np.concatenate([first, second]))
        first, second = joined[: len(first)], joined[len(first) :]
    vertices = sources + targets if bipartite else sources
    kind = np.int32 if vertices < 2**31 else np.int64
    first, second = np.ascontiguousarray(first, kind), np.ascontiguousarray(second, kind)
    return EdgeEnds(first, second + kind(sources) if bipartite else second, vertices, sources)


def side(ids: np.ndarray, name: str) -> tuple[np.ndarray, int]:
    """Return `ids` as an array, and one more than the largest."""
    array = np.asarray(ids)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise ValueError(
            f"{name} is an array of {array.dtype} in {array.ndim} dimensions: one of integers is "
            "needed"
        )
    if not len(array):
        return array.astype(np.int32), 0
    if array.min() < 0:
        raise ValueError(f"{name} has the vertex {array.min()}: vertices are numbered from 0")
    return array, int(array.max()) + 1


def _renumber(ids: np.ndarray) -> tuple[np.ndarray, int]:
    known, numbers = np.unique(ids, return_inverse=True)
    return numbers, len(known)
