"""EBV: greedy on edges sorted by degree, which balances edges and vertices alike (Zhang et al.,
ICDCS 2021).
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.capacity import capacity
from tux.partition.common.degrees import count_degrees
from tux.partition.common.ends import Progress, ends
from tux.partition.common.grouped import group_by_key
from tux.partition.common.least_loaded import replay_matches, tournament
from tux.partition.common.presence import enlarge, hold, least_common, least_of, presence, room
from tux.partition.common.scored import shuffle_parts

_CHUNK = 1 << 20


def ebv(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place edges (u, v) by ascending d(u) + d(v), equal ones in the order given, each in the part
    p with the lowest score; parts (m,) int16.

        score(p) = [p not in A(u)] + [p not in A(v)] + load[p] / (m/k) + held[p] / (n/k)

    held[p] is how many vertices p holds so far, n how many have edges, d the degrees, a self-loop
    counting twice. Of equal scores the part with the lowest last two terms has it, of these the
    first in an order of the parts that the seed shuffles. The time of an edge grows with |A(u)| +
    |A(v)| and log(k). Memory O(n + m + k + sum |A(v)|).
    """
    edges = ends(src, dst, bipartite)
    m, limit = len(edges.src), capacity(len(edges.src), k, cap)
    degree = count_degrees([(edges.src, edges.dst)], edges.vertices, m)
    total = degree[edges.src] + degree[edges.dst]
    _, order = group_by_key(
        total,
        np.arange(m, dtype=np.int32 if m < 2**31 else np.int64),
        int(total.max(initial=0)) + 1,
    )
    each = k / max(m, 1), k / max(int(np.count_nonzero(degree)), 1)
    # A part's load, the vertices that it holds, and what these make its score.
    state = np.zeros(k, np.int64), np.zeros(k, np.int64), np.zeros(k, np.float64), tournament(k)
    held, parts = presence(edges.vertices, k), np.empty(m, np.int16)
    for lo in range(0, m, _CHUNK):
        some, at = order[lo : lo + _CHUNK], 0
        while (at := _place(edges.src, edges.dst, some, parts, at, held, state, each, limit)) < len(
            some
        ):
            held = enlarge(held, k)
        if progress:
            progress((lo + len(some)) / m)
    shuffled = shuffle_parts(k, seed)
    return shuffled[parts]


@cached_njit
def _place(src, dst, order, parts, at, held, state, each, limit):  # type: ignore[no-untyped-def]
    """Place the edges ``order[at:]`` up to the one for which there is no room; return its place in
    `order`.
    """
    first, length, number, word, used = held
    load, vertices, cost, winners = state
    per_edge, per_vertex = each
    k = len(load)
    for j in range(at, len(order)):
        if not room(word, used, k):
            at = j
            break
        i = order[j]
        u, v = src[i], dst[i]
        # As in `scored`: of the parts that hold the same ends only the one with the lowest cost can
        # win. Full ones cost infinitely much.
        best = np.int64(winners[1])
        score = 2 + cost[best]
        for kind in range(3):
            if kind == 0:
                part = least_of(first, length, number, word, u, cost)
            elif kind == 1:
                part = least_of(first, length, number, word, v, cost)
            else:
                part = least_common(first, length, number, word, u, v, cost)
            if part >= 0:
                here = cost[part] + (0 if kind == 2 else 1)
                if here < score or (
                    here == score
                    and (cost[part] < cost[best] or (cost[part] == cost[best] and part < best))
                ):
                    best, score = part, here
        parts[i] = best
        load[best] += 1
        new = hold(first, length, number, word, used, u, best, k)
        vertices[best] += new
        new = hold(first, length, number, word, used, v, best, k)
        vertices[best] += new
        cost[best] = (
            load[best] * per_edge + vertices[best] * per_vertex if load[best] < limit else np.inf
        )
        replay_matches(winners, cost, best)
    else:
        at = len(order)
    return at
