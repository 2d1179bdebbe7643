"""Degrees of vertices, counted by several threads."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, slices, spread


def degree_type(m: int) -> type[np.signedinteger]:
    """Return the type that holds degrees in a graph of m edges, and sums of two of them."""
    return np.int32 if m < 2**29 else np.int64


@cached_njit
def _count(src, dst, degree, of_loop):  # type: ignore[no-untyped-def]
    for i in range(len(src)):
        degree[src[i]] += 1
        if src[i] != dst[i] or of_loop == 2:
            degree[dst[i]] += 1


def count_degrees(
    chunks: Iterable[tuple[np.ndarray, np.ndarray]], n: int, m: int, of_loop: int = 2
) -> np.ndarray:
    """Return the number of edges at each of n vertices, (n,) of `degree_type`, from m edges in
    chunks; a self-loop counts `of_loop`, 1 or 2. Each thread has counts of its own, which take less
    memory in all than the edges.
    """
    pieces = len(slices(m, max(ENTRIES_PER_THREAD, n)))
    counts = [np.zeros(n, degree_type(m)) for _ in range(pieces)]
    for src, dst in chunks:

        def count(at: int, src: np.ndarray = src, dst: np.ndarray = dst) -> None:
            piece = slice(len(src) * at // pieces, len(src) * (at + 1) // pieces)
            _count(src[piece], dst[piece], counts[at], of_loop)

        spread(count, range(pieces))
    degree = counts.pop(0)
    for own in counts:
        degree += own
    return degree
