"""Edges for which growth had no rule: each to the part with room that holds most of its ends."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.ends import EdgeEnds
from tux.partition.common.grouped import group_by_key
from tux.partition.common.least_loaded import replay_matches, tournament


@cached_njit
def _distinct(starts, held, size, k):  # type: ignore[no-untyped-def]
    """Leave each part once among the parts of a vertex's edges, in the order of the edges; there
    are then size[v] of them.
    """
    seen = np.full(k, -1, np.int64)
    for v in range(len(size)):
        for j in range(starts[v], starts[v + 1]):
            p = held[j]
            if p >= 0 and seen[p] != v:
                seen[p] = v
                held[starts[v] + size[v]] = p
                size[v] += 1


@cached_njit
def _place(pairs, chosen, starts, held, size, load, limit, winners):  # type: ignore[no-untyped-def]
    seen = np.full(len(load), -1, np.int64)  # the last edge whose first end was found in a part
    for i in range(len(pairs)):
        best, most = winners[1], 0
        for side in range(2):
            v = pairs[i, side]
            for p in held[starts[v] : starts[v] + size[v]]:
                there = 2 if seen[p] == i else 1
                if side == 0:
                    seen[p], there = i, 1
                fewer = load[p] < load[best] or (load[p] == load[best] and p < best)
                if load[p] < limit and (there > most or (there == most and fewer)):
                    best, most = p, there
        chosen[i] = best
        load[best] += 1
        replay_matches(winners, load, best)
        for v in pairs[i]:
            if not (held[starts[v] : starts[v] + size[v]] == best).any():
                held[starts[v] + size[v]] = best
                size[v] += 1


def place(edges: EdgeEnds, parts: np.ndarray, left: np.ndarray, k: int, limit: int) -> None:
    """Choose `parts` (m,) anew for the edges `left`, in their order, so that none exceeds `limit`;
    k limit >= m.

    Among parts with room, those that hold both ends come first, then those that hold one, then any;
    of equals the one with fewest edges, then the first. Memory is linear in the edges of the
    vertices concerned.
    """
    parts[left] = -1
    wanted = np.zeros(edges.vertices, bool)
    wanted[edges.src[left]] = wanted[edges.dst[left]] = True
    number = np.cumsum(wanted) - 1
    sides = [
        (side[rows], parts[rows])
        for side in (edges.src, edges.dst)
        for rows in [np.flatnonzero(wanted[side])]
    ]
    keys = np.concatenate([number[vertices] for vertices, _ in sides])
    starts, held = group_by_key(
        keys, np.concatenate([those for _, those in sides]), int(wanted.sum())
    )
    size = np.zeros(len(starts) - 1, np.int64)
    _distinct(starts, held, size, k)
    load, winners = np.zeros(k, np.int64), tournament(k)
    for p, taken in enumerate(np.bincount(parts[parts >= 0], minlength=k)):
        load[p] = taken
        replay_matches(winners, load, p)
    pairs, chosen = (
        np.stack([number[edges.src[left]], number[edges.dst[left]]], 1),
        np.empty(len(left), np.int16),
    )
    _place(pairs, chosen, starts, held, size, load, limit, winners)
    parts[left] = chosen
