"""Edges that repeat an earlier one's ends: of a part, or of the whole graph."""

from __future__ import annotations

import numpy as np

from tux.arrays.integers import MOST_PAIRED, check_pairs, distinct_integers
from tux.base.compiled import cached_njit
from tux.graph.sorting import Sorting
from tux.parallel_load.algorithm.columns import columns_by_sender
from tux.parallel_load.algorithm.numbering import NumberedShare
from tux.parallel_load.algorithm.placed_alone import IndexOwners
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.algorithm.rounds import Messages, Rounds

ANYWHERE = ("pds",)
"""Partitioners by which edges of equal ends may lie in several parts."""

MAX_PAIRS = MOST_PAIRED * MOST_PAIRED
"""The number of pairs of vertices, at most."""


def count_repeated(src: np.ndarray, dst: np.ndarray, sources: int, targets: int) -> int:
    """Count the edges between the rows `src` (m,), below `sources`, and `dst` (m,), below
    `targets`, beyond one for each pair. In linear time; takes 4 bytes an edge.
    """
    by_source = Sorting(src, sources)
    return int(
        _count_repeated(
            by_source.bounds, by_source.sort_column(dst), np.full(targets, -1, np.int32)
        )
    )


def count_repeated_of_all(plan: LoadingPlan, share: NumberedShare) -> Rounds[dict[str, int]]:
    """Return by edge type a number that gives the edges which repeat an earlier one's ends when the
    numbers of all loaders are added up: the edges of this share, less the different ones that the
    vertices of this loader's ranges have as sources. Takes about 16 bytes an edge.
    """
    outbox: Messages = [[] for _ in range(plan.loaders)]
    for name, ends in plan.by_type.items():
        src, dst = (
            share.types[kind].index[codes]
            for kind, codes in zip(ends, share.codes[name], strict=True)
        )
        n = max(share.sizes[ends[1]].count, 1)
        check_pairs(max(n, share.sizes[ends[0]].count))
        pairs = distinct_integers(src.astype(np.int64) * n + dst)
        slices = IndexOwners.of(share, ends[0], plan.loaders).slices_of(pairs // n)
        for message, own in zip(outbox, slices, strict=True):
            message.append(pairs[own])
    feeds, counts = columns_by_sender((yield outbox)), {}
    for name in plan.by_type:
        pairs = np.concatenate([feed.numbers(below=MAX_PAIRS) for feed in feeds])
        counts[name] = len(share.codes[name][0]) - len(distinct_integers(pairs))
    return counts


@cached_njit
def _count_repeated(bounds, dst, last):  # type: ignore[no-untyped-def]
    """Count the repeated edges among edges in the order of their sources; `last`: of each target
    the last source so far.
    """
    count = 0
    for source in range(len(bounds) - 1):
        for i in range(bounds[source], bounds[source + 1]):
            if last[dst[i]] == source:
                count += 1
            last[dst[i]] = source
    return count
