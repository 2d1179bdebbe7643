"""2PS: streaming in two phases, clusters of vertices, then edges by them, in memory for vertices
alone (Mayer et al., ICDE 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tux.partition.common.capacity import capacity
from tux.partition.common.chunked import ChunkedEdges, Chunks, count_chunks, slice_edges
from tux.partition.common.clusters import gather, parts_of_clusters, singletons
from tux.partition.common.degrees import count_degrees
from tux.partition.common.ends import Progress, ends
from tux.partition.common.linear import linear_rule, place_linear
from tux.partition.common.same_part import same_part, same_part_again
from tux.partition.common.scored import (
    Rule,
    empty_placement,
    place,
    shuffle_parts,
)

SCORINGS = ("hdrf", "linear")


class _Rule(NamedTuple):
    k: int
    seed: int
    cap: float
    scoring: str
    passes: int
    lam: float


def two_phase(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    scoring: str = "hdrf",
    passes: int = 1,
    lam: float = 0.5,
) -> np.ndarray:
    """Cluster the vertices, give the clusters to parts, then place the edges; parts (m,) int16. No
    `cap` means 1.05.

    Phase one reads the edges `passes` times: the end of an edge whose cluster is smaller joins the
    cluster of the other, up to a volume (sum of degrees) of 2m/k; then clusters go to parts,
    largest first, each to the part with the least volume. In phase two, edges within the clusters
    of one part go there, while it has room; then the others one by one, by `scoring`:

        "hdrf"    (2PS-HDRF) as `hdrf` with exact degrees and the weight `lam` of the balance, among
                  all parts that have room; below 1, since it is `cap` that keeps the balance here:
                  that saves 1 to 3 % of the replicas
        "linear"  (2PS-L) to one of the parts of the ends' two clusters: that with room and the
                  higher score, where an end that it holds counts as in HDRF, plus the share of its
                  cluster in both clusters' volume if it is the part of that; of equals to that of
                  dst. If both are full: hash(end of higher degree) mod k; if that is, the least
                  loaded part

    Equal scores, and what else is arbitrary, follow an order of the parts that the seed shuffles.
    ValueError for no passes, or a `lam` below 0 or not finite.
    """
    rule = _check_rule(k, seed, cap, scoring, passes, lam)
    edges = ends(src, dst, bipartite)
    parts, lo = np.empty(len(edges.src), np.int16), 0
    for some in _place_chunks(slice_edges(edges), rule, progress):
        parts[lo : lo + len(some)] = some
        lo += len(some)
    return parts


def two_phase_stream(
    chunks: Chunks,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    scoring: str = "hdrf",
    passes: int = 1,
    lam: float = 0.5,
) -> Iterator[np.ndarray]:
    """Place edges that do not fit into memory, as `two_phase` does: the same parts, chunk by chunk,
    each (length of the chunk,) int16.

    ``chunks()`` begins a reading of all edges as arrays (src, dst), such as slices of memory-mapped
    files; it is called `passes` + 4 times and must give the same each time. How edges are cut into
    chunks does not change their parts. Memory O(n + k + sum |A(v)|), some 30 bytes a vertex up to
    64 parts, and a few copies of one chunk. ValueError, beside those of `two_phase`, for vertices
    that are not numbered densely from 0, and for chunks that are not the same at every reading.
    """
    rule = _check_rule(k, seed, cap, scoring, passes, lam)
    return _place_chunks(count_chunks(chunks, bipartite), rule, progress)


def _check_rule(
    k: int, seed: int, cap: float | None, scoring: str, passes: int, lam: float
) -> _Rule:
    if scoring not in SCORINGS:
        raise ValueError(f"scoring={scoring!r}: it can be {', '.join(SCORINGS)}")
    if passes < 1:
        raise ValueError(f"passes={passes}: clusters need at least one")
    if not 0 <= lam < math.inf:
        raise ValueError(f"lam={lam}: the weight of the balance is 0 or more, and finite")
    cap = 1.05 if cap is None else cap
    capacity(0, k, cap)  # raises here, before anything is read
    return _Rule(k, seed, cap, scoring, passes, float(lam))


def _place_chunks(edges: ChunkedEdges, rule: _Rule, progress: Progress) -> Iterator[np.ndarray]:
    k, limit = rule.k, capacity(edges.edges, rule.k, rule.cap)
    readings = _readings(edges, rule.passes + 3, progress)
    degree = count_degrees(next(readings), edges.vertices, edges.edges)
    cluster, volume = singletons(degree)
    for _ in range(rule.passes):
        for src, dst in next(readings):
            gather(src, dst, degree, cluster, volume, 2 * edges.edges / k)
    home, among_two = parts_of_clusters(volume, k)[cluster], None
    if rule.scoring == "linear":
        among_two = linear_rule(home, cluster, volume, k, rule.seed, limit)
    del cluster, volume
    placed = empty_placement(degree, k)
    for src, dst in next(readings):
        placed = same_part(src, dst, home, placed, limit)
    taken, order = np.zeros(k, np.int64), shuffle_parts(k, rule.seed)
    for src, dst in next(readings):
        parts = np.full(len(src), -1, np.int16)
        same_part_again(src, dst, home, taken, limit, parts)
        if among_two:
            placed = place_linear(src, dst, parts, placed, among_two)
        else:
            placed = place(src, dst, parts, placed, Rule(1.0, rule.lam, limit, False))
        yield order[parts]


def _readings(
    edges: ChunkedEdges, times: int, progress: Progress
) -> Iterator[Iterator[tuple[np.ndarray, np.ndarray]]]:
    """Yield the edges again and again, each chunk reported when it is done."""

    def one(before: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        done = before * edges.edges
        for src, dst in edges:
            yield src, dst
            done += len(src)
            if progress and len(src):
                progress(done / (times * edges.edges))

    yield from map(one, range(times))
