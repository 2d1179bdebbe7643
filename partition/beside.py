"""Edges placed beside those of another type, which a partitioner has placed alone: each by its own
two ends.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.ends import EdgeEnds
from tux.partition.replicas import Replicas, replicas

FAR = 16  # more than any sum of shares: a part with a replica comes before one without


def replicas_by_side(
    src: np.ndarray, dst: np.ndarray, parts: np.ndarray, k: int, counts: tuple[int, ...]
) -> list[Replicas]:
    """Return the replicas of placed edges: of the vertices of both types, where `counts` are their
    two numbers, or of all where it is one number.
    """
    n = sum(counts)
    sources = counts[0]
    targets = dst.astype(np.int64) + sources if len(counts) > 1 else dst
    held = replicas(EdgeEnds(src, targets.astype(src.dtype), n, sources), parts, k)
    return [held.between(0, sources), held.between(sources, n)][: len(counts)]


def no_replicas(n: int) -> Replicas:
    """Return the replicas of n vertices without edges."""
    return Replicas(np.zeros(n + 1, np.int64), np.empty(0, np.int16), np.empty(0, np.int32))


def with_homes(held: Replicas, k: int, seed: int, begin: int = 0) -> Replicas:
    """Return the replicas, and for each vertex without any one with 0 edges: its home, by a hash of
    its number, where its edges of other types can meet. `begin`: the number of the first vertex.
    """
    alone = np.flatnonzero(held.counts == 0)
    if not len(alone):
        return held
    at, home = held.first[alone], by_hash(alone + begin, k, seed)
    first = held.first.copy()
    first[1:] += np.cumsum(held.counts == 0)
    return Replicas(first, np.insert(held.part, at, home), np.insert(held.edges, at, 0))


def place_beside(
    src: np.ndarray,
    dst: np.ndarray,
    sources: Replicas,
    targets: Replicas,
    k: int,
    whole: int | None = None,
) -> np.ndarray:
    """Place edges (m,) beside the replicas of their ends, of which each vertex has one at least in
    k parts. Returns their parts, (m,) int16.

    An edge goes to a part that has both its ends; else to one that has an end with placed edges;
    else to a home (see `with_homes`); among these to the one with the largest share of its ends'
    placed edges, added up. Of two parts that are equal in this, the same one is always taken, so
    that few vertices of the other one get replicas: the one after which the other comes sooner,
    if parts stand in a circle. `whole`: the end, 0 or 1, of a type whose vertices are in one part
    each: the edge goes there.
    """
    parts = np.empty(len(src), np.int16)
    degrees = sources.degrees(), targets.degrees()
    _place(src, dst, sources, targets, degrees, k, -1 if whole is None else whole, parts)
    return parts


@cached_njit
def _score(edges, degree):  # type: ignore[no-untyped-def]
    return FAR + edges / degree if edges else FAR / 2


@cached_njit
def _place(src, dst, sources, targets, degrees, k, whole, parts):  # type: ignore[no-untyped-def]
    for i in range(len(src)):
        u, v = src[i], dst[i]
        a, last_a = sources.first[u], sources.first[u + 1]
        b, last_b = targets.first[v], targets.first[v + 1]
        if whole == 0:
            b = last_b
        elif whole == 1:
            a = last_a
        best = 0.0
        while a < last_a or b < last_b:
            part, score = k, 0.0
            if a < last_a:
                part = sources.part[a]
            if b < last_b:
                part = min(part, targets.part[b])
            if a < last_a and sources.part[a] == part:
                score += _score(sources.edges[a], degrees[0][u])
                a += 1
            if b < last_b and targets.part[b] == part:
                score += _score(targets.edges[b], degrees[1][v])
                b += 1
            if score > best or (score == best and 2 * (part - parts[i]) > k):
                best, parts[i] = score, part
