"""Ginger: hybrid-cut whose low-degree targets go to where most of their sources went before them
(PowerLyra, EuroSys 2015).
"""

from __future__ import annotations

import math

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends
from tux.partition.common.grouped import group_by_key
from tux.partition.common.least_loaded import replay_matches, tournament
from tux.partition.common.pieces import place_pieces
from tux.partition.methods.hybrid import with_low_targets

_CHUNK = 1 << 18


def ginger(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    theta: float = 100,
) -> np.ndarray:
    """Place each edge in the home of its target where that has an in-degree of at most `theta`,
    else in the home of its source; parts (m,) int16.

    Targets of in-degree 1 <= d <= theta get their homes one by one, in ascending order, by Fennel's
    rule (Tsourakakis et al., WSDM 2014): the part p with the highest c(p) - 1.5 alpha sqrt(B(p)),
    the lowest number of several. c(p) counts the in-edges whose source was placed in p before, B(p)
    sums 1 + d n/m over the targets placed in p, alpha = sqrt(k) m / n^1.5, and n vertices have
    edges. All other vertices have the home ``hash(v) mod k``. In a bipartite graph no source is
    ever a target: there the rule only balances. Time O(m + n + k).
    """
    edges = ends(src, dst, bipartite)
    m, limit = len(edges.src), capacity(len(edges.src), k, cap)
    if not m:
        return np.empty(0, np.int16)
    starts, sources = group_by_key(edges.dst, edges.src, edges.vertices)
    low = np.diff(starts) <= theta
    n = np.count_nonzero(np.diff(starts) + np.bincount(edges.src, minlength=edges.vertices))
    # no power: its last bit differs between machines
    weight = 1.5 * (math.sqrt(k) * m / (n * math.sqrt(n)))
    home = np.full(edges.vertices, -1, np.int16)
    state = np.zeros(k, np.float64), np.zeros(k, np.float64), np.zeros(k, np.int64), tournament(k)
    for lo in range(0, edges.vertices, _CHUNK):
        hi = min(lo + _CHUNK, edges.vertices)
        _place(lo, starts[lo : hi + 1], low[lo:hi], sources, home, (weight, n / m), *state)
        if progress:
            progress(starts[hi] / m)
    home = np.where(home < 0, by_hash(np.arange(edges.vertices), k, seed), home)
    return limit_parts(place_pieces(with_low_targets(home, low), edges.src, edges.dst), k, limit)


@cached_njit
def _place(first, starts, low, sources, home, terms, load, cost, count, winners):  # type: ignore[no-untyped-def]
    weight, per_edge = terms
    for i in range(len(low)):
        lo, hi = starts[i], starts[i + 1]
        if lo == hi or not low[i]:
            continue
        for j in range(lo, hi):
            p = home[sources[j]]
            if p >= 0:
                count[p] += 1
        # Of the parts without a source only the least loaded can win, so the time does not depend
        # on k.
        best = winners[1]
        score = count[best] - cost[best]
        for j in range(lo, hi):
            p = home[sources[j]]
            if p >= 0 and count[p] > 0:
                here = count[p] - cost[p]
                if here > score or (here == score and p < best):
                    best, score = p, here
                count[p] = 0
        home[first + i] = best
        load[best] += 1 + (hi - lo) * per_edge  # the authors' code truncates this to an integer
        cost[best] = weight * np.sqrt(load[best])
        replay_matches(winners, cost, best)
