"""Replicas: for each vertex the parts that have edges of it, and how many. Masters and quality are
computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, slices, spread
from tux.partition.common.ends import EdgeEnds


class Replicas(NamedTuple):
    """The replicas of vertices: the parts that hold vertex v are ``part[first[v]:first[v + 1]]``,
    ascending; `edges` has v's edges there, a self-loop once.

    `first` (n + 1,) int64, `part` (replicas,) int16, `edges` (replicas,) int32 or int64.
    """

    first: np.ndarray
    part: np.ndarray
    edges: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The number of replicas of each vertex (n,) int64; 0 where it has no edge."""
        return np.diff(self.first)

    def degrees(self) -> np.ndarray:
        """Return the number of edges of each vertex (n,) int64, a self-loop once."""
        total = np.concatenate([[0], np.cumsum(self.edges, dtype=np.int64)])
        return total[self.first[1:]] - total[self.first[:-1]]

    def between(self, low: int, high: int) -> Replicas:
        """Return the replicas of the vertices low .. high-1, numbered from 0."""
        bounds = self.first[low : high + 1]
        inside = slice(bounds[0], bounds[-1])
        return Replicas(bounds - bounds[0], self.part[inside], self.edges[inside])


@cached_njit
def _by_part(parts, lo, hi, places, order):  # type: ignore[no-untyped-def]
    """Put the edges lo .. hi - 1 into `order`, each at the next of the places of its part."""
    for i in range(lo, hi):
        order[places[parts[i]]] = i
        places[parts[i]] += 1


def _order_by_part(parts: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges by part, those of one in their order, and where parts begin (k + 1,)."""
    m = len(parts)
    order = np.empty(m, np.int32 if m < 2**31 else np.int64)
    pieces = slices(m, max(ENTRIES_PER_THREAD, k))
    counts = spread(lambda piece: np.bincount(parts[piece], minlength=k), pieces)
    starts = np.concatenate([[0], np.cumsum(np.sum(counts, 0))])
    places = np.cumsum([starts[:-1], *counts[:-1]], 0)
    spread(
        lambda at: _by_part(parts, pieces[at].start, pieces[at].stop, places[at], order),
        range(len(pieces)),
    )
    return order, starts


@cached_njit
def _hold(edges, parts, order, first, part, times):  # type: ignore[no-untyped-def]
    """Count each vertex's replicas into `first`, if `part` is empty; else fill them in, `first[v]`
    being v's next free place.

    Edges come ordered by part, so that a look at the part in which a vertex was seen last tells a
    new replica.
    """
    fill, src, dst = len(part) > 0, edges.src, edges.dst
    last = np.full(len(first), -1, np.int16)
    for i in order:
        p = parts[i]
        for v in (src[i], dst[i]):
            if last[v] != p:
                last[v] = p
                if fill:
                    part[first[v]] = p
                first[v] += 1
            if fill:
                times[first[v] - 1] += 1
            if src[i] == dst[i]:
                break


def replicas(edges: EdgeEnds, parts: np.ndarray, k: int) -> Replicas:
    """Return the replicas of an assignment `parts` (m,) of edges to k parts, in time and memory
    linear in vertices, edges and k.

    ValueError unless there is one part for each edge, from 0 to k-1.
    """
    parts = np.asarray(parts)
    m = len(edges.src)
    if parts.shape != (m,) or (m and parts.dtype.kind not in "iu"):
        raise ValueError(
            f"parts is an array of {parts.dtype} of shape {parts.shape}: one integer for each of "
            f"{m} edges is needed"
        )
    if m and not 0 <= parts.min() <= parts.max() < k:
        raise ValueError(
            f"parts run from {parts.min()} to {parts.max()}: with {k} parts they can be 0 to "
            f"{k - 1}"
        )
    parts = np.ascontiguousarray(parts, np.int16)
    order, starts = _order_by_part(parts, k)
    # each thread takes whole parts, about as many edges as the others, and has counts of its own
    pieces = len(slices(m, max(ENTRIES_PER_THREAD, edges.vertices)))
    cuts = starts[np.searchsorted(starts, [m * at // pieces for at in range(pieces)] + [m])]
    shares = [order[lo:hi] for lo, hi in zip(cuts, cuts[1:], strict=False)]
    return _gather(edges, parts, shares)


def _gather(edges: EdgeEnds, parts: np.ndarray, shares: Sequence[np.ndarray]) -> Replicas:
    """Return the replicas of edges that come by part, in shares with different parts."""
    n, kind = edges.vertices, shares[0].dtype
    free = [np.zeros(n, np.int64) for _ in shares]
    nothing = np.empty(0, np.int16), np.empty(0, kind)
    spread(lambda at: _hold(edges, parts, shares[at], free[at], *nothing), range(len(shares)))
    first = np.concatenate([[0], np.cumsum(np.sum(free, 0))])
    place = first[:-1].copy()
    for own in free:
        own[:], place = place, place + own
    part, times = np.empty(int(first[-1]), np.int16), np.zeros(int(first[-1]), kind)
    spread(lambda at: _hold(edges, parts, shares[at], free[at], part, times), range(len(shares)))
    return Replicas(first, part, times)


def gather_replicas(ends_by_part: Sequence[np.ndarray], n: int) -> Replicas:
    """Return the replicas of vertices 0 to n-1, from each part's ends of edges: arrays of vertices,
    one entry an end, in any order.
    """
    return replicas_of_counts([_count_distinct(own, n) for own in ends_by_part], n)


def replicas_of_counts(held: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> Replicas:
    """Return the replicas of vertices 0 to n-1, from each part's vertices, each once, and how many
    edges each has there.
    """
    first = np.zeros(n + 1, np.int64)
    for vertices, _ in held:
        first[vertices + 1] += 1
    np.cumsum(first, out=first)
    free = first[:-1].copy()
    part, edges = np.empty(int(first[-1]), np.int16), np.empty(int(first[-1]), np.int64)
    for number, (vertices, counts) in enumerate(held):
        part[free[vertices]], edges[free[vertices]] = number, counts
        free[vertices] += 1
    return Replicas(first, part, edges)


def _count_distinct(vertices: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct ones of `vertices`, ascending, and how often each occurs; without sorting
    where there are many.
    """
    if len(vertices) * 8 < n:
        return np.unique(vertices, return_counts=True)
    counts = np.bincount(vertices, minlength=n)
    some = np.flatnonzero(counts)
    return some, counts[some]
