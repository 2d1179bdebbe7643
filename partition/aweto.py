"""Aweto: BiCut whose favourite vertices go to where most of their neighbours have their home
(Chen et al., JCST 2015).
"""

from __future__ import annotations

import numpy as np

from tux.partition.bicut import favourite_side
from tux.partition.capacity import capacity, spilled
from tux.partition.compiled import compiled
from tux.partition.ends import Progress, ends
from tux.partition.grouped import grouped
from tux.partition.hashing import by_hash
from tux.partition.least_loaded import grown, tournament

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
    """All edges of a favourite vertex u to the part p with the highest c(p) - sqrt(E(p)); parts
    (m,) int16.

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
    chosen = chosen_of(whole, home[other], home, np.zeros(k, np.int64), progress)
    return spilled(chosen[whole], k, limit)


def chosen_of(
    whole: np.ndarray,
    wanted: np.ndarray,
    home: np.ndarray,
    sent: np.ndarray,
    progress: Progress = None,
) -> np.ndarray:
    """The part (n,) int16 that each favourite vertex is sent to, in ascending order, when the parts
    have got `sent` (k,) int64 edges, to which theirs are added.

    Their edges: the vertex of each, `whole` (m,), and the hash of its other end, `wanted` (m,);
    `home` (n,): the hashes of the vertices.
    """
    n, k = len(home), len(sent)
    starts, wanted = grouped(whole, wanted, n)
    chosen, root = home.copy(), np.sqrt(sent.astype(np.float64))
    state = sent, root, np.zeros(k, np.int64), tournament(k, root)
    for lo in range(0, n, _CHUNK):
        hi = min(lo + _CHUNK, n)
        _choose(starts[lo : hi + 1], wanted, chosen[lo:hi], *state)
        if progress:
            progress(starts[hi] / max(len(wanted), 1))
    return chosen


@compiled
def _choose(starts, wanted, chosen, sent, root, count, winners):  # type: ignore[no-untyped-def]
    for v in range(len(chosen)):
        lo, hi = starts[v], starts[v + 1]
        if lo == hi:
            continue
        for j in range(lo, hi):
            count[wanted[j]] += 1
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
        sent[best] += hi - lo
        root[best] = np.sqrt(np.float64(sent[best]))
        grown(winners, root, best)
