"""Groups of vertices of one type, such as features, that are neighbours in the order of vertices:
see `tux.graph.orders.seeded_order`. Loaders read shares of the file of groups.

The groups of the file get their ranks. Each row goes to the owner of its vertex. Groups of which a
vertex is known are counted, behind them the vertices without a group; each of these leads its
vertices to a place among all, by a permutation of which each loader has a range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.ids import MAX_VERTICES, Ids
from tux.base.errors import MustReadWhole
from tux.base.random import draws, key
from tux.base.text import plural_noun
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.kinds import in_kind, kind_of, pack_ids, signs, unpack_ids
from tux.parallel_load.algorithm.plan import GroupColumns, LoadingPlan
from tux.parallel_load.algorithm.rare import ranges_of
from tux.parallel_load.algorithm.rounds import Messages, Rounds, bounds_of, exchange_numbers

GROUP_ROUNDS = 4
"""The rounds of `rank_groups`."""
LEAD_ROUNDS = 6
"""The rounds of `lead_vertices`."""


@dataclass
class GroupRows:
    """Rows of a share of the file, each of another vertex, ascending: their ids (n,), and the rank
    of the group of each among all `groups` of the file. `slices`: by owner, the rows whose vertices
    are in its range.
    """

    values: np.ndarray
    rank: np.ndarray
    groups: int
    slices: Sequence[slice] = ()

    def convert(self, kind: np.dtype, name: str) -> None:
        """Convert the ids to the kind of those of the data, of vertices `name`. Raise MustReadWhole
        for texts, if these are numbers.
        """
        if self.values.dtype.kind == "T" and kind != STRING:
            raise read_groups_whole(name, "some are texts")
        self.values, places = in_kind(self.values, kind)
        if places is not None:
            self.rank[places] = self.rank.copy()

    def pack(self, outbox: Messages) -> None:
        """Add to the message for each owner the rows whose vertices it has. They are given up."""
        for message, own in zip(outbox, self.slices, strict=True):
            message += [*pack_ids(self.values[own]), self.rank[own]]
        self.values, self.rank = self.values[:0], self.rank[:0]


class NamedIds(NamedTuple):
    """The groups of the ids (n,) of a range: the rank of each among all `groups` of the file, -1
    for those without a group. `rows` of the file, each of another vertex, are about vertices of
    this range, and are `unknown`.
    """

    rank: np.ndarray
    groups: int
    rows: int
    unknown: int


class Leads(NamedTuple):
    """The place of the group (n,) of each id of a range, among so many `places`."""

    lead: np.ndarray
    places: int


class NamedCounts(NamedTuple):
    """The number of vertices that the file names, and of those that are `unknown`."""

    rows: int = 0
    unknown: int = 0


def read_groups_whole(name: str, why: str) -> MustReadWhole:
    """Return the error about a file of groups of vertices `name` that one process must read."""
    return MustReadWhole(f"the groups of {plural_noun(name)} are read whole: {why}")


def rank_groups(loaders: int, columns: GroupColumns, name: str) -> Rounds[GroupRows]:
    """Return the rows of a share of the file of groups of vertices `name`, with ranks of groups.
    Raise MustReadWhole for a vertex in two groups.
    """
    vertices, codes = Ids.of(columns.vertex)
    groups, group = Ids.of(columns.group)
    rank, count = yield from _rank_ids(loaders, groups.values)
    of_vertex = np.empty(len(vertices), np.int64)
    of_vertex[codes] = rank[group]
    if (of_vertex[codes] != rank[group]).any():
        raise read_groups_whole(name, "some vertex is in two")
    return GroupRows(vertices.values, of_vertex, count)


def _rank_ids(loaders: int, ids: np.ndarray) -> Rounds[tuple[np.ndarray, int]]:
    """Return the rank of each of a share's ascending ids (n,) among those of all shares, and how
    many these are.
    """
    told = yield from exchange_numbers(loaders, np.array(signs(ids)))
    kind = kind_of(told.astype(bool))
    values, places = in_kind(ids, kind)
    slices = yield from ranges_of(loaders, values)
    feeds = columns_by_sender((yield [pack_ids(values[own]) for own in slices]))
    merged, at = Ids.over([unpack_ids(feed, kind) for feed in feeds])
    feeds = columns_by_sender((yield [[np.array([len(merged)]), each] for each in at]))
    rank, count = _join_ranks(feeds, [own.stop - own.start for own in slices])
    return rank if places is None else rank[places], count


def _join_ranks(feeds: Sequence[MessageColumns], lengths: Sequence[int]) -> tuple[np.ndarray, int]:
    """Return the ranks, among all, of what owners were asked for, of each so many, and how many
    there are in all: an owner has told how many it has, and ranks among these.
    """
    ranks, count = [np.empty(0, np.int64)], 0
    for feed, length in zip(feeds, lengths, strict=True):
        size = feed.number(MAX_VERTICES + 1)
        ranks.append(count + feed.numbers(length, below=size))
        count += size
    return np.concatenate(ranks), count


def take_rows(
    feeds: Sequence[MessageColumns], ids: Ids, kind: np.dtype, own: GroupRows | None, name: str
) -> NamedIds | None:
    """Return the groups of the `ids` of a range, of vertices `name`, from the rows that loaders
    have sent; None if no file names groups of them, so that there are no `own` rows. Raise
    MustReadWhole for a vertex in two groups.
    """
    if own is None:
        return None
    sent = [_read_rows(feed, kind, own.groups) for feed in feeds]
    vertices, places = Ids.over([values for values, _ in sent])
    rank = np.full(len(vertices), -1, np.int64)
    for at, (_, ranks) in zip(places, sent, strict=True):
        if ((rank[at] >= 0) & (rank[at] != ranks)).any():
            raise read_groups_whole(name, "some vertex is in two")
        rank[at] = ranks
    known = ids.encode(vertices.values)
    out = np.full(len(ids), -1, np.int64)
    out[known[known >= 0]] = rank[known >= 0]
    return NamedIds(out, own.groups, len(vertices), int(np.count_nonzero(known < 0)))


def _read_rows(feed: MessageColumns, kind: np.dtype, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Read rows of the file: ids of vertices, and the rank of the group of each."""
    values = unpack_ids(feed, kind)
    return values, feed.numbers(len(values), below=groups)


def lead_vertices(plan: LoadingPlan, me: int, own: NamedIds) -> Rounds[tuple[Leads, NamedCounts]]:
    """Return the place to which each vertex of a range is led by its group, or by itself without
    one, and what the file names. Raise MustReadWhole if no vertex of the file is known.
    """
    alone = own.rank < 0
    used = np.unique(own.rank[~alone])
    counts = np.array([np.count_nonzero(alone), own.rows, own.unknown])
    ranks, groups, told = yield from _rank_used(plan.loaders, me, used, own.groups, counts)
    if not groups:
        raise read_groups_whole(plan.grouped, "no vertex of the file is one of the data")
    number = np.empty(len(alone), np.int64)
    number[~alone] = ranks[np.searchsorted(used, own.rank[~alone])]
    number[alone] = groups + told[:me, 0].sum() + np.arange(counts[0])
    places = groups + int(told[:, 0].sum())
    stream = key(plan.seed, "groups", plan.types.index(plan.grouped))
    lead = yield from permute(plan.loaders, me, number, places, stream)
    return Leads(lead, places), NamedCounts(*told[:, 1:].sum(axis=0).tolist())


def _rank_used(
    loaders: int, me: int, used: np.ndarray, groups: int, counts: np.ndarray
) -> Rounds[tuple[np.ndarray, int, np.ndarray]]:
    """Return the rank of each of the groups (n,) that a loader has `used`, of so many of the file,
    among those that some loader has; the number of these; and three `counts` of all loaders (n, 3).
    """
    bounds = [groups * at // loaders for at in range(loaders + 1)]
    to = np.split(used, np.searchsorted(used, bounds[1:-1]))
    feeds = columns_by_sender((yield [[counts, each] for each in to]))
    told = np.stack([feed.numbers(3) for feed in feeds])
    sent = [feed.numbers(least=bounds[me], below=bounds[me + 1]) for feed in feeds]
    here = np.unique(np.concatenate(sent))
    answers = [[np.array([len(here)]), np.searchsorted(here, each)] for each in sent]
    feeds = columns_by_sender((yield answers))
    return *_join_ranks(feeds, [*map(len, to)]), told


def permute(
    loaders: int, me: int, numbers: np.ndarray, count: int, stream: np.uint64
) -> Rounds[np.ndarray]:
    """Return the entries at some `numbers` (n,) of the permutation of `count` elements that
    `tux.base.random.permutation` draws from a stream.
    """
    elements = yield from _sort_elements(loaders, me, count, stream)
    bounds = bounds_of((yield from exchange_numbers(loaders, [len(elements)])).ravel())
    asked, places = np.unique(numbers, return_inverse=True)
    to = np.split(asked, np.searchsorted(asked, bounds[1:-1]))
    feeds = columns_by_sender((yield [[each] for each in to]))
    here = {"least": int(bounds[me]), "below": int(bounds[me + 1])}
    answers = [[elements[feed.numbers(**here) - here["least"]]] for feed in feeds]
    feeds = columns_by_sender((yield answers))
    entries = [feed.numbers(len(each), below=count) for feed, each in zip(feeds, to, strict=True)]
    return np.concatenate(entries)[places]


def _sort_elements(loaders: int, me: int, count: int, stream: np.uint64) -> Rounds[np.ndarray]:
    """Return the elements, of `count`, whose numbers of a stream are in this loader's range, in the
    order of these numbers.
    """
    mine = np.arange(count * me // loaders, count * (me + 1) // loaders)
    draw = draws(stream, mine)
    # numbers below 2^64 / n to the first of n, and so on
    whose = ((draw >> np.uint64(32)) * np.uint64(loaders)) >> np.uint64(32)
    outbox = [[draw[whose == to], mine[whose == to]] for to in range(loaders)]
    pairs = [_read_draws(feed, count) for feed in columns_by_sender((yield outbox))]
    draw, elements = (np.concatenate(each) for each in zip(*pairs, strict=True))
    return elements[np.lexsort((elements, draw))]


def _read_draws(feed: MessageColumns, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Read elements of a permutation of `count`, and the random number of each."""
    draw = feed.column("u")
    return draw, feed.numbers(len(draw), below=count)
