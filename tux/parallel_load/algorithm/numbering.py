"""The numbers of vertices, as one process gives them: the index of an id is its rank among all ids
of its type in ascending order, its position that in the type's seeded order.

Each loader owns a range of the ids and a range of the positions of each type. An owner is told the
ids of a share once, in ascending order, and answers with numbers in that order: no id travels
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from tux.arrays.arrow import Column, ColumnPieces
from tux.arrays.ids import MAX_VERTICES, Ids
from tux.arrays.lookup import look_up
from tux.base.errors import DataError
from tux.base.random import draws
from tux.graph.orders import order_key
from tux.graph.sorting import count_keys
from tux.parallel_load.algorithm.columns import BadColumns, MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.kinds import in_kind, kind_of, pack_ids, signs, unpack_ids
from tux.parallel_load.algorithm.plan import ArrayKeeper, InputShare, LoadingPlan
from tux.parallel_load.algorithm.rounds import (
    Message,
    Messages,
    Rounds,
    bounds_of,
    exchange_numbers,
    tell_all,
)
from tux.parallel_load.algorithm.splitters import ranges, sample_ids, splitters

NONE = np.empty(0, np.int32)
DEGREES = 1 << 31
"""A number that no degree reaches: they are int32."""


@dataclass
class ShareVertices:
    """The vertices of one type in a share, ascending by id. `degrees`: edges at either end of the
    graph, in this share until the owners have answered, then in all; 0 at an end of another type.
    """

    values: np.ndarray
    degrees: tuple[np.ndarray, np.ndarray]
    index: np.ndarray
    position: np.ndarray


@dataclass
class Sizes:
    """The sizes of one type, which all loaders know: the bounds of their ranges of indices and of
    positions, (n + 1,) each; and of either end the vertices that have edges there, and one more
    than the largest index of these.
    """

    indices: np.ndarray
    positions: np.ndarray
    present: np.ndarray
    largest: np.ndarray

    @property
    def count(self) -> int:
        """All vertices of the type."""
        return int(self.indices[-1])


@dataclass
class NumberedShare:
    """A share whose ids are numbers: `codes` (m,) of either end are places in the `types`."""

    codes: tuple[np.ndarray, np.ndarray]
    types: dict[str, ShareVertices]
    sizes: dict[str, Sizes]


@dataclass
class _Range:
    """The ids of one type that a loader owns: of each share, the place of each of its ids there."""

    places: list[np.ndarray]
    degrees: tuple[np.ndarray, np.ndarray]


def number_vertices(
    plan: LoadingPlan, me: int, share: InputShare, keep: ArrayKeeper
) -> Rounds[NumberedShare]:
    """Number the vertices of a share; `share` is emptied. Keep the ranges of ids, of the order and
    of the degrees that this loader owns.
    """
    types, codes = _distinct(plan, share)
    told_signs = np.array([signs(types[name].values) for name in plan.types])
    known = yield from exchange_numbers(plan.loaders, told_signs)
    for at, name in enumerate(plan.types):
        kind = kind_of(known[:, at].astype(bool))
        codes = _in_kind(plan, name, types[name], kind, codes)
    slices = yield from _ranges(plan, types)
    owned = yield from _exchange_ids(plan, types, slices, keep)
    sizes = yield from _sizes(plan, owned)
    positions = yield from _positions(plan, me, owned, sizes, keep)
    yield from _exchange_answers(plan, me, types, slices, owned, sizes, positions)
    return NumberedShare(codes, types, sizes)


def _distinct(
    plan: LoadingPlan, share: InputShare
) -> tuple[dict[str, ShareVertices], tuple[np.ndarray, np.ndarray]]:
    """Return the distinct ids of each type, and each row's place among them, in arrays that are
    nobody else's. A column of ids is given up when it is its turn.
    """
    columns: list[Column | ColumnPieces] = [share.src, share.dst]
    share.src, share.dst = NONE, NONE
    types, codes = {}, [NONE] * 2
    for name in plan.types:
        sides = [side for side in (0, 1) if plan.ends[side] == name]
        further = [share.vertices[name]] if name in share.vertices else []
        ids, found = Ids.over(chain((_take_column(columns, side) for side in sides), further))
        degrees = [np.zeros(len(ids), np.int32) for _ in range(2)]
        for side, places in zip(sides, found, strict=False):
            codes[side] = places
            degrees[side] = count_keys(places, len(ids)).astype(np.int32)
        types[name] = ShareVertices(ids.values, (degrees[0], degrees[1]), NONE, NONE)
    return types, (codes[0], codes[1])


def _take_column(columns: list[Column | ColumnPieces], side: int) -> Column | ColumnPieces:
    """Remove the ids at an end from the list, and return them."""
    column, columns[side] = columns[side], NONE
    return column


def _in_kind(
    plan: LoadingPlan,
    name: str,
    local: ShareVertices,
    kind: np.dtype,
    codes: tuple[np.ndarray, np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Give the ids of a type their common kind; return the codes of either end as they are then."""
    local.values, places = in_kind(local.values, kind)
    if places is None:
        return codes
    for counts in local.degrees:
        counts[places] = counts.copy()
    first, second = (
        look_up(places, each, each) if plan.ends[side] == name else each
        for side, each in enumerate(codes)
    )
    return first, second


def _ranges(plan: LoadingPlan, types: dict[str, ShareVertices]) -> Rounds[dict[str, list[slice]]]:
    """Return by type and owner the slice of this share's ids that is in the owner's range."""
    message: Message = []
    for name in plan.types:
        sample, weight = sample_ids(types[name].values, plan.loaders)
        message += [*pack_ids(sample), np.array([weight])]
    got = yield from tell_all(plan.loaders, message)
    feeds, out = columns_by_sender(got), {}
    for name in plan.types:
        kind = types[name].values.dtype
        samples = [(unpack_ids(feed, kind), float(feed.column("f", 1)[0])) for feed in feeds]
        found = splitters(samples, plan.loaders)
        out[name] = ranges(types[name].values, found, plan.loaders)
    return out


def _exchange_ids(
    plan: LoadingPlan,
    types: dict[str, ShareVertices],
    slices: dict[str, list[slice]],
    keep: ArrayKeeper,
) -> Rounds[dict[str, _Range]]:
    """Send each owner the ids of its range and their degrees here; merge those that come."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name in plan.types:
        local = types[name]
        for message, own in zip(outbox, slices[name], strict=True):
            message += [*pack_ids(local.values[own]), *(counts[own] for counts in local.degrees)]
    kinds = {name: types[name].values.dtype for name in plan.types}
    for local in types.values():
        local.values = local.values[:0]
    feeds, owned = columns_by_sender((yield outbox)), {}
    for name, kind in kinds.items():
        ids, owned[name] = _merge_ids([_read_ids(feed, kind) for feed in feeds])
        keep(f"ids.{name}", ids.values.astype(kind))
    return owned


def _merge_ids(arrived: Sequence[Message]) -> tuple[Ids, _Range]:
    """Merge the ids of a range that loaders have sent, and add up their degrees."""
    ids, places = Ids.over([values for values, *_ in arrived])
    degrees = np.zeros(len(ids), np.int32), np.zeros(len(ids), np.int32)
    for (_, *counts), at in zip(arrived, places, strict=True):
        for total, more in zip(degrees, counts, strict=True):
            total[at] += more  # each id is there once
    return ids, _Range(places, degrees)


def _read_ids(feed: MessageColumns, kind: np.dtype) -> Message:
    """Read the next ids of a share, and their degrees at either end."""
    values = unpack_ids(feed, kind)
    return [values, *(feed.numbers(len(values), below=DEGREES) for _ in range(2))]


def _sizes(plan: LoadingPlan, owned: dict[str, _Range]) -> Rounds[dict[str, Sizes]]:
    """Tell all how many ids this loader owns; return the sizes of each type. The positions' bounds
    are not known yet.
    """
    mine = []
    for name in plan.types:
        degrees = owned[name].degrees
        some = [np.flatnonzero(counts) for counts in degrees]
        last = [int(at[-1]) + 1 if len(at) else 0 for at in some]
        mine += [len(degrees[0]), len(some[0]), len(some[1]), *last]
    got = (yield from exchange_numbers(plan.loaders, mine)).reshape(plan.loaders, -1, 5)
    wrong = np.flatnonzero((got[:, :, 1:] > got[:, :, :1]).any(axis=(1, 2)))
    if len(wrong):
        raise BadColumns(int(wrong[0]), "more vertices with edges than vertices")
    out = {}
    for at, name in enumerate(plan.types):
        counts, present, last_ones = got[:, at, 0], got[:, at, 1:3], got[:, at, 3:]
        indices = bounds_of(counts)
        if indices[-1] > MAX_VERTICES:
            raise DataError(
                f"{indices[-1]:,} different vertices of one type; at most {MAX_VERTICES:,} can be "
                "held"
            )
        largest = np.where(last_ones > 0, indices[:-1, None] + last_ones, 0).max(axis=0)
        out[name] = Sizes(indices, indices, present.sum(axis=0), largest)
    return out


def _positions(
    plan: LoadingPlan, me: int, owned: dict[str, _Range], sizes: dict[str, Sizes], keep: ArrayKeeper
) -> Rounds[dict[str, np.ndarray]]:
    """Return the position of each id that this loader owns, from the owners of ranges of positions,
    of whom this loader is one.
    """
    outbox: Messages = [[] for _ in range(plan.loaders)]
    receivers = {}
    for name in plan.types:
        first, last = sizes[name].indices[me : me + 2]
        index = np.arange(first, last)
        draw = draws(order_key(plan.seed, plan.ends.index(name)), index)
        # numbers below 2^64 / n to the first of n, and so on
        whose = ((draw >> np.uint64(32)) * np.uint64(plan.loaders)) >> np.uint64(32)
        receivers[name] = [np.flatnonzero(whose == to) for to in range(plan.loaders)]
        columns = draw, index.astype(np.int32), *owned[name].degrees
        for message, at in zip(outbox, receivers[name], strict=True):
            message += [column[at] for column in columns]
    feeds = columns_by_sender((yield outbox))
    outbox = [[] for _ in range(plan.loaders)]
    for name in plan.types:
        ranks = _rank_ids(
            plan, name, [_read_draws(feed, sizes[name].count) for feed in feeds], keep
        )
        for message, rank in zip(outbox, ranks, strict=True):
            message += [np.array([sum(map(len, ranks))]), rank]
    feeds = columns_by_sender((yield outbox))
    return {
        name: _place_ids(feeds, receivers[name], sizes[name], len(owned[name].degrees[0]))
        for name in plan.types
    }


def _rank_ids(
    plan: LoadingPlan, name: str, arrived: Sequence[Message], keep: ArrayKeeper
) -> list[np.ndarray]:
    """Sort ids of type `name` by their draws, and keep them and their degrees in this order. Return
    the rank of each id, by the loader that has sent it: draws, indices and degrees have `arrived`.
    """
    draw, index, *degrees = _join_columns(arrived)
    order = np.argsort(draw, kind="stable")  # ids with equal numbers came by index
    keep(f"order.{name}", index[order].astype(np.int64))
    for side, column in enumerate(degrees):
        if plan.ends[side] == name:
            keep(f"degrees.{side}", column[order])
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return np.split(rank, np.cumsum([len(columns[0]) for columns in arrived])[:-1])


def _place_ids(
    feeds: Sequence[MessageColumns], places: Sequence[np.ndarray], sizes: Sizes, count: int
) -> np.ndarray:
    """Return the positions (count,) of a loader's ids, those at places[i] from the ranks that
    loader i tells. Note in `sizes` how many positions each loader has.
    """
    answers = [
        _read_ranks(feed, sizes.count, len(at)) for feed, at in zip(feeds, places, strict=True)
    ]
    bounds = bounds_of(np.array([number for number, _ in answers]))
    if bounds[-1] != sizes.count:
        raise DataError(
            f"the loaders tell {bounds[-1]:,} positions of {sizes.count:,} vertices",
            do="load again",
        )
    sizes.positions = bounds
    position = np.empty(count, np.int32)
    for first, at, (_, rank) in zip(bounds, places, answers, strict=False):
        position[at] = rank + np.int32(first)
    return position


def _read_draws(feed: MessageColumns, count: int) -> Message:
    """Read the next ids that come to their positions' owner: the random number of each, its index,
    of `count`, and its degrees.
    """
    draw = feed.column("u")
    degrees = (feed.numbers(len(draw), below=DEGREES) for _ in range(2))
    return [draw, feed.numbers(len(draw), below=count), *degrees]


def _read_ranks(feed: MessageColumns, most: int, length: int) -> tuple[int, np.ndarray]:
    """Read how many positions an owner has, and the places of some ids among them."""
    count = feed.number(most + 1)
    return count, feed.numbers(length, below=count)


def _exchange_answers(
    plan: LoadingPlan,
    me: int,
    types: dict[str, ShareVertices],
    slices: dict[str, list[slice]],
    owned: dict[str, _Range],
    sizes: dict[str, Sizes],
    positions: dict[str, np.ndarray],
) -> Rounds[None]:
    """Answer each share with index, position and degrees of its ids; take the answers for this."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name in plan.types:
        first, own = np.int32(sizes[name].indices[me]), owned[name]
        for message, places in zip(outbox, own.places, strict=True):
            message += [places + first, positions[name][places]]
            message += [counts[places] for counts in own.degrees]
            places.resize(0, refcheck=False)
    inbox = yield outbox
    feeds = columns_by_sender(inbox)
    for name, local in types.items():
        asked = zip(feeds, slices[name], strict=True)
        arrived = [_read_answers(feed, sizes[name].count, own) for feed, own in asked]
        local.index, local.position, *degrees = _join_columns(arrived)
        local.degrees = degrees[0], degrees[1]


def _read_answers(feed: MessageColumns, count: int, own: slice) -> Message:
    """Read the answers of an owner about some ids: their indices and positions, of `count` each,
    and their degrees.
    """
    length = own.stop - own.start
    most = (count, count, DEGREES, DEGREES)
    return [feed.numbers(length, below=below) for below in most]


def _join_columns(columns: Sequence[Message]) -> list[np.ndarray]:
    """Join each column of all messages."""
    return [np.concatenate(each) for each in zip(*columns, strict=True)]
