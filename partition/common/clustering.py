"""Vertices to parts by multilevel clustering: join neighbours into ever larger clusters, deal those
to the parts, refine on the way back.

After Meyerhenke, Sanders and Schulz, "Partitioning complex networks via size-constrained
clustering" (SEA 2014):

    join:    a vertex takes the label that most of its edges lead to, among labels whose weight
             leaves room; some rounds
    contract clusters to vertices, parallel edges to one with their number; join again, until 40 k
        are left or few disappear
    deal:    clusters by falling weight, each to the part with room that most of its edges lead to,
             else to the lightest
    refine:  from the coarsest level to the vertices, each takes the part that most of its edges
             lead to, if there is room

A vertex weighs the edges that follow it by the rule of `lower_degree.py`, so that parts of equal
weight get equal numbers of edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.adjacency import Adjacency
from tux.partition.common.ends import EdgeEnds
from tux.partition.common.grouped import group_by_key
from tux.partition.common.least_loaded import replay_matches, tournament
from tux.partition.common.lower_degree import count_lower_ends

_ROUNDS = 4
_ENOUGH = 40  # clusters for each part
_SLACK = 1.03  # weight of a part, in means


class _Level(NamedTuple):
    """The graph of one level. The neighbours of v are ``near[first[v] : first[v + 1]]`` over
    `times` edges each; v weighs `weight[v]` edges.
    """

    first: np.ndarray  # (n + 1,) int64
    near: np.ndarray  # (entries,) int32 or int64
    times: np.ndarray  # (entries,) the same
    weight: np.ndarray  # (n,) int64


@cached_njit
def _pull(level, order, label, total, most):  # type: ignore[no-untyped-def]
    """Run one round: each vertex goes to the label that most of its edges lead to, if that label's
    weight stays within `most`. Return the number of moves.
    """
    first, near, times, weight = level.first, level.near, level.times, level.weight
    edges = np.zeros(len(total), np.int64)
    seen = np.empty(len(total), np.int64)
    moved = 0
    for v in order:
        own, labels = label[v], 0
        for j in range(first[v], first[v + 1]):
            other = label[near[j]]
            if edges[other] == 0:
                seen[labels] = other
                labels += 1
            edges[other] += times[j]
        best = own
        for other in seen[:labels]:
            if total[other] + weight[v] <= most or other == own:
                if edges[other] > edges[best] or (total[own] > most and best == own):
                    best = other
        if best != own:
            total[own] -= weight[v]
            total[best] += weight[v]
            label[v] = best
            moved += 1
        for other in seen[:labels]:
            edges[other] = 0
    return moved


@cached_njit
def _contract(level, members, starts, label, near, times, first):  # type: ignore[no-untyped-def]
    """Fill `near`, `times`, `first` with the edges between clusters; return how many entries there
    are.
    """
    clusters, end = len(starts) - 1, 0
    place = np.full(clusters, -1, np.int64)
    for c in range(clusters):
        start = end
        for v in members[starts[c] : starts[c + 1]]:
            for j in range(level.first[v], level.first[v + 1]):
                other = label[level.near[j]]
                if other == c:
                    continue
                if place[other] < start:
                    place[other] = end
                    near[end], times[end] = other, 0
                    end += 1
                times[place[other]] += level.times[j]
        first[c + 1] = end
    return end


@cached_njit
def _deal(level, order, label, total, most, winners):  # type: ignore[no-untyped-def]
    edges = np.zeros(len(total), np.int64)
    for v in order:
        for j in range(level.first[v], level.first[v + 1]):
            if label[level.near[j]] >= 0:
                edges[label[level.near[j]]] += level.times[j]
        best = winners[1]
        for j in range(level.first[v], level.first[v + 1]):
            p = label[level.near[j]]
            if p >= 0 and total[p] + level.weight[v] <= most and edges[p] > edges[best]:
                best = p
        label[v] = best
        total[best] += level.weight[v]
        replay_matches(winners, total, best)
        for j in range(level.first[v], level.first[v + 1]):
            if label[level.near[j]] >= 0:
                edges[label[level.near[j]]] = 0


def _coarsen(level: _Level, most: float, rounds: int) -> tuple[_Level, np.ndarray]:
    """Return the level of clusters up to weight `most`, and the cluster of each vertex."""
    n = len(level.weight)
    label, total = np.arange(n), level.weight.copy()
    order = np.argsort(np.diff(level.first), kind="stable")
    for _ in range(rounds):
        if _pull(level, order, label, total, most) < n // 100:
            break
    _, label = np.unique(label, return_inverse=True)
    clusters = int(label.max(initial=-1)) + 1
    starts, members = group_by_key(label, np.arange(n), clusters)
    near, times, first = (
        np.empty_like(level.near),
        np.empty_like(level.times),
        np.zeros(clusters + 1, np.int64),
    )
    end = _contract(level, members, starts, label, near, times, first)
    weight = np.bincount(label, level.weight, clusters).astype(np.int64)
    return _Level(first, near[:end].copy(), times[:end].copy(), weight), label


def cluster_vertices(edges: EdgeEnds, lists: Adjacency, k: int) -> np.ndarray:
    """Assign a part to each vertex (n,) int64 with about equal numbers of edges by the lower-degree
    rule, and few edges between parts.
    """
    weight = np.zeros(edges.vertices, np.int64)
    count_lower_ends(edges.src, edges.dst, lists.degree, weight)
    level = _Level(
        lists.first, lists.entry[:, 0].copy(), np.ones(len(lists.entry), lists.entry.dtype), weight
    )
    mean = weight.sum() / k
    levels, labels = [level], []
    while len(level.weight) > _ENOUGH * k:
        level, label = _coarsen(level, max(mean / 8, 1), _ROUNDS)
        labels.append(label)
        levels.append(level)
        if len(level.weight) > 0.9 * len(levels[-2].weight):
            break
    home, total = np.full(len(level.weight), -1), np.zeros(k, np.int64)
    _deal(
        level, np.argsort(-level.weight, kind="stable"), home, total, _SLACK * mean, tournament(k)
    )
    while True:
        order = np.argsort(np.diff(level.first), kind="stable")
        for _ in range(_ROUNDS):
            if _pull(level, order, home, total, _SLACK * mean) < len(order) // 200:
                break
        if not labels:
            return home
        levels.pop()
        level, home = levels[-1], home[labels.pop()]
