"""Aweto: BiCut whose favourite vertices go to where most of their neighbours have their home
(Chen et al., JCST 2015).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends
from tux.partition.common.grouped import group_by_key
from tux.partition.common.least_loaded import replay_matches, tournament
from tux.partition.methods.bicut import favourite_side

_CHUNK = 1 << 18


def aweto(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    favourite: str = "auto",
) -> np.ndarray:
    """Place all edges of a favourite vertex u in the part p with the highest c(p) - sqrt(E(p));
    parts (m,) int16.

    c(p) counts the edges of u whose other end v has ``hash(v) mod k == p``, E(p) the edges that p
    has so far. Of several such parts, the home ``hash(u) mod k`` of u itself, else the lowest
    number. Vertices come in ascending order. Without `cap`, vertices of the favourite side
    ("source", "target", or "auto": the one with more vertices) have one replica each. Time and
    memory O(m + n + k).
    """
    edges = ends(src, dst, bipartite)
    limit = capacity(len(edges.src), k, cap)
    whole, other = (
        (edges.src, edges.dst)
        if favourite_side(edges, favourite) == "source"
        else (edges.dst, edges.src)
    )
    home = by_hash(np.arange(edges.vertices), k, seed)
    # One table E for all. The published loaders run in parallel, so each has its own for the
    # vertices whose home it is; k small tables see little of the imbalance: largest part 1.24
    # instead of 1.02 of the mean on a graph of users and items with k = 128, at 5 % more replicas.
    # A table of its own pays in replicas only where it gives up the balance (5.8 instead of 1.2,
    # ratings of films, k = 128).
    chosen = choose_parts(whole, home[other], home, np.zeros(k, np.int64), progress)
    return limit_parts(chosen[whole], k, limit)


def choose_parts(
    whole: np.ndarray,
    wanted: np.ndarray,
    home: np.ndarray,
    sent: np.ndarray,
    progress: Progress = None,
    times: np.ndarray | None = None,
) -> np.ndarray:
    """Choose the part (n,) int16 of each favourite vertex, in ascending order, when the parts have
    got `sent` (k,) int64 edges, to which theirs are added.

    Their edges: the vertex of each, `whole` (m,), and the hash of its other end, `wanted` (m,);
    `home` (n,): the hashes of the vertices. With `times` (m,) int32 each stands for so many edges,
    as in a `Tally`.
    """
    n, k = len(home), len(sent)
    starts, hashes = group_by_key(whole, wanted, n)
    often = np.empty(0, np.int32) if times is None else group_by_key(whole, times, n)[1]
    chosen, root = home.copy(), np.sqrt(sent.astype(np.float64))
    state = sent, root, np.zeros(k, np.int64), tournament(k, root)
    for lo in range(0, n, _CHUNK):
        hi = min(lo + _CHUNK, n)
        _choose(starts[lo : hi + 1], hashes, often, chosen[lo:hi], *state)
        if progress:
            progress(starts[hi] / max(len(hashes), 1))
    return chosen


class Tally(NamedTuple):
    """The numbers of edges of some vertices, one vertex after the other, to vertices of each hash
    that there is among their neighbours: `hashes` (c,) int16 and `times` (c,) int32; `lengths` (n,)
    int32: how many of these are of each vertex.
    """

    lengths: np.ndarray
    hashes: np.ndarray
    times: np.ndarray


def tally_hashes(whole: np.ndarray, wanted: np.ndarray, n: int, k: int) -> Tally:
    """Return the tally of n vertices, from the vertex of each edge (m,) and the hash of its other
    end (m,) int16: all that `choose_parts` needs to know of a share of the edges.
    """
    starts, members = group_by_key(whole, wanted, n)
    lengths, place = np.empty(n, np.int32), np.full(k, -1)
    kept = _tally(starts, members, place, lengths, members[:0], lengths[:0])
    tally = Tally(lengths, np.empty(kept, np.int16), np.empty(kept, np.int32))
    place[:] = -1
    _tally(starts, members, place, *tally)
    return tally


@cached_njit
def _tally(starts, wanted, place, lengths, hashes, times):  # type: ignore[no-untyped-def]
    """Write the tally; with empty `hashes`, only count the different ones of each vertex. Return
    how many there are of all; `place` has where a hash was last put.
    """
    fill, at = len(hashes) > 0, 0
    for v in range(len(lengths)):
        first = at
        for j in range(starts[v], starts[v + 1]):
            p = wanted[j]
            if place[p] < first:
                place[p] = at
                if fill:
                    hashes[at], times[at] = p, 0
                at += 1
            if fill:
                times[place[p]] += 1
        lengths[v] = at - first
    return at


@cached_njit
def _choose(starts, wanted, times, chosen, sent, root, count, winners):  # type: ignore[no-untyped-def]
    for v in range(len(chosen)):
        lo, hi = starts[v], starts[v + 1]
        if lo == hi:
            continue
        edges = hi - lo
        if len(times) == 0:
            for j in range(lo, hi):
                count[wanted[j]] += 1
        else:
            edges = 0
            for j in range(lo, hi):
                count[wanted[j]] += times[j]
                edges += times[j]
        # Of the parts that no neighbour has as home only the least loaded can win, so the time does
        # not depend on k.
        home, least = chosen[v], winners[1]
        best, score = home, count[home] - root[home]
        if count[least] - root[least] > score:
            best, score = least, count[least] - root[least]
        for j in range(lo, hi):
            p = wanted[j]
            if count[p] > 0:
                here = count[p] - root[p]
                if here > score or (here == score and best != home and p < best):
                    best, score = p, here
                count[p] = 0
        chosen[v] = best
        sent[best] += edges
        root[best] = np.sqrt(np.float64(sent[best]))
        replay_matches(winners, root, best)
