"""The edges of a share on their way to their parts, in the order of the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tux.arrays.lookup import look_up
from tux.arrays.pieced import ArrayPieces, pop_pieces
from tux.graph.sorting import Sorting
from tux.graph.store import edges_prefix
from tux.parallel_load.algorithm.columns import MessageColumns
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.parts_of_edges import CHUNK, parts_of_share
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan
from tux.parallel_load.algorithm.rounds import Messages, Rounds, exchange_numbers

SIDES = ("src", "dst")

Lengths = dict[tuple[int, int], int]
"""The number of edges that have come, by part and loader: all columns have as many."""


@dataclass
class PartEdges:
    """The edges of one type in one part: positions of both ends (m,)."""

    src: np.ndarray
    dst: np.ndarray

    def end(self, side: int) -> np.ndarray:
        """Return the positions of one end: 0 for sources."""
        return self.dst if side else self.src


def place_edges(
    plan: LoadingPlan,
    me: int,
    share: NumberedShare,
    fields: Mapping[str, Sequence[str]],
    keep: ArrayKeeper,
) -> Rounds[list[dict[str, PartEdges]]]:
    """Send the edges of a share to the loaders that host their parts; return by part the ends of
    the edges, by edge type, that this loader hosts. Keep both ends' indices, which are not needed
    any more, and the fields of the parts; those of the share have been kept, under these names.

    Each column has a round, so that no other one need be in memory twice.
    """
    rows = sum(len(share.codes[name][0]) for name in plan.by_type)
    counts = yield from exchange_numbers(plan.loaders, [rows])
    parts = yield from parts_of_share(plan, me, share, int(counts.sum()))
    for name, ends in plan.by_type.items():
        for side, kind in enumerate(ends):
            own, codes = share.types[kind], share.codes[name][side]
            keep(f"{edges_prefix(name)}{SIDES[side]}", _pieces(own.index, codes))
            share.codes[name][side] = look_up(own.position, codes, codes)
    hosted: list[dict[str, PartEdges]] = [{} for _ in plan.hosted_parts(me)]
    for name in plan.by_type:
        by_part = Sorting(parts.pop(0), plan.parts)
        arrived = yield from _send_edges(plan, me, name, share, by_part, fields[name], keep)
        for mine, edges in zip(hosted, arrived, strict=True):
            mine[name] = edges
    return hosted


def _pieces(table: np.ndarray, index: np.ndarray) -> ArrayPieces:
    """Return ``table[index]``, which is not in memory as a whole."""
    starts = range(0, max(len(index), 1), CHUNK)
    return ArrayPieces(table.dtype, len(index), (table[index[lo : lo + CHUNK]] for lo in starts))


def _send_edges(
    plan: LoadingPlan,
    me: int,
    name: str,
    share: NumberedShare,
    by_part: Sorting,
    fields: Sequence[str],
    keep: ArrayKeeper,
) -> Rounds[list[PartEdges]]:
    """Send the edges of a type, whose codes are positions now; see `place_edges`. The codes are
    given up.
    """
    hosted: list[list[np.ndarray]] = []
    columns, lengths = share.codes.pop(name), Lengths()
    for kind in plan.by_type[name]:
        count = share.sizes[kind].count
        arrived = yield from _exchange_column(
            plan, me, by_part.bounds, by_part.sort_column(columns.pop(0)), lengths, count
        )
        hosted.append([row.whole() for row in arrived])
    for field in fields:
        own = f"{edges_prefix(name)}fields.{field}"
        column = by_part.sort_pieces(keep.again(own))
        arrived = yield from _exchange_column(plan, me, by_part.bounds, column, lengths)
        for p, row in zip(plan.hosted_parts(me), arrived, strict=True):
            keep(f"part-{p}/{own}", row)
    return [PartEdges(src, dst) for src, dst in zip(*hosted, strict=True)]


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
