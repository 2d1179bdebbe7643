"""Parts as their hosts put them together: rows, masters and routes, from the edges that came and
from what the owners of positions say.
"""

from __future__ import annotations

import numpy as np

from tux.arrays.ids import MAX_VERTICES, Ids
from tux.arrays.integers import index_dtype
from tux.base.errors import DataError
from tux.graph.parts import EdgePart, Part, TypePart
from tux.parallel_load.algorithm.columns import BadColumns, MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.homes import VertexPlaces, homes_of, read_holders
from tux.parallel_load.algorithm.id_ranges import Sizes
from tux.parallel_load.algorithm.placing import SIDES, PartEdges
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan
from tux.parallel_load.algorithm.positions import make_rows, occurring
from tux.parallel_load.algorithm.rounds import Message, Messages, Rounds
from tux.partition.replicas import Replicas

NONE = np.empty(0, np.int32)

HostedEdges = dict[str, PartEdges]
"""The edges of a part, by edge type."""


def assemble_parts(
    plan: LoadingPlan,
    me: int,
    hosted: list[HostedEdges],
    sizes: dict[str, Sizes],
    keep: ArrayKeeper,
) -> Rounds[list[Part]]:
    """Assemble the parts that this loader hosts from the edges in `hosted`, which is emptied;
    without the arrays that all parts share. Keep the ranges of homes and numbers that this loader
    owns.
    """
    own, held = yield from _exchange_holders(plan, me, hosted, sizes)
    placed = yield from homes_of(plan, me, held)
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name, each in placed.items():
        keep(f"home.{name}", each.home)
        keep(f"number.{name}", each.number)
        first, kind = int(sizes[name].positions[me]), index_dtype(sizes[name].count)
        _tell_hosts(plan, each, first, kind, outbox)
    inbox = yield outbox
    feeds = columns_by_sender(inbox)
    types: list[dict[str, TypePart]] = [{} for _ in hosted]
    for name, each in placed.items():
        for p, mine, positions in zip(plan.hosted_parts(me), types, own[name], strict=True):
            mine[name] = _type_part(plan, p, name, positions, feeds, each.cut, sizes[name])
    parts: list[Part] = []
    while hosted:
        parts.append(_part(plan, hosted.pop(0), types[len(parts)], sizes))
    return parts


def _exchange_holders(
    plan: LoadingPlan, me: int, hosted: list[HostedEdges], sizes: dict[str, Sizes]
) -> Rounds[tuple[dict[str, list[np.ndarray]], dict[str, Replicas]]]:
    """Tell the owners which positions the parts hold that this loader hosts. Return these, by type
    and part; and, from the messages of the others, the parts that hold the positions that this
    loader owns.
    """
    outbox: Messages = [[] for _ in range(plan.loaders)]
    own: dict[str, list[np.ndarray]] = {}
    for name in plan.types:
        own[name] = []
        for edges in hosted:
            columns = [edges[end.edges].end(end.side) for end in plan.ends_of(name)]
            positions, counts = occurring(columns, sizes[name].count)
            own[name].append(positions)
            cuts = np.searchsorted(positions, sizes[name].positions)
            for message, lo, hi in zip(outbox, cuts[:-1], cuts[1:], strict=True):
                message += [positions[lo:hi], counts[lo:hi]]
    inbox = yield outbox
    feeds, held = columns_by_sender(inbox), {}
    for name in plan.types:
        lo, hi = sizes[name].positions[me : me + 2]
        held[name] = read_holders(feeds, plan, int(lo), int(hi))
    return own, held


def _tell_hosts(
    plan: LoadingPlan, placed: VertexPlaces, lo: int, kind: np.dtype, outbox: Messages
) -> None:
    """Add to each host's message what its parts need of the vertices from position `lo` on: the
    homes of those that they hold, those without edges that have their home there, their masters,
    and how many of these each worker holds and which. `kind`: of positions.
    """
    counts = placed.held.counts
    vertex = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    part, alone = placed.held.part, np.flatnonzero(counts == 0).astype(np.int32)
    by_part = _KeyPlaces(part, plan.parts)
    by_home = _KeyPlaces(placed.home, plan.parts)
    lonely = _KeyPlaces(placed.home[alone], plan.parts)
    if placed.cut:
        vertex = np.concatenate([vertex, alone])
        part = np.concatenate([part, placed.home[alone]])
        order = np.lexsort((vertex, part, placed.home[vertex]))
        masters_of = _KeyPlaces(placed.home[vertex[order]], plan.parts)
    for to in range(plan.loaders):
        for p in plan.hosted_parts(to):
            own = by_home.of(p)
            message: Message = [np.add(own, lo, dtype=kind)]
            if placed.cut:
                down = order[masters_of.of(p)]
                message += [
                    placed.home[vertex[by_part.of(p)]],
                    np.add(alone[lonely.of(p)], lo, dtype=kind),
                    np.bincount(part[down], minlength=plan.parts),
                    placed.number[vertex[down]],
                ]
            outbox[to] += message


class _KeyPlaces:
    """The places of each key from 0 to n-1 in an array of keys, ascending."""

    def __init__(self, keys: np.ndarray, n: int) -> None:
        self._order = np.argsort(keys, kind="stable")
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(keys, minlength=n))])

    def of(self, key: int) -> np.ndarray:
        return self._order[self._bounds[key] : self._bounds[key + 1]]


def _type_part(
    plan: LoadingPlan,
    p: int,
    name: str,
    positions: np.ndarray,
    feeds: list[MessageColumns],
    cut: bool,
    sizes: Sizes,
) -> TypePart:
    """Make one vertex type of part `p`, whose edges are at `positions`, from the messages of the
    owners. Raise BadColumns if they do not fit.
    """
    bounds = sizes.positions
    told = [_read_type(plan, feed, positions, bounds, cut) for feed in feeds]
    masters = np.concatenate([own[0] for own in told])
    rows, up, down = masters, [NONE] * plan.parts, [NONE] * plan.parts
    if not cut:
        _check_rows(rows, positions, bounds)
    else:
        home = np.concatenate([own[1] for own in told])
        alone = np.concatenate([own[2] for own in told])
        rows = np.concatenate([positions, alone])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        home = np.concatenate([home, np.full(len(alone), p, np.int16)])[order]
        by_home = _KeyPlaces(home, plan.parts)
        up = [by_home.of(h).astype(np.int32) for h in range(plan.parts)]
        lists = [np.split(own[4], np.cumsum(own[3])[:-1]) for own in told]
        for feed, own in zip(feeds, told, strict=True):
            if own[4].max(initial=-1) >= len(masters):
                raise feed.bad(f"master {own[4].max():,} of {len(masters):,} masters of part {p}")
        down = [np.concatenate(pieces) for pieces in zip(*lists, strict=True)]
    if max(len(rows), len(masters)) > MAX_VERTICES:
        raise DataError(
            f"part {p} has {len(rows):,} {name} rows and {len(masters):,} masters; at most "
            f"{MAX_VERTICES:,} can be held",
            do="use more workers",
        )
    nowhere = [NONE] * plan.parts
    bare = Ids(np.empty(0, np.int64)), NONE, 0
    routes = up, down, nowhere, nowhere
    return TypePart(
        name, *bare, cut, rows, len(rows), masters, *routes, np.empty(0, np.int16), NONE
    )


def _read_type(
    plan: LoadingPlan, feed: MessageColumns, positions: np.ndarray, bounds: np.ndarray, cut: bool
) -> Message:
    """Read what the owner of a range of positions tells of a part with edges at `positions`, in the
    message that `_tell_hosts` has made; `bounds`: of all ranges.
    """
    lo, hi = (int(bound) for bound in bounds[feed.sender : feed.sender + 2])
    masters = feed.numbers(least=lo, below=hi)
    if not cut:
        return [masters]
    first, last = np.searchsorted(positions, (lo, hi))
    home = feed.numbers(int(last - first), below=plan.parts)
    alone = feed.numbers(least=lo, below=hi)
    counts = feed.numbers(plan.parts)
    return [masters, home, alone, counts, feed.numbers(int(counts.sum()))]


def _check_rows(rows: np.ndarray, positions: np.ndarray, bounds: np.ndarray) -> None:
    """Raise BadColumns if a part's edges are at `positions`, ascending, that its `rows` do not
    have; `bounds`: of the ranges of the owners, which have told the rows.
    """
    found = np.append(rows, np.int32(-1))[np.searchsorted(rows, positions)]
    missing = positions[found != positions]
    if len(missing):
        owner = int(np.searchsorted(bounds, missing[0], side="right")) - 1
        raise BadColumns(owner, f"a part has an edge at position {missing[0]:,}, and no row")


def _part(
    plan: LoadingPlan, edges: HostedEdges, types: dict[str, TypePart], sizes: dict[str, Sizes]
) -> Part:
    """Make a part of these edges, their ends as rows; without fields, which have been kept."""
    for name, ends in plan.by_type.items():
        for side, kind in enumerate(ends):
            positions = edges[name].end(side)
            setattr(
                edges[name], SIDES[side], make_rows(positions, types[kind].rows, sizes[kind].count)
            )
    others = {
        name: EdgePart(ends, (NONE, NONE), edges[name].src, edges[name].dst, {})
        for name, ends in plan.others.items()
    }
    src, dst = edges[""].src, edges[""].dst
    return Part(types, (NONE, NONE), src, dst, {}, NONE, NONE, {}, others=others)
