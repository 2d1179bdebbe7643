"""The rounds that find columns which occur rarely in the whole input, such as words. Each loader
owns a range of the columns, and is told how often they occur in each share: see
`tux.parallel_load.algorithm.numbering`, whose ids are the columns that are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.arrays.ids import Ids
from tux.io.bags.rare import RareFound
from tux.parallel_load.algorithm.columns import MessageColumns, columns_by_sender
from tux.parallel_load.algorithm.kinds import in_kind, kind_of, pack_ids, signs, unpack_ids
from tux.parallel_load.algorithm.rounds import Messages, Rounds, exchange_numbers, tell_all
from tux.parallel_load.algorithm.splitters import ranges, sample_ids, splitters

RARE_ROUNDS = 4
"""The rounds of `find_rare`."""

LARGEST_AMOUNT = 1 << 62
"""A number that a column occurs less often; counts of wrong data may be negative."""


def find_rare(
    loaders: int, ids: np.ndarray, amounts: np.ndarray, least: int
) -> Rounds[tuple[np.ndarray, RareFound, np.dtype]]:
    """Return which of a share's ascending ids (n,) occur `least` times in all shares, where they
    occur as often here as `amounts` (n,) says; what was found of all; and the kind of all ids.
    Raise BadColumns for a message that does not fit.
    """
    told = yield from exchange_numbers(loaders, np.array(signs(ids)))
    kind = kind_of(told.astype(bool))
    values, places = in_kind(ids, kind)
    if places is not None:
        amounts = amounts[np.argsort(places)]
    slices = yield from ranges_of(loaders, values)
    inbox = yield [[*pack_ids(values[own]), amounts[own]] for own in slices]
    feeds = columns_by_sender((yield _answers(columns_by_sender(inbox), kind, least)))
    kept = np.concatenate([_read_kept(feed, own) for feed, own in zip(feeds, slices, strict=True)])
    found = [
        RareFound(*feed.numbers(3, least=-LARGEST_AMOUNT, below=LARGEST_AMOUNT).tolist())
        for feed in feeds
    ]
    joined = RareFound(*map(sum, zip(*found, strict=True)))
    return kept if places is None else kept[places], joined, kind


def ranges_of(loaders: int, values: np.ndarray) -> Rounds[list[slice]]:
    """Return by owner the slice of a share's ascending ids that is in the owner's range."""
    sample, weight = sample_ids(values, loaders)
    inbox = yield from tell_all(loaders, [*pack_ids(sample), np.array([weight])])
    samples = [
        (unpack_ids(feed, values.dtype), float(feed.column("f", 1)[0]))
        for feed in columns_by_sender(inbox)
    ]
    return ranges(values, splitters(samples, loaders), loaders)


def _answers(feeds: Sequence[MessageColumns], kind: np.dtype, least: int) -> Messages:
    """Return, for each share, which of the ids that it has sent are kept, and what this owner has
    found of its range.
    """
    sent = [unpack_ids(feed, kind) for feed in feeds]
    ids, places = Ids.over(sent)
    totals = np.zeros(len(ids), np.int64)
    for feed, at in zip(feeds, places, strict=True):
        totals[at] += feed.numbers(
            len(at), least=-LARGEST_AMOUNT, below=LARGEST_AMOUNT
        )  # each id is there once
    kept = totals >= least
    found = np.array(RareFound.of(totals, kept))
    return [[kept[at].astype(np.int8), found] for at in places]


def _read_kept(feed: MessageColumns, own: slice) -> np.ndarray:
    """Read which ids of a range are kept."""
    return feed.numbers(own.stop - own.start, below=2).astype(bool)
