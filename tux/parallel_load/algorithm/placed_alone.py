"""The edges of one type that a partitioner places alone: what all loaders must know of them before,
and of their parts afterwards, so that edges of other types go beside them.

Each loader owns a range of the indices of each vertex type. The owner of a vertex is told in which
parts it has placed edges, and how many; it tells them to all shares that have the vertex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.id_ranges import Sizes
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import Message, Messages, Rounds, exchange_numbers
from tux.partition.beside import with_homes
from tux.partition.replicas import Replicas

ALONE_ROUNDS = 4
"""Rounds that `sizes_alone` and `exchange_replicas` take."""


class IndexOwners(NamedTuple):
    """The ranges of the indices of a vertex type that loaders own, about equal: their bounds
    (loaders + 1,).
    """

    bounds: list[int]

    @staticmethod
    def of(share: NumberedShare, kind: str, loaders: int) -> IndexOwners:
        """Return the owners of a vertex type."""
        n = share.sizes[kind].count
        return IndexOwners([at * n // loaders for at in range(loaders + 1)])

    def range_of(self, loader: int) -> range:
        """Return the indices that a loader owns."""
        return range(*self.bounds[loader : loader + 2])

    def slices_of(self, vertices: np.ndarray) -> list[slice]:
        """Return by owner the slice of these ascending indices that is in its range."""
        cuts = np.searchsorted(vertices, self.bounds)
        return [slice(lo, hi) for lo, hi in zip(cuts[:-1], cuts[1:], strict=True)]


def sizes_alone(
    plan: LoadingPlan, me: int, share: NumberedShare
) -> Rounds[tuple[dict[str, Sizes], int]]:
    """Return the sizes of the vertex types of the one edge type of a share, with its edges alone,
    and how many edges it has in all. The degrees of the share are those of this type.
    """
    feeds = columns_by_sender((yield _tell_vertices(plan, share)))
    mine = [[len(share.codes[""][0]), 0]]
    for kind in share.types:
        range_here = IndexOwners.of(share, kind, plan.loaders).range_of(me)
        mine += [_count_seen(feeds, range_here) for _ in range(2)]
    told = yield from exchange_numbers(plan.loaders, np.array(mine))
    present, largest = told[:, :, 0].sum(axis=0), told[:, :, 1].max(axis=0)
    sides = [slice(1 + 2 * at, 3 + 2 * at) for at in range(len(share.types))]
    return {
        kind: replace(share.sizes[kind], present=present[own], largest=largest[own])
        for kind, own in zip(share.types, sides, strict=True)
    }, int(present[0])


def _tell_vertices(plan: LoadingPlan, share: NumberedShare) -> Messages:
    """Return for each owner the vertices of its ranges that have edges, on either side."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for kind, local in share.types.items():
        ranges = IndexOwners.of(share, kind, plan.loaders)
        for counts in plan.union_degrees(kind, local.degrees):
            there = local.index[counts > 0]
            for message, own in zip(outbox, ranges.slices_of(there), strict=True):
                message.append(there[own])
    return outbox


def _count_seen(feeds: Sequence[MessageColumns], own: range) -> list[int]:
    """Count the vertices of a range that any share tells, and return one more than the largest of
    their indices too.
    """
    seen = np.zeros(len(own), np.bool_)
    for feed in feeds:
        seen[feed.numbers(least=own.start, below=own.stop) - own.start] = True
    (at,) = np.nonzero(seen)
    return [len(at), own.start + int(at[-1]) + 1 if len(at) else 0]


def exchange_replicas(
    plan: LoadingPlan, me: int, share: NumberedShare, parts: np.ndarray
) -> Rounds[dict[str, Replicas]]:
    """Return the replicas of a share's vertices under the `parts` of all edges of its one type, of
    which those of this share are given; with a home for each vertex that has none.
    """
    owners = {kind: IndexOwners.of(share, kind, plan.loaders) for kind in share.types}
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for kind, ranges in owners.items():
        _tell_replicas(plan, share, kind, parts, ranges, outbox)
    feeds = columns_by_sender((yield outbox))
    outbox = [[] for _ in range(plan.loaders)]
    for ranges in owners.values():
        _answer(plan, feeds, ranges.range_of(me), outbox)
    feeds = columns_by_sender((yield outbox))
    return {
        kind: _read_replicas(plan, feeds, ranges.slices_of(share.types[kind].index))
        for kind, ranges in owners.items()
    }


def _tell_replicas(
    plan: LoadingPlan,
    share: NumberedShare,
    kind: str,
    parts: np.ndarray,
    ranges: IndexOwners,
    outbox: Messages,
) -> None:
    """Add to each owner's message the replicas of vertices of a type under the edges of this share,
    and the vertices of which the share must know all replicas.
    """
    index = share.types[kind].index
    vertex, part, count = _own_replicas(plan, share, kind, parts)
    vertex = index[vertex]
    slices = zip(ranges.slices_of(vertex), ranges.slices_of(index), strict=True)
    for message, (own, asked) in zip(outbox, slices, strict=True):
        message += [vertex[own], part[own], count[own], index[asked]]


def _own_replicas(
    plan: LoadingPlan, share: NumberedShare, kind: str, parts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the replicas of vertices of a type under the edges of this share: the place of each
    vertex in the share, ascending, its part, and how many edges it has there, a loop once.
    """
    (src, dst), keys = share.codes[""], []
    for side, column in enumerate((src, dst)):
        if plan.ends[side] == kind:
            own = column.astype(np.int64) * plan.parts + parts
            is_second = side == 1 and plan.ends[0] == kind
            keys.append(own[src != dst] if is_second else own)
    found, count = np.unique(np.concatenate(keys), return_counts=True)
    return found // plan.parts, found % plan.parts, count


def _answer(
    plan: LoadingPlan, feeds: Sequence[MessageColumns], own: range, outbox: Messages
) -> None:
    """Add to each share's message the replicas of the vertices that it asks for, of the range that
    this loader owns, when all shares have told theirs.
    """
    told, asked = [], []
    for feed in feeds:
        vertex = feed.numbers(least=own.start, below=own.stop) - own.start
        part = feed.numbers(len(vertex), below=plan.parts)
        key = vertex.astype(np.int64) * plan.parts + part
        told.append([key, feed.numbers(len(vertex))])
        asked.append(feed.numbers(least=own.start, below=own.stop) - own.start)
    held = _merge_replicas(plan, told, own)
    for message, vertices in zip(outbox, asked, strict=True):
        many = held.counts[vertices]
        begin = held.first[vertices] - np.cumsum(many) + many
        places = np.repeat(begin, many) + np.arange(many.sum())
        message += [many, held.part[places], held.edges[places]]


def _merge_replicas(plan: LoadingPlan, told: Sequence[Message], own: range) -> Replicas:
    """Merge the replicas of a range of vertices that shares have told, with a home for each vertex
    that has none.
    """
    keys, counts = (np.concatenate(each) for each in zip(*told, strict=True))
    found, at = np.unique(keys, return_inverse=True)
    edges = np.zeros(len(found), np.int64)
    np.add.at(edges, at, counts)
    vertex, part = np.divmod(found, plan.parts)
    first = np.searchsorted(vertex, np.arange(len(own) + 1))
    return with_homes(
        Replicas(first, part.astype(np.int16), edges), plan.parts, plan.seed, own.start
    )


def _read_replicas(
    plan: LoadingPlan, feeds: Sequence[MessageColumns], slices: Sequence[slice]
) -> Replicas:
    """Read what the owners tell of the vertices of a share, which are in these slices."""
    told: list[Message] = []
    for feed, own in zip(feeds, slices, strict=True):
        many = feed.numbers(own.stop - own.start)
        total = int(many.sum())
        told.append([many, feed.numbers(total, below=plan.parts), feed.numbers(total)])
    many, part, edges = (np.concatenate(each) for each in zip(*told, strict=True))
    first = np.concatenate([[0], np.cumsum(many)])
    return Replicas(first, part.astype(np.int16), edges.astype(np.int32))
