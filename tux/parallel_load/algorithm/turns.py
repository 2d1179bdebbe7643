"""Partitioners that go through edges or vertices in order, and look at the loads of the parts so
far: the loads go from loader to loader, and each goes through its own range when it is its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tux.arrays.lookup import look_up
from tux.base.hashing import by_hash
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.numbering import Sizes
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import Message, Messages, Rounds, bounds_of
from tux.partition.common.some_edges import SomeEdges
from tux.partition.methods.aweto import choose_parts, tally_hashes
from tux.partition.methods.pds import place_by_homes


def _pass_loads(plan: LoadingPlan, me: int, turn: int, load: np.ndarray) -> Rounds[np.ndarray]:
    """Return the loads, once the loader whose `turn` it was has given them to the next one."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    if turn == me and me + 1 < plan.loaders:
        outbox[me + 1].append(load)
    inbox = yield outbox
    if turn + 1 != me:
        return load
    return MessageColumns(inbox[turn], turn).numbers(plan.parts).astype(np.int64)


def _pds(
    plan: LoadingPlan, me: int, edges: SomeEdges, sizes: dict[str, Sizes]
) -> Rounds[np.ndarray]:
    """Place the edges by `pds`. Shares take turns, in the order of the input."""
    load, parts = np.zeros(plan.parts, np.int64), np.empty(0, np.int16)
    for turn in range(plan.loaders):
        if turn == me:
            home = by_hash(edges.number, plan.parts, plan.seed)
            parts = place_by_homes(edges.src, edges.dst, home, load)
        load = yield from _pass_loads(plan, me, turn, load)
    return parts


def _aweto(
    plan: LoadingPlan, me: int, edges: SomeEdges, sizes: dict[str, Sizes]
) -> Rounds[np.ndarray]:
    """Place the edges by `aweto`. Owners take turns, in the order of indices: each is told of the
    edges of the favourite vertices that it owns as much as it must know to choose for these, their
    tally.
    """
    side = ("source", "target").index(edges.favourite)
    whole, other = (edges.src, edges.dst) if side == 0 else (edges.dst, edges.src)
    indices = sizes[plan.ends[side]].indices
    first = int(sizes[plan.ends[0]].largest[0]) if plan.bipartite and side else 0
    vertices, outbox = _tallies(plan, edges.number - first, whole, other, edges, indices)
    owned = [len(message[0]) for message in outbox]
    inbox = yield outbox
    lo, hi = (int(bound) for bound in indices[me : me + 2])
    told = [_read_tally(feed, plan.parts, lo, hi) for feed in columns_by_sender(inbox)]
    numbers, lengths, hashes, times = (
        np.concatenate(columns) for columns in zip(*told, strict=True)
    )
    asked = [message[0] - np.int32(lo) for message in told]
    del inbox, told
    home = by_hash(np.arange(lo, hi) + first, plan.parts, plan.seed)
    keys = np.repeat(numbers - np.int32(lo), lengths)
    load, chosen = np.zeros(plan.parts, np.int64), home
    for turn in range(plan.loaders):
        if turn == me:
            chosen = choose_parts(keys, hashes, home, load, times=times)
        load = yield from _pass_loads(plan, me, turn, load)
    del keys, hashes, times
    answers = yield [[chosen[each]] for each in asked]
    parts = np.empty(len(edges.number), np.int16)
    pairs = zip(columns_by_sender(answers), owned, strict=True)
    parts[vertices] = np.concatenate(
        [feed.numbers(length, below=plan.parts) for feed, length in pairs]
    )
    return look_up(parts, whole)


def _read_tally(feed: MessageColumns, parts: int, lo: int, hi: int) -> Message:
    """Read what a loader tells of vertices from `lo` to `hi` - 1: see `_tallies`."""
    numbers = feed.numbers(least=lo, below=hi)
    lengths = feed.numbers(len(numbers), below=parts + 1)
    total = int(lengths.sum(dtype=np.int64))
    return [numbers, lengths, feed.numbers(total, below=parts), feed.numbers(total)]


def _tallies(
    plan: LoadingPlan,
    index: np.ndarray,
    whole: np.ndarray,
    other: np.ndarray,
    edges: SomeEdges,
    indices: np.ndarray,
) -> tuple[np.ndarray, Messages]:
    """Return the favourite vertices of this share that have edges, ascending, and the messages to
    their owners: `index`, the length of the tally, and the tally.
    """
    wanted = look_up(by_hash(edges.number, plan.parts, plan.seed), other)
    lengths, hashes, times = tally_hashes(whole, wanted, len(index), plan.parts)
    vertices = np.flatnonzero(lengths)
    lengths = lengths[vertices]
    bounds = bounds_of(lengths)
    cuts = [0, *np.searchsorted(index[vertices], indices[1:-1]), len(vertices)]
    outbox: Messages = []
    for lo, hi in pairwise(cuts):
        own, told = slice(lo, hi), slice(bounds[lo], bounds[hi])
        outbox.append(
            [index[vertices[own]].astype(np.int32), lengths[own], hashes[told], times[told]]
        )
    return vertices, outbox


def turns_of(plan: LoadingPlan) -> int:
    """Return the number of rounds in which loads go from loader to loader, and edges to those whose
    turn it is.
    """
    return {"pds": plan.loaders, "aweto": plan.loaders + 2}.get(plan.partitioner, 0)


IN_TURNS: dict[
    str, Callable[[LoadingPlan, int, SomeEdges, dict[str, Sizes]], Rounds[np.ndarray]]
] = {
    "pds": _pds,
    "aweto": _aweto,
}
"""Functions by the names of the command line: ``(plan, me, edges, sizes) -> parts`` (m,) int16, of
the edges of this share.
"""
