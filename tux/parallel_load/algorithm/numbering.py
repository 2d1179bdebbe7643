"""The numbers of vertices, as one process gives them: the index of an id is its rank among all ids
of its type in ascending order, its position that in the type's seeded order. With several edge
types, ids that are new in the edges of a later type follow all others: see `LoadingPlan.groups_of`.

Each loader owns a range of the ids and a range of the positions of each type. An owner is told the
ids of a share once, in ascending order, and answers with numbers in that order: no id travels
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tux.arrays.edges import TOGETHER
from tux.arrays.ids import Ids
from tux.arrays.integers import index_dtype
from tux.arrays.pieced import pop_pieces
from tux.base.errors import DataError
from tux.base.random import draws
from tux.graph.orders import order_key
from tux.graph.store import edges_prefix
from tux.parallel_load.algorithm.columns import BadColumns, MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.distinct import (
    Codes,
    ShareVertices,
    common_kinds,
    convert_kind,
    distinct_ids,
    sort_by_index,
)
from tux.parallel_load.algorithm.groups import (
    GroupRows,
    lead_vertices,
    rank_groups,
    take_rows,
)
from tux.parallel_load.algorithm.held_links import RemovedLinks
from tux.parallel_load.algorithm.id_ranges import DEGREES, IdRange, Sizes
from tux.parallel_load.algorithm.kinds import pack_ids, unpack_ids
from tux.parallel_load.algorithm.plan import ArrayKeeper, InputShare, LoadingPlan
from tux.parallel_load.algorithm.removing import count_again, remove_links
from tux.parallel_load.algorithm.rounds import (
    Message,
    Messages,
    Rounds,
    bounds_of,
    exchange_numbers,
    tell_all,
)
from tux.parallel_load.algorithm.splitters import ranges, sample_ids, splitters


@dataclass
class NumberedShare:
    """A share whose ids are numbers: `codes` are places in the `types`. `removed`: of the
    edges of the first type.
    """

    codes: Codes
    types: dict[str, ShareVertices]
    sizes: dict[str, Sizes]
    removed: RemovedLinks = RemovedLinks()


def number_vertices(
    plan: LoadingPlan, me: int, share: InputShare, keep: ArrayKeeper
) -> Rounds[NumberedShare]:
    """Number the vertices of a share; `share` is emptied. Keep the ranges of ids, of the order and
    of the degrees that this loader owns. Raise MustReadWhole where `common_kinds` does.
    """
    types, codes = distinct_ids(plan, share)
    told = np.concatenate([types[name].signs for name in plan.types])
    known = yield from exchange_numbers(plan.loaders, told)
    for name, kind in common_kinds(plan, known).items():
        convert_kind(plan, name, types[name], kind, codes)
    if plan.grouped:
        types[plan.grouped].groups = yield from _read_groups(plan, share, types)
    slices = yield from _ranges(plan, types)
    owned = yield from _exchange_ids(plan, types, slices, keep)
    sizes, removed = (yield from _sizes(plan, me, owned)), RemovedLinks()
    if plan.held_share:
        removed = yield from remove_links(plan, me, slices, owned, sizes, codes, keep)
        yield from count_again(plan, types, slices, owned, codes)
        sizes = yield from _sizes(plan, me, owned)
    if plan.grouped:
        yield from _lead_groups(plan, me, owned, sizes, keep)
    positions = yield from _positions(plan, owned, sizes, keep)
    yield from _exchange_answers(plan, types, slices, owned, sizes, positions)
    for name, local in types.items():
        sort_by_index(plan, name, local, codes)
    return NumberedShare(codes, types, sizes, removed)


def _read_groups(
    plan: LoadingPlan, share: InputShare, types: dict[str, ShareVertices]
) -> Rounds[GroupRows]:
    """Return the rows of a share of the file of groups, whose ids are of the kind of the data."""
    assert share.groups is not None
    rows = yield from rank_groups(plan.loaders, share.groups, plan.grouped)
    share.groups = None
    rows.convert(types[plan.grouped].values.dtype, plan.grouped)
    return rows


def _lead_groups(
    plan: LoadingPlan,
    me: int,
    owned: dict[str, IdRange],
    sizes: dict[str, Sizes],
    keep: ArrayKeeper,
) -> Rounds[None]:
    """Note the places to which groups lead the vertices of this loader's range. Keep their groups:
    vertices without one are some by themselves.
    """
    own = owned[plan.grouped]
    assert own.named is not None
    rank = own.named.rank
    together = np.where(rank < 0, own.named.groups + own.index.astype(np.int64), rank)
    keep(f"data.{plan.grouped}.{TOGETHER}", together)
    own.leads, sizes[plan.grouped].named = yield from lead_vertices(plan, me, own.named)
    own.named = None


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
        if rows := types[name].groups:
            rows.slices = ranges(rows.values, found, plan.loaders)
    return out


def _exchange_ids(
    plan: LoadingPlan,
    types: dict[str, ShareVertices],
    slices: dict[str, list[slice]],
    keep: ArrayKeeper,
) -> Rounds[dict[str, IdRange]]:
    """Send each owner the ids of its range and their degrees here; merge those that come."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name in plan.types:
        local = types[name]
        for message, own in zip(outbox, slices[name], strict=True):
            message += [*pack_ids(local.values[own]), *(counts[own] for counts in local.degrees)]
            message += [local.beside[own]] if name in plan.tables else []
        if local.groups:
            local.groups.pack(outbox)
    kinds = {name: types[name].values.dtype for name in plan.types}
    for local in types.values():
        local.values = local.values[:0]
    feeds, owned = columns_by_sender((yield outbox)), {}
    for name, kind in kinds.items():
        arrived = [_read_ids(feed, kind, plan, name) for feed in feeds]
        ids, owned[name] = _merge_ids(arrived, plan.groups_of(name))
        owned[name].named = take_rows(feeds, ids, kind, types[name].groups, name)
        _keep_ids(plan, name, ids.values.astype(kind), owned[name].group, keep)
    return owned


def _keep_ids(
    plan: LoadingPlan, name: str, values: np.ndarray, group: np.ndarray, keep: ArrayKeeper
) -> None:
    """Keep the ids of a type that a loader owns, each group for itself."""
    for number in range(len(plan.groups_of(name))):
        keep(f"ids.{name}.{number}", values[group == number])


def _merge_ids(arrived: Sequence[Message], groups: Sequence[Sequence[int]]) -> tuple[Ids, IdRange]:
    """Merge the ids of a range that loaders have sent, add up their degrees, and find the group of
    each; one without edges is of the first, unless only a table has it.
    """
    ids, places = Ids.over([values for values, *_ in arrived])
    degrees = [np.zeros(len(ids), np.int32) for _ in range(sum(map(len, groups)))]
    group = np.full(len(ids), len(groups) - 1 if [] in groups else 0, np.int8)
    for (_, *counts), at in zip(arrived, places, strict=True):
        for total, more in zip(degrees, counts, strict=False):
            total[at] += more  # each id is there once
        if len(counts) > len(degrees):  # whether the ids are in a table alone
            group[at[counts[-1] > 0]] = 0
    for number in reversed(range(len(groups))):
        for end in groups[number]:
            group[degrees[end] > 0] = number
    return ids, IdRange(places, degrees, group, group[:0])


def _read_ids(feed: MessageColumns, kind: np.dtype, plan: LoadingPlan, name: str) -> Message:
    """Read the next ids of a share, of the type `name`: their degrees at each end; and, if there is
    a table of them, whether they are in more than the table.
    """
    values = unpack_ids(feed, kind)
    most = [*(DEGREES for _ in plan.ends_of(name)), *([2] if name in plan.tables else [])]
    return [values, *(feed.numbers(len(values), below=below) for below in most)]


def _sizes(plan: LoadingPlan, me: int, owned: dict[str, IdRange]) -> Rounds[dict[str, Sizes]]:
    """Tell all how many ids this loader owns; return the sizes of each type, and note the index of
    each id that this loader owns. The positions' bounds are not known yet.
    """
    mine = []
    for name in plan.types:
        sides = plan.union_degrees(name, owned[name].degrees)
        for group in range(len(plan.groups_of(name))):
            there = owned[name].group == group
            some = [np.flatnonzero(counts[there]) for counts in sides]
            last = [int(at[-1]) + 1 if len(at) else 0 for at in some]
            mine.append([np.count_nonzero(there), *map(len, some), *last])
    got = yield from exchange_numbers(plan.loaders, np.array(mine))
    wrong = np.flatnonzero((got[:, :, 1:] > got[:, :, :1]).any(axis=(1, 2)))
    if len(wrong):
        raise BadColumns(int(wrong[0]), "more vertices with edges than vertices")
    out, first = {}, 0
    for name in plan.types:
        told = got[:, first : first + len(plan.groups_of(name))].transpose(1, 0, 2)
        first += len(told)
        out[name] = _sizes_of_type(told)
        owned[name].index = _indices(owned[name].group, out[name].starts[:, me], out[name].count)
    return out


def _sizes_of_type(told: np.ndarray) -> Sizes:
    """Return the sizes of a type, of which loaders have told (groups, n, 5): ids, on either side
    those that have edges, and one more than the place of the last of these.
    """
    counts, present, last = told[:, :, 0], told[:, :, 1:3], told[:, :, 3:]
    bounds = bounds_of(counts.ravel())
    starts = bounds[:-1].reshape(counts.shape)
    largest = np.where(last > 0, starts[:, :, None] + last, 0).max(axis=(0, 1))
    return Sizes(starts, int(bounds[-1]), bounds[:0], present.sum(axis=(0, 1)), largest)


def _indices(group: np.ndarray, starts: np.ndarray, count: int) -> np.ndarray:
    """Return the index of each id (n,), of which those of each group begin at its start; `count`:
    of all ids.
    """
    index = np.empty(len(group), index_dtype(count))
    for number, start in enumerate(starts.tolist()):
        at = np.flatnonzero(group == number)
        index[at] = np.arange(start, start + len(at))
    return index


def _positions(
    plan: LoadingPlan, owned: dict[str, IdRange], sizes: dict[str, Sizes], keep: ArrayKeeper
) -> Rounds[dict[str, np.ndarray]]:
    """Return the position of each id that this loader owns, from the owners of ranges of positions,
    of whom this loader is one.
    """
    outbox: Messages = [[] for _ in range(plan.loaders)]
    receivers = {}
    for number, name in enumerate(plan.types):
        index = owned[name].index
        draw = draws(order_key(plan.seed, number), index)
        # numbers below 2^64 / n to the first of n, and so on
        whose = ((draw >> np.uint64(32)) * np.uint64(plan.loaders)) >> np.uint64(32)
        columns = draw, index, *owned[name].degrees
        if leads := owned[name].leads:
            whose = leads.lead * plan.loaders // leads.places
            columns = draw, index, leads.lead, *owned[name].degrees
        receivers[name] = [np.flatnonzero(whose == to) for to in range(plan.loaders)]
        for message, at in zip(outbox, receivers[name], strict=True):
            message += [column[at] for column in columns]
    feeds = columns_by_sender((yield outbox))
    outbox = [[] for _ in range(plan.loaders)]
    for name in plan.types:
        # groups have no more places than there are vertices
        below = [sizes[name].count] * (1 + (name == plan.grouped))
        below += [DEGREES] * len(plan.ends_of(name))
        ranks = _rank_ids(plan, name, [_read_draws(feed, below) for feed in feeds], keep)
        for message, rank in zip(outbox, ranks, strict=True):
            message += [np.array([sum(map(len, ranks))]), rank]
    feeds = columns_by_sender((yield outbox))
    return {
        name: _place_ids(feeds, receivers[name], sizes[name], len(owned[name].index))
        for name in plan.types
    }


def _rank_ids(
    plan: LoadingPlan, name: str, arrived: Sequence[Message], keep: ArrayKeeper
) -> list[np.ndarray]:
    """Sort ids of type `name` by their draws, and keep them and their degrees in this order. Return
    the rank of each id, by the loader that has sent it: draws, indices and degrees have `arrived`.
    """
    draw, index, *degrees = _join_columns(arrived)
    order = np.argsort(draw, kind="stable")  # no two indices have the same draw
    if name == plan.grouped:
        order = order[np.argsort(degrees.pop(0)[order], kind="stable")]
    keep(f"order.{name}", index[order].astype(np.int64))
    for end, column in zip(plan.ends_of(name), degrees, strict=True):
        keep(f"{edges_prefix(end.edges)}degrees.{end.side}", column[order])
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
    position = np.empty(count, index_dtype(sizes.count))
    for first, at, (_, rank) in zip(bounds, places, answers, strict=False):
        position[at] = rank + first
    return position


def _read_draws(feed: MessageColumns, below: Sequence[int]) -> Message:
    """Read the next ids that come to their positions' owner: the random number of each, its index,
    the place to which its group leads it, if there are groups, and its degrees at each end. All but
    the first are less than `below`, in this order.
    """
    draw = feed.column("u")
    return [draw, *(feed.numbers(len(draw), below=each) for each in below)]


def _read_ranks(feed: MessageColumns, most: int, length: int) -> tuple[int, np.ndarray]:
    """Read how many positions an owner has, and the places of some ids among them."""
    count = feed.number(most + 1)
    return count, feed.numbers(length, below=count)


def _exchange_answers(
    plan: LoadingPlan,
    types: dict[str, ShareVertices],
    slices: dict[str, list[slice]],
    owned: dict[str, IdRange],
    sizes: dict[str, Sizes],
    positions: dict[str, np.ndarray],
) -> Rounds[None]:
    """Answer each share with index, position and degrees of its ids; take the answers for this."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name in plan.types:
        own = owned[name]
        for message, places in zip(outbox, pop_pieces(own.places), strict=True):
            message += [own.index[places], positions[name][places]]
            message += [counts[places] for counts in own.degrees]
    inbox = yield outbox
    feeds = columns_by_sender(inbox)
    for name, local in types.items():
        asked = zip(feeds, slices[name], strict=True)
        ends, count = len(plan.ends_of(name)), sizes[name].count
        arrived = [_read_answers(feed, count, ends, own) for feed, own in asked]
        local.index, local.position, *local.degrees = _join_columns(arrived)


def _read_answers(feed: MessageColumns, count: int, ends: int, own: slice) -> Message:
    """Read the answers of an owner about some ids: their indices and positions, of `count` each,
    and their degrees at each end.
    """
    length = own.stop - own.start
    most = (count, count, *[DEGREES] * ends)
    return [feed.numbers(length, below=below) for below in most]


def _join_columns(columns: Sequence[Message]) -> list[np.ndarray]:
    """Join each column of all messages."""
    return [np.concatenate(each) for each in zip(*columns, strict=True)]
