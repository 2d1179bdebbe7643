"""Edges that are read in chunks, from disk or memory, as often as an algorithm needs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from tux.partition.common.ends import EdgeEnds, side

Chunks = Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]]
"""Each call begins again and gives the same edges, in the same order, as arrays (src, dst) of
any length.
"""

CHUNK = 1 << 20
"""Edges in a chunk of those that are in memory."""


@dataclass(frozen=True)
class ChunkedEdges:
    """The edges of a reader of chunks: `edges` in all, between `vertices`; the first `sources` of
    them are the sources of a bipartite graph, else `bipartite` is false.
    """

    read: Chunks
    edges: int
    vertices: int
    sources: int
    bipartite: bool

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the chunks as arrays of dense vertex numbers, as `ends` has them. Raise ValueError
        if they are not those that were counted.
        """
        kind = np.int32 if self.vertices < 2**31 else np.int64
        left = self.edges
        for src, dst, sources, targets in _check_chunks(self.read):
            left -= len(src)
            if sources > self.sources or targets > self.vertices - self.sources * self.bipartite:
                left = -1
            if left < 0:
                break
            first, second = np.ascontiguousarray(src, kind), np.ascontiguousarray(dst, kind)
            yield first, second + self.sources if self.bipartite else second
        if left:
            raise ValueError("the chunks are not the same edges at every reading")


def count_chunks(chunks: Chunks, bipartite: bool) -> ChunkedEdges:
    """Read the chunks once to count edges and vertices. Raise ValueError for what `ends` refuses,
    and for vertices not numbered densely from 0.
    """
    m = sources = targets = 0
    for src, _, most, others in _check_chunks(chunks):
        m, sources, targets = m + len(src), max(sources, most), max(targets, others)
    if not bipartite:
        sources = targets = max(sources, targets)
    if max(sources, targets) > 8 * m + 1024:
        raise ValueError(
            f"a vertex has the number {max(sources, targets) - 1} in a graph of {m} edges: number "
            "the vertices densely, from 0"
        )
    return ChunkedEdges(chunks, m, sources + targets if bipartite else sources, sources, bipartite)


def slice_edges(edges: EdgeEnds, size: int = CHUNK) -> ChunkedEdges:
    """Slice edges in memory into chunks of at most `size`."""

    def read() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for lo in range(0, len(edges.src), size):
            yield edges.src[lo : lo + size], edges.dst[lo : lo + size]

    return ChunkedEdges(read, len(edges.src), edges.vertices, edges.vertices, False)


def _check_chunks(chunks: Chunks) -> Iterator[tuple[np.ndarray, np.ndarray, int, int]]:
    for src, dst in chunks():
        first, sources = side(src, "src")
        second, targets = side(dst, "dst")
        if len(first) != len(second):
            raise ValueError(
                f"a chunk has {len(first)} edges in src and {len(second)} in dst: there must be as "
                "many"
            )
        yield first, second, sources, targets
