"""Random directed graphs with power-law degrees (Chung and Lu 2002): both ends of an edge are
drawn in proportion to their weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tux.arrays.integers import distinct_integers
from tux.base.errors import UsageError
from tux.base.random import key, permutation, uniforms
from tux.base.text import plural

OUT_TAIL, IN_TAIL = 0.4, 0.7
"""Exponents of the weights i^-tail of the i-th vertex, out of it and into it: in-degrees are the
more uneven, as those of web pages are.
"""


def graph(
    vertices: int = 2_000, edges: int = 20_000, *, seed: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw a graph: source and target, (edges,) int32 ids from 1, in ascending order; no edge twice
    and no self-loop.

    Raises UsageError for fewer than two vertices, or more edges than a tenth of all pairs.
    """
    if vertices < 2 or vertices >= 2**31:
        raise UsageError(
            f"a graph of {plural(vertices, 'vertex')}", do="give from 2 to 2,147,483,647"
        )
    most = max(vertices * vertices // 10, 1)
    if not 1 <= edges <= most:
        raise UsageError(
            f"a graph of {plural(edges, 'edge')} between {plural(vertices, 'vertex')}",
            do=f"give from 1 to {most:,}",
        )
    shares = [
        _shares(vertices, tail, seed, name) for name, tail in (("out", OUT_TAIL), ("in", IN_TAIL))
    ]
    pairs, turn = np.empty(0, np.int64), 0
    while (missing := edges - len(pairs)) > 0:
        draws = uniforms(key(seed, "graph", "draw"), np.arange(turn, turn + missing), 2)
        src, dst = (
            np.minimum(np.searchsorted(share, draw), vertices - 1)
            for share, draw in zip(shares, draws.T, strict=True)
        )
        pairs = distinct_integers(np.concatenate([pairs, (src * vertices + dst)[src != dst]]))
        turn += missing
    return (pairs // vertices + 1).astype(np.int32), (pairs % vertices + 1).astype(np.int32)


def _shares(vertices: int, tail: float, seed: int, name: str) -> NDArray[np.float64]:
    """Return the running sum (vertices,) of the shares of vertices, heavy and light ones mixed."""
    weights = np.arange(1, vertices + 1)[permutation(key(seed, "graph", name), vertices)] ** -tail
    return np.cumsum(weights / weights.sum())
