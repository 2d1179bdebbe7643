"""Partitioners that go through edges or vertices in order, and look at the loads of the parts so
far: the loads go from loader to loader, and each goes through its own range when it is its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, pairwise

import numpy as np

from tux.arrays.integers import index_dtype
from tux.arrays.lookup import look_up
from tux.base.hashing import by_hash
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import Message, Messages, Rounds, bounds_of
from tux.parallel_load.algorithm.share_union import Rows, ShareUnion
from tux.partition.common.some_edges import SomeVertices
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


def _pds(plan: LoadingPlan, me: int, rows: Rows, union: ShareUnion) -> Rounds[list[np.ndarray]]:
    """Place the edges by `pds`. Shares take turns, in the order of the input."""
    load, parts = np.zeros(plan.parts, np.int64), []
    for turn in range(plan.loaders):
        if turn == me:
            home = by_hash(union.vertices.number, plan.parts, plan.seed)
            parts = [place_by_homes(src, dst, home, load) for src, dst in rows]
        load = yield from _pass_loads(plan, me, turn, load)
    return parts


def _aweto(plan: LoadingPlan, me: int, rows: Rows, union: ShareUnion) -> Rounds[list[np.ndarray]]:
    """Place the edges by `aweto`. Loaders take turns, in the order of the favourite vertices: each
    has a range of these, and is told of their edges as much as it must know to choose for them,
    their tally, for each edge type.
    """
    side = ("source", "target").index(union.vertices.favourite)
    numbers = union.numbers_of(side)
    bounds = [len(numbers) * at // plan.loaders for at in range(plan.loaders + 1)]
    tallies = [
        _tallies(plan, pair[side], pair[1 - side], union.vertices, numbers.start, bounds)
        for pair in rows
    ]
    owned = [(vertices, [len(own[0]) for own in sent]) for vertices, sent in tallies]
    inbox = yield [[*chain(*(sent[to] for _, sent in tallies))] for to in range(plan.loaders)]
    del tallies
    lo, hi = bounds[me : me + 2]
    feeds = columns_by_sender(inbox)
    told = [[_read_tally(feed, plan.parts, lo, hi) for _ in rows] for feed in feeds]
    asked = [[own[0] - index_dtype(hi).type(lo) for own in each] for each in told]
    _, lengths, hashes, times = map(np.concatenate, zip(*chain(*told), strict=True))
    del inbox, told, feeds
    home = by_hash(np.arange(lo, hi) + numbers.start, plan.parts, plan.seed)
    keys = np.repeat(np.concatenate([*chain(*asked)]), lengths)
    load, chosen = np.zeros(plan.parts, np.int64), home
    for turn in range(plan.loaders):
        if turn == me:
            chosen = choose_parts(keys, hashes, home, load, times=times)
        load = yield from _pass_loads(plan, me, turn, load)
    del keys, hashes, times
    answers = columns_by_sender((yield [[chosen[at] for at in each] for each in asked]))
    parts = np.empty(len(union.vertices.number), np.int16)
    for vertices, counts in owned:
        pairs = zip(answers, counts, strict=True)
        found = [feed.numbers(count, below=plan.parts) for feed, count in pairs]
        parts[vertices] = np.concatenate(found)
    return [look_up(parts, pair[side]) for pair in rows]


def _read_tally(feed: MessageColumns, parts: int, lo: int, hi: int) -> Message:
    """Read what a loader tells of vertices from `lo` to `hi` - 1: see `_tallies`."""
    numbers = feed.numbers(least=lo, below=hi)
    lengths = feed.numbers(len(numbers), below=parts + 1)
    total = int(lengths.sum(dtype=np.int64))
    return [numbers, lengths, feed.numbers(total, below=parts), feed.numbers(total)]


def _tallies(
    plan: LoadingPlan,
    whole: np.ndarray,
    other: np.ndarray,
    some: SomeVertices,
    first: int,
    bounds: Sequence[int],
) -> tuple[np.ndarray, Messages]:
    """Return the favourite vertices, ascending, that have edges of a type in this share, and the
    messages to the loaders that choose for them: their numbers from `first` on, the length of the
    tally, and the tally. `bounds` (n + 1,): of the loaders' ranges of these numbers.
    """
    wanted = look_up(by_hash(some.number, plan.parts, plan.seed), other)
    lengths, hashes, times = tally_hashes(whole, wanted, len(some.number), plan.parts)
    vertices = np.flatnonzero(lengths)
    lengths = lengths[vertices]
    ends = bounds_of(lengths)
    numbers = (some.number[vertices] - first).astype(index_dtype(bounds[-1]))
    cuts = [0, *np.searchsorted(numbers, bounds[1:-1]), len(vertices)]
    return vertices, [
        [numbers[lo:hi], lengths[lo:hi], *(own[ends[lo] : ends[hi]] for own in (hashes, times))]
        for lo, hi in pairwise(cuts)
    ]


def turns_of(plan: LoadingPlan) -> int:
    """Return the number of rounds in which loads go from loader to loader, and edges to those whose
    turn it is.
    """
    return {"pds": plan.loaders, "aweto": plan.loaders + 2}.get(plan.partitioner, 0)


IN_TURNS: dict[str, Callable[[LoadingPlan, int, Rows, ShareUnion], Rounds[list[np.ndarray]]]] = {
    "pds": _pds,
    "aweto": _aweto,
}
"""Functions by the names of the command line: ``(plan, me, rows, union) -> parts``, (m,) int16 for
each edge type, of the edges of this share.
"""
