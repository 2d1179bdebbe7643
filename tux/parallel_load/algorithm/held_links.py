"""The links that a program holds out, chosen by loaders of which each has a share of the edges: the
same as `tux.graph.links.hold_out_links` chooses from all edges.

Each loader owns a range of the joined pairs, by their keys, and knows of each pair its rank among
all, and so the number that puts it in the random order. Owners of vertices tell which pair of each
comes first in this order, and is kept. The last pair that is held out is found by the digits of
its number, from the highest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.integers import distinct_integers, index_dtype
from tux.graph.links import among, draw_pairs, pair_keys
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.plan import ArrayKeeper, LoadingPlan
from tux.parallel_load.algorithm.rounds import (
    Message,
    Rounds,
    bounds_of,
    exchange_numbers,
    tell_all,
)
from tux.parallel_load.algorithm.splitters import ranges, sample_ids, splitters

LINK_ROUNDS = 10
"""Rounds that `choose_links` takes."""

DIGIT = 16  # bits
FLAG, DRAW = np.dtype(np.uint8), np.dtype(np.uint64)


class HeldCounts(NamedTuple):
    """The number of edges that were held out, as pairs of a loader's range, and how many of them
    repeat an earlier one's ends.
    """

    edges: int = 0
    repeated: int = 0


class RemovedLinks(NamedTuple):
    """The result of holding out links: which edges of a share are `kept`, None if no links are held
    out, and the counts of a loader's range.
    """

    kept: np.ndarray | None = None
    counts: HeldCounts = HeldCounts()


class OwnPairs(NamedTuple):
    """The pairs of vertices that a loader owns: their keys, ascending; the edges (2, h) of each
    along it and against; of each share, the places of its pairs; and by owner, the slice of the
    pairs of this loader's share that it owns.
    """

    keys: np.ndarray
    edges: np.ndarray
    places: list[np.ndarray]
    slices: list[slice]


def choose_links(
    plan: LoadingPlan, me: int, src: np.ndarray, dst: np.ndarray, n: int, keep: ArrayKeeper
) -> Rounds[RemovedLinks]:
    """Choose the links to hold out of all edges, of which this share has those between the indices
    `src` and `dst` (m,), of n. Keep the lower and the upper ends of the pairs of this loader's
    range that are held out.
    """
    keys = pair_keys(src, dst, n)
    pairs = distinct_integers(keys[src != dst])
    edges = [
        np.bincount(np.searchsorted(pairs, keys[way]), minlength=len(pairs))
        for way in (src < dst, src > dst)
    ]
    own = yield from _exchange_pairs(plan, pairs, edges, n)
    held = yield from _choose_own(plan, me, own.keys, n)
    inbox = yield [[held[places].astype(FLAG)] for places in own.places]
    answers = zip(columns_by_sender(inbox), own.slices, strict=True)
    told = np.concatenate([feed.like(FLAG, each.stop - each.start) for feed, each in answers])
    kept = (src == dst) | ~among(keys, pairs[told > 0])
    lower, upper = np.divmod(own.keys[held], max(n, 1))
    keep("held.src", lower.astype(index_dtype(n)))
    keep("held.dst", upper.astype(index_dtype(n)))
    many = own.edges[:, held]
    return RemovedLinks(kept, HeldCounts(int(many.sum()), int(np.maximum(many - 1, 0).sum())))


def _exchange_pairs(
    plan: LoadingPlan, pairs: np.ndarray, edges: list[np.ndarray], n: int
) -> Rounds[OwnPairs]:
    """Send the pairs of a share, and how many edges they have there, to the owners of their keys.
    Return the pairs of this loader's range.
    """
    sample, weight = sample_ids(pairs, plan.loaders)
    feeds = columns_by_sender((yield from tell_all(plan.loaders, [sample, np.array([weight])])))
    samples = [(feed.numbers(below=n * n), float(feed.column("f", 1)[0])) for feed in feeds]
    slices = ranges(pairs, splitters(samples, plan.loaders), plan.loaders)
    inbox = yield [[pairs[own], *(counts[own] for counts in edges)] for own in slices]
    return _merge_pairs([_read_pairs(feed, n) for feed in columns_by_sender(inbox)], slices)


def _read_pairs(feed: MessageColumns, n: int) -> Message:
    """Read the keys of pairs, and how many edges lead along each and against it."""
    keys = feed.numbers(below=n * n)
    return [keys, feed.numbers(len(keys)), feed.numbers(len(keys))]


def _merge_pairs(arrived: Sequence[Message], slices: list[slice]) -> OwnPairs:
    """Merge the pairs of all shares, and add up their edges; `slices` as in `OwnPairs`."""
    merged = distinct_integers(np.concatenate([keys for keys, *_ in arrived]))
    places = [np.searchsorted(merged, keys) for keys, *_ in arrived]
    total = np.zeros((2, len(merged)), np.int64)
    for at, (_, *edges) in zip(places, arrived, strict=True):
        total[:, at] += edges  # each pair is there once
    return OwnPairs(merged, total, places, slices)


def _choose_own(plan: LoadingPlan, me: int, keys: np.ndarray, n: int) -> Rounds[np.ndarray]:
    """Return which of the pairs of this loader's range are held out."""
    counts = yield from exchange_numbers(plan.loaders, [len(keys)])
    before = bounds_of(counts[:, 0])[me]
    draw = draw_pairs(np.arange(before, before + len(keys)))
    free = yield from _free_pairs(plan, me, keys, draw, n)
    most = round(plan.held_share * int(counts.sum()))
    last = yield from _number_at(plan, draw[free], most)
    return free & (draw <= last) & (most > 0)


def _free_pairs(
    plan: LoadingPlan, me: int, keys: np.ndarray, draw: np.ndarray, n: int
) -> Rounds[np.ndarray]:
    """Return which pairs are not the first one of an end of theirs in the random order, which
    `draw` (h,) gives.
    """
    ends = np.divmod(keys, max(n, 1))
    vertices = distinct_integers(np.concatenate(ends))
    places = [np.searchsorted(vertices, end) for end in ends]
    first = np.full(len(vertices), np.iinfo(DRAW).max)
    for at in places:
        np.minimum.at(first, at, draw)
    first = yield from _least_of_all(plan, me, vertices, first, n)
    return np.logical_and(*(draw != first[at] for at in places))


def _least_of_all(
    plan: LoadingPlan, me: int, vertices: np.ndarray, draw: np.ndarray, n: int
) -> Rounds[np.ndarray]:
    """Return the least number that any loader has for each of some ascending `vertices` (v,);
    `draw` are those of this one. Loaders own equal ranges of the n indices.
    """
    bounds = [-(-to * n // plan.loaders) for to in range(plan.loaders + 1)]
    cuts = np.searchsorted(vertices, bounds)
    slices = [slice(lo, hi) for lo, hi in zip(cuts[:-1], cuts[1:], strict=True)]
    inbox = yield [[vertices[own], draw[own]] for own in slices]
    least, asked = np.full(bounds[me + 1] - bounds[me], np.iinfo(DRAW).max), []
    for feed in columns_by_sender(inbox):
        at = feed.numbers(least=bounds[me], below=bounds[me + 1]) - bounds[me]
        least[at] = np.minimum(least[at], feed.like(DRAW, len(at)))
        asked.append(at)
    feeds = columns_by_sender((yield [[least[at]] for at in asked]))
    told = zip(feeds, slices, strict=True)
    return np.concatenate([feed.like(DRAW, own.stop - own.start) for feed, own in told])


def _number_at(plan: LoadingPlan, draw: np.ndarray, place: int) -> Rounds[np.uint64]:
    """Return the number at a `place`, from 1, among the numbers `draw` of all loaders in ascending
    order; the largest there can be if there are fewer.
    """
    found = 0
    for shift in range(64 - DIGIT, -1, -DIGIT):
        digit = (draw >> np.uint64(shift)).astype(np.int64) & ((1 << DIGIT) - 1)
        counts = np.bincount(digit, minlength=1 << DIGIT)
        counts = (yield from exchange_numbers(plan.loaders, counts)).sum(axis=0)
        passed = np.cumsum(counts)
        here = min(int(np.searchsorted(passed, place)), len(counts) - 1)
        place -= int(passed[here] - counts[here])
        draw, found = draw[digit == here], (found << DIGIT) | here
    return np.uint64(found)
