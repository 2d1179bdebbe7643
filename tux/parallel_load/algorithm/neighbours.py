"""The neighbour lists of the whole graph, where a program wants a topology: each loader makes those
of the vertices in its range of positions, from the edges of all shares.

All loaders send an edge to the owner of its source, and of an undirected graph in a second round to
that of its target, as if it led back. So an owner has what comes in the order in which one process
takes it, and adds up weights as that does.
"""

from __future__ import annotations

import numpy as np

from tux.arrays.integers import check_pairs
from tux.arrays.pieced import ArrayPieces, pop_pieces
from tux.graph.sorting import Sorting
from tux.graph.topology import WEIGHT, neighbour_lists
from tux.parallel_load.algorithm.columns import columns_by_sender
from tux.parallel_load.algorithm.id_ranges import Sizes
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan
from tux.parallel_load.algorithm.rounds import Message, Rounds, bounds_of, exchange_numbers

CHUNK = 1 << 15
"""Edges whose owners are found at a time, so that what comes between stays in the cache."""

Column = np.ndarray | None
"""A column of weights, where edges have any."""


def topology_rounds(plan: LoadingPlan) -> int:
    """Return the number of rounds that neighbour lists take."""
    return {"": 0, "directed": 2, "undirected": 3}[plan.topology]


def share_topology(
    plan: LoadingPlan, me: int, share: NumberedShare, keep: ArrayKeeper, *, weighted: bool
) -> Rounds[None]:
    """Keep the range that this loader owns of each array of the plan's topology, from a share whose
    edges have been numbered; their weights have been kept.
    """
    sizes = share.sizes[plan.ends[0]]
    own = range(*sizes.positions[me : me + 2].tolist())
    keys, weights = yield from _exchange_edges(plan, sizes, share, keep, own, weighted=weighted)
    bounds, ends, sums = neighbour_lists(keys, weights, sizes.count, own)
    del keys, weights
    counts = yield from exchange_numbers(plan.loaders, [len(ends)])
    bounds += bounds_of(counts[:, 0])[me]
    keep("topology.bounds", bounds if me == 0 else bounds[1:])
    keep("topology.ends", ends)
    keep("topology.sums", sums)


def _exchange_edges(
    plan: LoadingPlan,
    sizes: Sizes,
    share: NumberedShare,
    keep: ArrayKeeper,
    own: range,
    *,
    weighted: bool,
) -> Rounds[tuple[np.ndarray, Column]]:
    """Send the edges of a share to the owners of their sources, and of their targets if they lead
    both ways. Return the keys of those that come to the `own` positions of this loader, in the
    order of the input, and their weights.
    """
    check_pairs(sizes.count)
    src, dst, weights = _edges_apart(share, plan.ends[0], keep, weighted=weighted)
    keys, given = [np.empty(0, np.int64)], [] if weights is None else [weights[:0]]
    for way in [(src, dst)] if plan.topology == "directed" else [(src, dst), (dst, src)]:
        inbox = yield _deal_out(plan, sizes.positions, *way, weights)
        for feed in columns_by_sender(inbox):
            sources = feed.numbers(least=own.start, below=own.stop)
            key = sources.astype(np.int64)
            key *= sizes.count
            key += feed.numbers(len(sources), below=sizes.count)
            keys.append(key)
            if weights is not None:
                given.append(feed.like(weights.dtype, len(sources)))
    del src, dst, way
    return _join(keys), _join(given) if given else None


def _join(pieces: list[np.ndarray]) -> np.ndarray:
    """Join some pieces to one array; each is given up as it is copied."""
    return ArrayPieces(pieces[0].dtype, sum(map(len, pieces)), pop_pieces(pieces)).whole()


def _edges_apart(
    share: NumberedShare, kind: str, keep: ArrayKeeper, *, weighted: bool
) -> tuple[np.ndarray, np.ndarray, Column]:
    """Return the positions of both ends of the edges of a share, and their weights, without loops:
    they lead nowhere.
    """
    position = share.types[kind].position
    src, dst = (position[codes] for codes in share.codes[""])
    apart = src != dst
    weights = keep.again(f"fields.{WEIGHT}").whole() if weighted else None
    if apart.all():
        return src, dst, weights
    return src[apart], dst[apart], None if weights is None else weights[apart]


def _deal_out(
    plan: LoadingPlan, owners: np.ndarray, src: np.ndarray, dst: np.ndarray, weights: Column
) -> list[Message]:
    """Return for each loader the edges from the positions that it owns."""
    whose = np.empty(len(src), np.int16)
    for lo in range(0, len(src), CHUNK):
        piece = slice(lo, lo + CHUNK)
        whose[piece] = np.searchsorted(owners, src[piece], side="right") - 1
    by_owner = Sorting(whose, plan.loaders)
    columns = [src, dst] if weights is None else [src, dst, weights]
    ordered = [by_owner.sort_column(column) for column in columns]
    return [
        [column[by_owner.bounds[to] : by_owner.bounds[to + 1]] for column in ordered]
        for to in range(plan.loaders)
    ]
