"""Edges one by one, each to the part with the highest score: the rule that HDRF, PowerGraph's
greedy and 2PS-HDRF share.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import hash_values
from tux.partition.common.capacity import capacity
from tux.partition.common.degrees import count_degrees
from tux.partition.common.ends import Progress, ends
from tux.partition.common.least_loaded import replay_matches, tournament
from tux.partition.common.presence import (
    Presence,
    enlarge,
    hold,
    least_common,
    least_of,
    presence,
    room,
)

_CHUNK = 1 << 20


class Placement(NamedTuple):
    """The state of a placement so far: `degree` (n,) of the vertices, the parts that hold them,
    `load` (k,) int64 in edges, and the parts with the least and the most of it.
    """

    degree: np.ndarray
    held: Presence
    load: np.ndarray
    winners: np.ndarray
    most: np.ndarray


class Rule(NamedTuple):
    """The rule of a score. That of part p is the sum over the ends x it holds of (1 + theta d(y) /
    (d(x) + d(y))) + lam (max - load[p]) / (1 + max - min).

    y is the other end, d the degree, so an end of low degree, which had better not be cut, counts
    more; max and min are of the loads. No part with `limit` edges gets more. `counted`: degrees are
    those so far, this edge included. Of equal scores the least loaded part has it, of these the one
    with the lowest number.
    """

    theta: float
    lam: float
    limit: int
    counted: bool


def empty_placement(degree: np.ndarray, k: int) -> Placement:
    """Return the state before the first edge; `degree` (n,) becomes part of it."""
    return Placement(
        degree,
        presence(len(degree), k),
        np.zeros(k, np.int64),
        tournament(k),
        np.zeros(1, np.int64),
    )


def shuffle_parts(k: int, seed: int) -> np.ndarray:
    """Return the k parts (k,) int16 in an order given by the seed, by which ties are broken."""
    return np.argsort(hash_values(np.arange(k), seed), kind="stable").astype(np.int16)


def place_by_score(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int,
    bipartite: bool,
    cap: float | None,
    progress: Progress,
    *,
    theta: float,
    lam: float,
    counted: bool,
) -> np.ndarray:
    """Place edges by a `Rule`; parts (m,) int16."""
    if not 0 <= lam < math.inf:
        raise ValueError(f"lam={lam}: the weight of the balance is 0 or more, and finite")
    edges = ends(src, dst, bipartite)
    m = len(edges.src)
    rule = Rule(theta, float(lam), capacity(m, k, cap), counted)
    known = [] if counted else [(edges.src, edges.dst)]
    degree = count_degrees(known, edges.vertices, m)
    placed, order, parts = (
        empty_placement(degree, k),
        shuffle_parts(k, seed),
        np.full(m, -1, np.int16),
    )
    for lo in range(0, m, _CHUNK):
        a, b, out = (x[lo : lo + _CHUNK] for x in (edges.src, edges.dst, parts))
        placed = place(a, b, out, placed, rule)
        out[:] = order[out]
        if progress:
            progress((lo + len(a)) / m)
    return parts


def place(
    src: np.ndarray, dst: np.ndarray, parts: np.ndarray, placed: Placement, rule: Rule
) -> Placement:
    """Give a part to each edge whose entry in `parts` (m,) int16 is negative; return the state
    after them.
    """
    return place_by(_place, src, dst, parts, placed, rule)


def place_by(
    kernel: Callable[..., int],
    src: np.ndarray,
    dst: np.ndarray,
    parts: np.ndarray,
    placed: Placement,
    rule: Any,
) -> Placement:
    """Place edges as `place` does by a rule's own kernel, which goes on until the pool of replicas
    has no room and returns the edge where that was.
    """
    at = 0
    while (at := kernel(src, dst, parts, at, placed, rule)) < len(src):
        placed = placed._replace(held=enlarge(placed.held, len(placed.load)))
    return placed


@cached_njit
def _place(src, dst, parts, at, placed, rule):  # type: ignore[no-untyped-def]
    """Place edges from `at` on, up to the one that is returned, for which there is no room."""
    degree, held, load, winners, top = placed
    first, length, number, word, used = held
    theta, lam, limit, counted = rule
    k, most = len(load), top[0]
    for i in range(at, len(src)):
        if parts[i] >= 0:
            continue
        if not room(word, used, k):
            at = i
            break
        u, v = src[i], dst[i]
        if counted:
            degree[u] += 1
            degree[v] += 1
        # Parts that hold the same ends of the edge differ in load alone, so of each kind only the
        # least loaded one can win: of those that hold both, of those that hold u, of those that
        # hold v (if one holds both, it has won already), and of all.
        least = np.int64(winners[1])
        scale = lam / np.float64(1 + most - load[least])
        spread = scale * (most - load[least])
        best, score = -1, -1.0
        part = least_common(first, length, number, word, u, v, load)
        if part >= 0 and load[part] < limit:
            best, score = part, 2 + theta + scale * (most - load[part])
        if score <= 1 + theta + spread:
            share = degree[v] / np.float64(np.int64(degree[u]) + degree[v])
            for end in range(2):
                part = least_of(first, length, number, word, v if end else u, load)
                if part >= 0 and load[part] < limit:
                    here = 1 + theta * ((1 - share) if end else share) + scale * (most - load[part])
                    if here > score or (
                        here == score
                        and (load[part] < load[best] or (load[part] == load[best] and part < best))
                    ):
                        best, score = part, here
            # The least loaded part of all has room, since the others' limit is not below the mean.
            if spread > score or (
                spread == score
                and (load[least] < load[best] or (load[least] == load[best] and least < best))
            ):
                best = least
        parts[i] = best
        load[best] += 1
        most = max(most, load[best])
        replay_matches(winners, load, best)
        hold(first, length, number, word, used, u, best, k)
        hold(first, length, number, word, used, v, best, k)
    else:
        at = len(src)
    top[0] = most
    return at
