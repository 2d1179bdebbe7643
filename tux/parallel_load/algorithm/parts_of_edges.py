"""The part of each edge of a share. Where the edges of one type are placed alone, those of other
types go beside them: see `tux.partition.beside`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tux.base.hashing import by_hash
from tux.parallel_load.algorithm.distinct import ShareVertices
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.placed_alone import exchange_replicas, sizes_alone
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import Rounds
from tux.parallel_load.algorithm.share_union import ShareUnion
from tux.parallel_load.algorithm.turns import IN_TURNS
from tux.partition.beside import place_beside
from tux.partition.common.some_edges import BY_ENDS
from tux.partition.replicas import Replicas

CHUNK = 1 << 15
"""Edges whose parts are computed at a time, so that what comes between stays in the cache."""


def parts_of_share(
    plan: LoadingPlan, me: int, share: NumberedShare, edges: int
) -> Rounds[list[np.ndarray]]:
    """Return the part of each edge of this share (m,) int16, by edge type; there are so many edges
    in all.
    """
    if plan.alone is None:
        return (yield from _parts_of_union(plan, me, share, edges))
    own = replace(plan, ends=plan.by_type[plan.alone], others={}, whole="", alone=None)
    types = {kind: _degrees_alone(plan, kind, share.types[kind]) for kind in own.types}
    alone = NumberedShare({"": share.codes[plan.alone]}, types, share.sizes)
    alone.sizes, count = yield from sizes_alone(own, me, alone)
    (parts,) = yield from _parts_of_union(own, me, alone, count)
    near = yield from exchange_replicas(own, me, alone, parts)
    for kind in plan.types:
        if kind not in near:
            index = share.types[kind].index
            home = by_hash(index, plan.parts, plan.seed)
            near[kind] = Replicas(np.arange(len(index) + 1), home, np.zeros(len(index), np.int32))
    return [
        parts if name == plan.alone else _place_beside(plan, name, share.codes[name], near)
        for name in plan.by_type
    ]


def _place_beside(
    plan: LoadingPlan, name: str, codes: Sequence[np.ndarray], near: Mapping[str, Replicas]
) -> np.ndarray:
    """Place the edges of a type beside the replicas of their ends."""
    ends = plan.by_type[name]
    keep = next((side for side, kind in enumerate(ends) if kind in plan.whole_types), None)
    return place_beside(codes[0], codes[1], near[ends[0]], near[ends[1]], plan.parts, keep)


def _parts_of_union(
    plan: LoadingPlan, me: int, share: NumberedShare, edges: int
) -> Rounds[list[np.ndarray]]:
    """Return the part of each edge of this share (m,) int16, by edge type; there are so many edges
    in all.
    """
    union = ShareUnion.of(plan, share, edges)
    union.shift(share.codes, 1)  # in place, until the parts are known
    rows = union.edges(share.codes)
    if by_ends := BY_ENDS.get(plan.partitioner):
        rule = by_ends(union.vertices, plan.parts, plan.seed)
        parts = []
        for src, dst in rows:
            parts.append(np.empty(len(src), np.int16))
            for lo in range(0, len(src), CHUNK):
                piece = slice(lo, lo + CHUNK)
                parts[-1][piece] = rule(src[piece], dst[piece])
    else:
        parts = yield from IN_TURNS[plan.partitioner](plan, me, rows, union)
    union.shift(share.codes, -1)
    return parts


def _degrees_alone(plan: LoadingPlan, kind: str, local: ShareVertices) -> ShareVertices:
    """Return the vertices of a type with their degrees at the ends of the type placed alone."""
    ends = zip(plan.ends_of(kind), local.degrees, strict=True)
    return replace(local, degrees=[counts for end, counts in ends if end.edges == plan.alone])
