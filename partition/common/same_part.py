"""Edges whose ends' clusters belong to one part go there, while it has room: the first reading
of 2PS's second phase.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.least_loaded import replay_matches
from tux.partition.common.presence import enlarge, hold, room
from tux.partition.common.scored import Placement


def same_part(
    src: np.ndarray, dst: np.ndarray, home: np.ndarray, placed: Placement, limit: int
) -> Placement:
    """Place those of these edges with ``home[u] == home[v]`` (n,) that find less than `limit` edges
    there; return the state after them.
    """
    at = 0
    while (at := _same(src, dst, home, at, placed, limit)) < len(src):
        placed = placed._replace(held=enlarge(placed.held, len(placed.load)))
    return placed


@cached_njit
def _same(src, dst, home, at, placed, limit):  # type: ignore[no-untyped-def]
    """Place edges from `at` on, up to the one that is returned, for which there is no room in the
    pool.
    """
    _, held, load, winners, most = placed
    first, length, number, word, used = held
    k = len(load)
    for i in range(at, len(src)):
        u, v = src[i], dst[i]
        part = np.int64(home[u])
        if part != home[v] or load[part] >= limit:
            continue
        if not room(word, used, k):
            at = i
            break
        load[part] += 1
        most[0] = max(most[0], load[part])
        replay_matches(winners, load, part)
        hold(first, length, number, word, used, u, part, k)
        hold(first, length, number, word, used, v, part, k)
    else:
        at = len(src)
    return at


@cached_njit
def same_part_again(src, dst, home, taken, limit, parts):  # type: ignore[no-untyped-def]
    """Find out once more which edges `same_part` has placed, rather than keep that: into `parts`,
    counted in `taken` (k,).
    """
    for i in range(len(src)):
        part = home[src[i]]
        if part == home[dst[i]] and taken[part] < limit:
            parts[i] = part
            taken[part] += 1
