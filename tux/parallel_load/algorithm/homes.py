"""Masters, by the same rule and in the same order as in one process: `tux.partition.masters`.

The owner of a range of positions knows which parts hold each vertex. A vertex that one part holds
has no choice. The others are chosen for one after the other, as each choice changes the loads that
the next one looks at: by falling number of replicas, then by position. So they are dealt out in
that order to the loaders, about the same number of replicas each, and the loads go from loader to
loader.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tux.arrays.integers import index_dtype
from tux.arrays.ragged import take_lists
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import (
    Message,
    Messages,
    Rounds,
    bounds_of,
    exchange_numbers,
)
from tux.partition.masters import Loads, choose, fill_evenly, loads_of
from tux.partition.replicas import Replicas, replicas_of_counts


@dataclass
class VertexPlaces:
    """The places of the vertices of one type in one owner's range. `held`: by part, the vertices
    there and their edges; a vertex without edges is at its `home` (n,) alone. `number` (n,): a
    vertex's number among its home's masters. `cut`: whether several parts hold a vertex of the
    type.
    """

    held: Replicas
    home: np.ndarray
    number: np.ndarray
    cut: bool


@dataclass
class _Totals:
    """Counts of one type over all loaders: vertices with edges, and replicas beside their masters;
    by owner the vertices of each number of replicas (loaders, parts + 1).
    """

    vertices: int
    mirrors: int
    counts: np.ndarray
    loads: Loads


def _homes_without_edges(totals: _Totals, me: int) -> np.ndarray:
    """Return the masters' parts of those vertices of loader `me` that have no edges: all such
    vertices fill the parts evenly.
    """
    alone = totals.counts[:, 0]
    before, mine = int(alone[:me].sum()), int(alone[me])
    filling = np.cumsum(fill_evenly(totals.loads.mastered, int(alone.sum())))
    return np.searchsorted(filling, before + np.arange(mine), side="right")


def homes_of(
    plan: LoadingPlan, me: int, held: dict[str, Replicas]
) -> Rounds[dict[str, VertexPlaces]]:
    """Choose the masters of the vertices in this loader's range, by type; `held`: the parts that
    hold them.
    """
    totals = yield from _totals(plan, held)
    homes = {name: np.full(len(each.counts), -1, np.int16) for name, each in held.items()}
    sent: Messages = [[] for _ in range(plan.loaders)]
    dealt = {}
    for name, each in held.items():
        dealt[name] = _deal_vertices(plan, me, each, totals[name])
        for message, vertices in zip(sent, dealt[name], strict=True):
            message += _holders_message(each, vertices)
    got = yield sent
    answers = yield from _choose_masters(plan, me, columns_by_sender(got), totals)
    for name, each in held.items():
        home = homes[name]
        whole = np.flatnonzero(each.counts == 1)
        home[whole] = each.part[each.first[whole]]
        for vertices, feed in zip(dealt[name], answers, strict=True):
            home[vertices] = feed.numbers(len(vertices), below=plan.parts)
        home[each.counts == 0] = _homes_without_edges(totals[name], me)
    numbers = yield from _numbers(plan, me, homes)
    return {
        name: VertexPlaces(held[name], home, numbers[name], totals[name].mirrors > 0)
        for name, home in homes.items()
    }


def read_holders(feeds: list[MessageColumns], plan: LoadingPlan, lo: int, hi: int) -> Replicas:
    """Read which parts hold the vertices at positions lo .. hi-1, as the hosts of the parts tell
    it. Raise BadColumns if that does not fit.
    """
    counted = [_read_part(feed, lo, hi) for feed in feeds for _ in plan.hosted_parts(feed.sender)]
    return replicas_of_counts(counted, hi - lo)


def _read_part(feed: MessageColumns, lo: int, hi: int) -> tuple[np.ndarray, np.ndarray]:
    """Read the positions from lo to hi-1 that a part holds, counted from lo, and its edges
    there.
    """
    positions = feed.numbers(least=lo, below=hi)
    return positions - index_dtype(hi).type(lo), feed.numbers(len(positions))


def _totals(plan: LoadingPlan, held: dict[str, Replicas]) -> Rounds[dict[str, _Totals]]:
    """Exchange the counts of each type that all loaders need before masters are chosen."""
    mine = []
    for each in held.values():
        mine += [np.bincount(each.counts, minlength=plan.parts + 1), *loads_of(each, plan.parts)]
    got = yield from exchange_numbers(plan.loaders, np.concatenate(mine))
    k, out = plan.parts, {}
    for at, name in enumerate(held):
        own = got[:, at * (3 * k + 1) : (at + 1) * (3 * k + 1)]
        counts = own[:, : k + 1]
        mastered, rows = own[:, k + 1 :].sum(axis=0).reshape(2, k)
        cut = int(counts[:, 2:].sum())
        vertices = cut + int(counts[:, 1].sum())
        out[name] = _Totals(vertices, int(rows.sum()) - cut, counts, Loads(mastered, rows))
    return out


def _deal_vertices(plan: LoadingPlan, me: int, held: Replicas, totals: _Totals) -> list[np.ndarray]:
    """Return by loader the vertices of this range for which it chooses."""
    order = np.argsort(-held.counts, kind="stable")
    order = order[: len(order) - int(totals.counts[me, :2].sum())]
    replicas = np.arange(plan.parts + 1)
    # the first place, among all replicas in their order, of the vertices of each owner and number
    weights = (totals.counts * replicas)[:, :1:-1].T
    begin = (np.cumsum(weights) - weights.ravel()).reshape(weights.shape)[::-1, me]
    counts = held.counts[order]
    first = np.searchsorted(-counts, -counts, side="left")
    before = begin[counts - 2] + (np.arange(len(order)) - first) * counts
    whose = before * plan.loaders // max(int(weights.sum()), 1)
    return np.split(order, np.searchsorted(whose, np.arange(1, plan.loaders)))


def _holders_message(held: Replicas, vertices: np.ndarray) -> Message:
    """Return a message that tells which parts hold some vertices."""
    counts = held.counts[vertices]
    first = held.first[vertices]
    return [
        counts,
        take_lists(held.part, first, counts).values,
        take_lists(held.edges, first, counts).values,
    ]


def _choose_masters(
    plan: LoadingPlan, me: int, feeds: list[MessageColumns], totals: dict[str, _Totals]
) -> Rounds[list[MessageColumns]]:
    """Choose masters when it is this loader's turn; return the answers of all for the vertices that
    this one sent. The loads of `totals` become those of all masters with edges.
    """
    begun = {name: _Turn.of(feeds, plan.parts) for name in totals}
    for turn in range(plan.loaders):
        if turn == me:
            for name, own in begun.items():
                own.choose(totals[name])
        loads = [np.stack(each.loads) for each in totals.values()]
        outbox: Messages = [[] for _ in range(plan.loaders)]
        if turn == plan.loaders - 1:
            for own in begun.values():
                for message, homes in zip(outbox, own.answers(), strict=True):
                    message.append(homes)
        if turn == me:
            last = turn == plan.loaders - 1
            for to in range(plan.loaders) if last else (turn + 1,):
                outbox[to] += loads
        inbox = yield outbox
        if turn == plan.loaders - 1 or turn + 1 == me:
            feed = MessageColumns(inbox[turn][-len(totals) :], turn)
            for each in totals.values():
                each.loads = Loads(*feed.table((2, plan.parts)).astype(np.int64))
    return columns_by_sender(inbox)


@dataclass
class _Turn:
    """The vertices for which one loader chooses, as they came, and in their order."""

    held: Replicas
    order: np.ndarray
    senders: np.ndarray  # the bounds of each sender's vertices
    home: np.ndarray

    @staticmethod
    def of(feeds: list[MessageColumns], parts: int) -> _Turn:
        """Read the vertices that have come, and the parts, of so many, that hold each of them."""
        arrived = [_read_holders(feed, parts) for feed in feeds]
        counts, part, edges = (np.concatenate(pieces) for pieces in zip(*arrived, strict=True))
        held = Replicas(bounds_of(counts), part, edges)
        senders = bounds_of(np.array([len(own) for own, _, _ in arrived]))
        order = np.argsort(-counts, kind="stable")  # vertices with equal numbers came by position
        return _Turn(held, order, senders, np.full(len(counts), -1, np.int16))

    def choose(self, totals: _Totals) -> None:
        """Choose for all, and add to the loads."""
        loads, means = totals.loads, (totals.vertices, totals.mirrors)
        choose(self.held, self.order, loads, *means, self.home)

    def answers(self) -> list[np.ndarray]:
        """Return the homes for each sender, in the order in which it sent its vertices."""
        return np.split(self.home, self.senders[1:-1])


def _read_holders(feed: MessageColumns, parts: int) -> Message:
    """Read which parts hold some vertices, from a message that `_holders_message` has made."""
    counts = feed.numbers(least=2, below=parts + 1)
    total = int(counts.sum())
    return [counts, feed.numbers(total, below=parts), feed.numbers(total)]


def _numbers(
    plan: LoadingPlan, me: int, homes: dict[str, np.ndarray]
) -> Rounds[dict[str, np.ndarray]]:
    """Return the number of each vertex among all masters of its home, by position, (n,) int32."""
    mine = [np.bincount(home, minlength=plan.parts) for home in homes.values()]
    got = yield from exchange_numbers(plan.loaders, np.stack(mine))
    before_here = got[:me].sum(axis=0)
    out: dict[str, np.ndarray] = {}
    for (name, home), counts, before in zip(homes.items(), mine, before_here, strict=True):
        order = np.argsort(home, kind="stable")
        number = np.empty(len(home), np.int32)
        starts = np.cumsum(counts) - counts
        number[order] = np.arange(len(home)) + np.repeat(before - starts, counts)
        out[name] = number
    return out
