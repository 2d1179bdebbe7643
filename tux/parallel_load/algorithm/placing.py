"""The part of each edge of a share, and the edges to their parts, in the order of the input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tux.arrays.lookup import look_up
from tux.arrays.pieced import ArrayPieces, pop_pieces
from tux.base.errors import UsageError
from tux.graph.sorting import Sorting
from tux.parallel_load.algorithm.columns import MessageColumns
from tux.parallel_load.algorithm.numbering import NumberedShare, Sizes
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan
from tux.parallel_load.algorithm.rounds import Messages, Rounds, exchange_numbers
from tux.parallel_load.algorithm.turns import IN_TURNS
from tux.partition.common.some_edges import BY_ENDS, SomeEdges
from tux.partition.methods.bicut import larger_side

CHUNK = 1 << 15
"""Edges whose parts are computed at a time, so that what comes between stays in the cache."""

Lengths = dict[tuple[int, int], int]
"""The number of edges that have come, by part and loader: all columns have as many."""


@dataclass
class PartEdges:
    """The edges of one part: positions of both ends (m,) int32."""

    src: np.ndarray
    dst: np.ndarray


def place_edges(
    plan: LoadingPlan, me: int, share: NumberedShare, fields: Sequence[str], keep: ArrayKeeper
) -> Rounds[list[PartEdges]]:
    """Send the edges of a share to the loaders that host their parts; return the ends of the edges
    of the parts that this loader hosts. Keep both ends' indices, which are not needed any more, and
    the fields of the parts; those of the share have been kept, under these names.

    Each column has a round, so that no other one need be in memory twice.
    """
    ends = [share.types[name] for name in plan.ends]
    counts = yield from exchange_numbers(plan.loaders, [len(share.codes[0])])
    parts = yield from _parts(plan, me, share, int(counts.sum()))
    columns = [*share.codes]
    share.codes = parts[:0], parts[:0]
    for name, end, codes in zip(("src", "dst"), ends, columns, strict=True):
        keep(name, _pieces(end.index, codes))
        look_up(end.position, codes, codes)
    by_part = Sorting(parts, plan.parts)
    del codes, parts
    hosted: list[list[np.ndarray]] = []
    bounds, lengths = by_part.bounds, Lengths()
    for name in plan.ends:
        count = share.sizes[name].count
        arrived = yield from _exchange_column(
            plan, me, bounds, by_part.sort_column(columns.pop(0)), lengths, count
        )
        hosted.append([row.whole() for row in arrived])
    for name in fields:
        arrived = yield from _exchange_column(
            plan, me, bounds, by_part.sort_pieces(keep.again(f"fields.{name}")), lengths
        )
        for p, own in zip(plan.hosted_parts(me), arrived, strict=True):
            keep(f"part-{p}/fields.{name}", own)
    return [PartEdges(src, dst) for src, dst in zip(*hosted, strict=True)]


def _pieces(table: np.ndarray, index: np.ndarray) -> ArrayPieces:
    """Return ``table[index]``, which is not in memory as a whole."""
    starts = range(0, max(len(index), 1), CHUNK)
    return ArrayPieces(table.dtype, len(index), (table[index[lo : lo + CHUNK]] for lo in starts))


def _exchange_column(
    plan: LoadingPlan,
    me: int,
    bounds: np.ndarray,
    column: np.ndarray,
    lengths: Lengths,
    count: int | None = None,
) -> Rounds[list[ArrayPieces]]:
    """Send the entries of a column, which are in the order of parts, part p's between bounds[p] and
    bounds[p + 1], to the hosts. Return the entries that have come of each part that this loader
    hosts, in the order of the input. `lengths`: of what has come before. `count`: of positions,
    where it is a column of these. Raise BadColumns if a message does not fit.
    """
    outbox: Messages = [
        [column[bounds[p] : bounds[p + 1]] for p in plan.hosted_parts(to)]
        for to in range(plan.loaders)
    ]
    dtype = column.dtype
    del column
    inbox = yield outbox
    del outbox
    feeds = [MessageColumns(pop_pieces(message), sender) for sender, message in enumerate(inbox)]
    out = []
    for p in plan.hosted_parts(me):
        pieces = []
        for feed in feeds:
            length = lengths.get((p, feed.sender))
            piece = feed.like(dtype, length) if count is None else feed.numbers(length, below=count)
            lengths[p, feed.sender] = len(piece)
            pieces.append(piece)
            del piece
        out.append(ArrayPieces(dtype, sum(map(len, pieces)), pop_pieces(pieces)))
    return out


def _parts(plan: LoadingPlan, me: int, share: NumberedShare, edges: int) -> Rounds[np.ndarray]:
    """Return the part of each edge of this share (m,) int16."""
    some = _some_edges(plan, share, edges)
    if plan.bipartite:  # in place, until the parts are known
        np.add(some.dst, np.int32(_sources(plan, share)), out=some.dst)
    if by_ends := BY_ENDS.get(plan.partitioner):
        rule, parts = by_ends(some, plan.parts, plan.seed), np.empty(len(some.src), np.int16)
        for lo in range(0, len(parts), CHUNK):
            rows = slice(lo, lo + CHUNK)
            parts[rows] = rule(some.src[rows], some.dst[rows])
    else:
        parts = yield from IN_TURNS[plan.partitioner](plan, me, some, share.sizes)
    if plan.bipartite:
        np.subtract(some.dst, np.int32(_sources(plan, share)), out=some.dst)
    return parts


def _sources(plan: LoadingPlan, share: NumberedShare) -> int:
    """Return the number of vertices of the share that are sources, where these are a type of their
    own.
    """
    return len(share.types[plan.ends[0]].index)


def _some_edges(plan: LoadingPlan, share: NumberedShare, edges: int) -> SomeEdges:
    """Return the edges of this share as partitioners take them; where sources are a type of their
    own, they come before the targets, whose numbers are theirs alone still.
    """
    first, second = (share.types[name] for name in plan.ends)
    src, dst = share.codes
    sources, targets = (int(share.sizes[name].largest[side]) for side, name in enumerate(plan.ends))
    if max(sources, targets) > 8 * edges + 1024:
        # one process numbers the vertices of edges anew then: see `tux.partition.common.ends.ends`
        raise UsageError(
            f"{max(sources, targets):,} vertices with {edges:,} edges cannot be loaded in shares",
            do="leave out the vertices without edges, or cut the graph in one process",
        )
    if plan.bipartite:
        number = np.concatenate([first.index, second.index.astype(np.int64) + sources])
        none = np.zeros(len(first.index), np.int64)
        into = np.concatenate([none, second.degrees[1]])
        degree = np.concatenate([first.degrees[0].astype(np.int64), second.degrees[1]])
    else:
        number, into = first.index, first.degrees[1]
        degree = first.degrees[0].astype(np.int64) + first.degrees[1]
    return SomeEdges(src, dst, number, degree, into, _favourite(plan, share.sizes))


def _favourite(plan: LoadingPlan, sizes: dict[str, Sizes]) -> str:
    """Return the side that is to be kept whole."""
    if plan.favourite != "auto":
        return plan.favourite
    sources, targets = (int(sizes[name].present[side]) for side, name in enumerate(plan.ends))
    return larger_side(sources, targets)
