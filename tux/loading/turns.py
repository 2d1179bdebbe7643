"""Partitioners that go through edges or vertices in order, and look at the loads of the parts so
far: the loads go from loader to loader, and each goes through its own range when it is its turn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tux.loading.numbering import Sizes
from tux.loading.plan import Plan
from tux.loading.rounds import Messages, Rounds
from tux.partition.aweto import chosen_of
from tux.partition.hashing import by_hash
from tux.partition.pds import of_homes
from tux.partition.some_edges import SomeEdges


def _passed(plan: Plan, me: int, turn: int, load: np.ndarray) -> Rounds[np.ndarray]:
    """The loads, once the loader whose `turn` it was has given them to the next one."""
    outbox: Messages = [[] for _ in range(plan.loaders)]
    if turn == me and me + 1 < plan.loaders:
        outbox[me + 1].append(load)
    inbox = yield outbox
    return np.array(inbox[turn][0]) if turn + 1 == me else load


def _pds(plan: Plan, me: int, edges: SomeEdges, sizes: dict[str, Sizes]) -> Rounds[np.ndarray]:
    """Shares take turns, in the order of the input."""
    load, parts = np.zeros(plan.parts, np.int64), np.empty(0, np.int16)
    for turn in range(plan.loaders):
        if turn == me:
            home = by_hash(edges.number, plan.parts, plan.seed)
            parts = of_homes(edges.src, edges.dst, home, load)
        load = yield from _passed(plan, me, turn, load)
    return parts


def _aweto(plan: Plan, me: int, edges: SomeEdges, sizes: dict[str, Sizes]) -> Rounds[np.ndarray]:
    """Owners take turns, in the order of indices: each is told the edges of the favourite vertices
    that it owns, and chooses for these.
    """
    side = ("source", "target").index(edges.favourite)
    whole, other = (edges.src, edges.dst) if side == 0 else (edges.dst, edges.src)
    indices = sizes[plan.ends[side]].indices
    first = int(sizes[plan.ends[0]].largest[0]) if plan.bipartite and side else 0
    wanted = by_hash(edges.number, plan.parts, plan.seed)[other]
    present = np.zeros(len(edges.number), np.bool_)
    present[whole] = True
    vertices = np.flatnonzero(present)
    owner = np.searchsorted(indices, edges.number - first, side="right") - 1
    by_owner = np.argsort(owner[whole], kind="stable")
    cuts = np.searchsorted(owner[whole][by_owner], np.arange(1, plan.loaders))
    mine = np.split(vertices, np.searchsorted(owner[vertices], np.arange(1, plan.loaders)))
    outbox: Messages = [
        [edges.number[own] - first, edges.number[whole[rows]] - first, wanted[rows]]
        for own, rows in zip(mine, np.split(by_owner, cuts), strict=True)
    ]
    inbox = yield outbox
    lo, hi = indices[me : me + 2]
    keys, hashes = (np.concatenate([message[at] for message in inbox]) for at in (1, 2))
    home = by_hash(np.arange(lo, hi) + first, plan.parts, plan.seed)
    load, chosen = np.zeros(plan.parts, np.int64), home
    for turn in range(plan.loaders):
        if turn == me:
            chosen = chosen_of((keys - lo).astype(np.int64), hashes, home, load)
        load = yield from _passed(plan, me, turn, load)
    answers = yield [[chosen[message[0] - lo]] for message in inbox]
    parts = np.empty(len(edges.number), np.int16)
    parts[vertices] = np.concatenate([answer[0] for answer in answers])
    return parts[whole]


def turns_of(plan: Plan) -> int:
    """The rounds in which loads go from loader to loader, and edges to those whose turn it is."""
    return {"pds": plan.loaders, "aweto": plan.loaders + 2}.get(plan.partitioner, 0)


IN_TURNS: dict[str, Callable[[Plan, int, SomeEdges, dict[str, Sizes]], Rounds[np.ndarray]]] = {
    "pds": _pds,
    "aweto": _aweto,
}
"""By the names of the command line: ``(plan, me, edges, sizes) -> parts`` (m,) int16 of the edges
of this share.
"""
