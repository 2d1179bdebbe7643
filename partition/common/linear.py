"""Edges one by one, each to one of the two parts of its ends' clusters: 2PS-L, in constant time
(Mayer et al., ICDE 2022).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.least_loaded import replay_matches
from tux.partition.common.presence import hold, holds, room
from tux.partition.common.scored import Placement, place_by

_BLOCK = 1 << 16


class LinearRule(NamedTuple):
    """The rule of 2PS-L: the part `home` (n,) int16 of each vertex's cluster, that `cluster` (n,)
    and the clusters' `volume` (n,).
    """

    home: np.ndarray
    cluster: np.ndarray
    volume: np.ndarray
    last_resort: np.ndarray  # (n,) int16: the hash of each vertex
    limit: int  # edges in a part


def linear_rule(
    home: np.ndarray, cluster: np.ndarray, volume: np.ndarray, k: int, seed: int, limit: int
) -> LinearRule:
    """Return the rule of 2PS-L with the hashes of vertices, which are made by blocks to save
    memory.
    """
    last_resort = np.empty_like(home)
    for lo in range(0, len(home), _BLOCK):
        hi = min(lo + _BLOCK, len(home))
        last_resort[lo:hi] = by_hash(np.arange(lo, hi), k, seed)
    return LinearRule(home, cluster, volume, last_resort, limit)


def place_linear(
    src: np.ndarray, dst: np.ndarray, parts: np.ndarray, placed: Placement, rule: LinearRule
) -> Placement:
    """Give a part to each edge whose entry in `parts` (m,) int16 is negative; return the state
    after them.
    """
    return place_by(_place, src, dst, parts, placed, rule)


@cached_njit
def _place(src, dst, parts, at, placed, rule):  # type: ignore[no-untyped-def]
    """Place edges from `at` on, up to the one that is returned, for which there is no room in the
    pool.
    """
    degree, held, load, winners, _ = placed
    first, length, number, word, used = held
    home, cluster, volume, last_resort, limit = rule
    k = len(load)
    for i in range(at, len(src)):
        if parts[i] >= 0:
            continue
        if not room(word, used, k):
            at = i
            break
        u, v = src[i], dst[i]
        volumes = np.float64(np.int64(volume[cluster[u]]) + volume[cluster[v]])
        share = degree[v] / np.float64(np.int64(degree[u]) + degree[v])
        best, score = np.int64(-1), -1.0
        for end in range(2):
            part = np.int64(home[v if end else u])
            if load[part] < limit:
                here = 0.0
                if holds(first, length, number, word, u, part):
                    here += 1 + share + (volume[cluster[u]] / volumes if home[u] == part else 0.0)
                if holds(first, length, number, word, v, part):
                    here += 2 - share + (volume[cluster[v]] / volumes if home[v] == part else 0.0)
                if here >= score:
                    best, score = part, here
        if best < 0:
            best = np.int64(last_resort[u if degree[u] >= degree[v] else v])
            if load[best] >= limit:
                best = np.int64(winners[1])
        parts[i] = best
        load[best] += 1
        replay_matches(winners, load, best)
        hold(first, length, number, word, used, u, best, k)
        hold(first, length, number, word, used, v, best, k)
    else:
        at = len(src)
    return at
