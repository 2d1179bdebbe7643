"""The first round of loaders that have read shares of bags of columns, such as documents: each
tells all what it has read, so that all know the same; then each makes edges of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import msgspec
import numpy as np

from tux.io.bags.entries import BagOptions
from tux.io.bags.shares import BagFacts, BagShare, JoinedBags
from tux.io.formats.format import Form
from tux.io.source.text import OnBadRow, read_words
from tux.parallel_load.algorithm.columns import (
    MORE_THAN_ALL_EDGES,
    MessageColumns,
    columns_by_sender,
)
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan
from tux.parallel_load.algorithm.rounds import Rounds, tell_all
from tux.parallel_load.process.sample_rounds import EarlyRowsRead, rows_behind

BAG_ROUNDS = 1
"""Rounds before all others, in which loaders of bags tell what they have read."""

DIGITS = 8  # of a digest that are shown


class BagsAsked(msgspec.Struct):
    """The options of bags: see those of `tux.io.bags.entries.BagOptions`."""

    form: Form
    vocab: str | None = None
    stop: str | None = None

    def options(self, on_bad_row: OnBadRow) -> BagOptions:
        """Return the options with which a loader reads."""
        return BagOptions(**msgspec.structs.asdict(self), on_bad_row=on_bad_row)

    def traits(self) -> dict[str, str]:
        """Return what must be the same on all machines, by the name under which the user knows
        it.
        """
        lists = {"words of --vocab": self.vocab, "words of --stop": self.stop}
        return {"--form": self.form, **{name: _digest(path) for name, path in lists.items()}}


def _digest(path: str | None) -> str:
    """Return a digest of the words of a file, "none" without one."""
    if path is None:
        return "none"
    return blake2b("\n".join(read_words(path)).encode(), digest_size=16).hexdigest()[:DIGITS]


def exchange_bags(
    plan: LoadingPlan, me: int, share: BagShare, fields: Sequence[str]
) -> Rounds[tuple[InputShare, EarlyRowsRead]]:
    """Return the edges of a share, with the `fields` of edges, and the facts about its rows. Raise
    MustReadWhole as all loaders do, BadColumns for a message that does not fit.
    """
    own = np.frombuffer(msgspec.json.encode(share.facts), np.uint8)
    inbox = yield from tell_all(plan.loaders, [own])
    joined = JoinedBags([_facts(feed) for feed in columns_by_sender(inbox)], share)
    joined.check()
    rows, before = joined.rows_of(me), joined.rows_before(me)
    edges = InputShare(
        rows_behind(share.entries.row, before),
        share.column,
        dict.fromkeys(fields, np.asarray(share.entries.value)),
        {plan.ends[0]: rows},
        numbered=joined.numbered,
    )
    bad = share.asked.bad
    return edges, EarlyRowsRead(bad.count, bad.first, joined.notes, len(rows))


def _facts(feed: MessageColumns) -> BagFacts:
    """Read the facts about a share."""
    facts = feed.decode_json(BagFacts)
    if not all(0 <= each < MORE_THAN_ALL_EDGES for each in (facts.rows, facts.numbered)):
        raise feed.bad(f"{facts.rows:,} rows of {facts.numbered:,}")
    return facts
