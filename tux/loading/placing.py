"""The part of each edge of a share, and the edges to their parts, in the order of the input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tux.arrays.lookup import looked_up
from tux.base.errors import UsageError
from tux.graph.sorting import Sorting
from tux.loading.numbering import Numbered, Sizes
from tux.loading.plan import Keep, Plan
from tux.loading.rounds import Messages, Rounds, drained, told_numbers
from tux.loading.turns import IN_TURNS
from tux.partition.bicut import larger_side
from tux.partition.some_edges import BY_ENDS, SomeEdges

CHUNK = 1 << 18
"""Edges whose parts are computed at a time, so that what comes between stays small."""


@dataclass
class Edges:
    """The edges of one part: positions of both ends (m,) int32, and their numbers by field."""

    src: np.ndarray
    dst: np.ndarray
    fields: dict[str, np.ndarray]


def placed(
    plan: Plan, me: int, share: Numbered, fields: dict[str, np.ndarray], keep: Keep
) -> Rounds[list[Edges]]:
    """Send the edges of a share to the loaders that host their parts; the edges of the parts that
    this loader hosts. Keeps both ends' indices, which are not needed any more; `fields` is emptied.
    """
    ends = [share.types[name] for name in plan.ends]
    counts = yield from told_numbers(plan.loaders, [len(share.codes[0])])
    parts = yield from _parts(plan, me, share, int(counts.sum()))
    for name, end, codes in zip(("src", "dst"), ends, share.codes, strict=True):
        keep(name, looked_up(end.index, codes))
        looked_up(end.position, codes, codes)
    by_part = Sorting(parts, plan.parts)
    bounds, columns = by_part.bounds, [*share.codes, *fields.values()]
    share.codes = parts[:0], parts[:0]
    names = list(fields)
    fields.clear()
    for at in range(len(columns)):
        columns[at] = by_part.moved(columns[at])
    del by_part, parts
    outbox: Messages = [
        [column[bounds[p] : bounds[p + 1]] for p in plan.hosted(to) for column in columns]
        for to in range(plan.loaders)
    ]
    del columns
    inbox = yield outbox
    del outbox
    feeds, out = [drained(message) for message in inbox], []
    for _ in plan.hosted(me):
        src, dst, *numbers = (
            np.concatenate([next(feed) for feed in feeds]) for _ in range(2 + len(names))
        )
        out.append(Edges(src, dst, dict(zip(names, numbers, strict=True))))
    return out


def _parts(plan: Plan, me: int, share: Numbered, edges: int) -> Rounds[np.ndarray]:
    """The part of each edge of this share (m,) int16."""
    some = _some_edges(plan, share, edges)
    if rule := BY_ENDS.get(plan.partitioner):
        parts = np.empty(len(some.src), np.int16)
        step = max(CHUNK, len(some.number))  # a rule may look at each vertex once
        for lo in range(0, len(parts), step):
            rows = slice(lo, lo + step)
            piece = some._replace(src=some.src[rows], dst=some.dst[rows])
            parts[rows] = rule(piece, plan.parts, plan.seed)
        return parts
    return (yield from IN_TURNS[plan.partitioner](plan, me, some, share.sizes))


def _some_edges(plan: Plan, share: Numbered, edges: int) -> SomeEdges:
    """The edges of this share as partitioners take them."""
    first, second = (share.types[name] for name in plan.ends)
    src, dst = share.codes
    sources, targets = (int(share.sizes[name].largest[side]) for side, name in enumerate(plan.ends))
    if max(sources, targets) > 8 * edges + 1024:
        # one process numbers the vertices of edges anew then: see `tux.partition.ends.ends`
        raise UsageError(
            f"{max(sources, targets):,} vertices with {edges:,} edges cannot be loaded in shares",
            do="leave out the vertices without edges, or cut the graph in one process",
        )
    if plan.bipartite:
        number = np.concatenate([first.index, second.index.astype(np.int64) + sources])
        none = np.zeros(len(first.index), np.int64)
        into = np.concatenate([none, second.degrees[1]])
        degree = np.concatenate([first.degrees[0].astype(np.int64), second.degrees[1]])
        dst = dst + np.int32(len(first.index))
    else:
        number, into = first.index, first.degrees[1]
        degree = first.degrees[0].astype(np.int64) + first.degrees[1]
    return SomeEdges(src, dst, number, degree, into, _favourite(plan, share.sizes))


def _favourite(plan: Plan, sizes: dict[str, Sizes]) -> str:
    """The side that is to be kept whole."""
    if plan.favourite != "auto":
        return plan.favourite
    sources, targets = (int(sizes[name].present[side]) for side, name in enumerate(plan.ends))
    return larger_side(sources, targets)
