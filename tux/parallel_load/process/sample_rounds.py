"""The first rounds of loaders that have read shares of labelled samples. Each tells all what it has
read, so that all know the same about labels and numbers of rows; then each makes edges of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import asdict

from tux.base.errors import TuxError
from tux.base.text import one_line, plural_noun
from tux.io.samples.crossed import Crosses
from tux.io.samples.joined_facts import JoinedFacts, SampleFault
from tux.io.samples.label_files import LabelFile
from tux.io.samples.options import SampleForm, SampleOptions
from tux.io.samples.shares import SampleFacts, SampleShare, UnlabelledShare
from tux.io.source.precision import NumberRange
from tux.io.source.text import OnBadRow
from tux.parallel_load.algorithm.columns import (
    MORE_THAN_ALL_EDGES,
    MessageColumns,
    columns_by_sender,
)
from tux.parallel_load.algorithm.plan import InputShare, LoadingPlan
from tux.parallel_load.algorithm.rounds import Message, Rounds, tell_all

SAMPLE_ROUNDS = 2
"""Rounds that `exchange_samples` takes."""

LABEL_ROUNDS = 1
"""Rounds that it takes before these, where labels stand in another file."""


class SamplesAsked(msgspec.Struct):
    """The options of labelled samples: see those of `tux.io.samples.options.SampleOptions`.
    `plain_weights`: weights that are all 1 may be kept; `label_file`: labels stand there.
    """

    form: SampleForm | None = None
    label: str | None = None
    weight: str | None = None
    cross: Crosses | None = None
    classes: tuple[str, ...] | None = None
    numeric: bool = False
    least: float | None = None  # label that is a number
    multiclass: bool = False
    hash_bits: int = 0
    plain_weights: bool = True
    label_file: LabelFile | None = None

    def options(self, on_bad_row: OnBadRow) -> SampleOptions:
        """Return the options with which a loader reads."""
        given = asdict(self)
        del given["plain_weights"]
        given["least"] = -np.inf if self.least is None else self.least  # JSON has no infinity
        return SampleOptions(**given, on_bad_row=on_bad_row)

    @property
    def rounds(self) -> int:
        """The number of rounds that `exchange_samples` takes."""
        return SAMPLE_ROUNDS + (LABEL_ROUNDS if self.label_file else 0)

    def traits(self) -> dict[str, str]:
        """Return what all machines must be asked for, by the names that the user knows."""
        named = asdict(self)
        told = {f"--{name}": str(named[name]) for name in ("form", "label", "weight")}
        file = self.label_file
        return told | {"--labels": f"{file.size:,}, digest {file.digest}" if file else str(None)}


class EarlyRowsRead(NamedTuple):
    """The facts about the rows of a share that one process tells of all, where loaders tell each
    other first. `weighed`: some row of all has another weight than 1.
    """

    skipped: int
    first_skipped: str
    notes: tuple[str, ...]
    rows: int
    weighed: bool = False


def exchange_samples(
    plan: LoadingPlan, me: int, share: SampleShare | UnlabelledShare, fields: Sequence[str]
) -> Rounds[tuple[InputShare, EarlyRowsRead]]:
    """Return the edges of a share, with the `fields` of edges, and the facts about its rows. Raise
    `DataError` and UsageError about all rows as all loaders do, BadColumns for a message that does
    not fit.
    """
    if isinstance(share, UnlabelledShare):
        share = yield from _read_labels(plan, me, share)
    own = np.frombuffer(msgspec.json.encode(share.facts), np.uint8)
    inbox = yield from tell_all(plan.loaders, [own])
    each = [_facts(feed) for feed in columns_by_sender(inbox)]
    joined = JoinedFacts(each, share.asked, share.how)
    if fault := joined.fault():
        raise (yield from _with_place(plan, fault, fault.row - joined.rows_before(me), share))
    labels, classes = share.labels, tuple[str, ...]()
    if not share.how.numeric:
        values, classes = joined.label_values(me)
        labels = values[labels]
    inbox = yield from tell_all(plan.loaders, _odd_values(joined, share))
    read = _rows_read(plan, joined, share, columns_by_sender(inbox))
    data = {"label": labels, "weight": share.weight}
    edges = _edges(plan, share, fields, data, joined.rows_before(me))
    edges.classes, edges.numbered = classes, joined.numbered
    return edges, read


def _read_labels(plan: LoadingPlan, me: int, share: UnlabelledShare) -> Rounds[SampleShare]:
    """Return a share with its labels, which stand in another file: tell all how many rows it has,
    to know those of the shares before.
    """
    inbox = yield from tell_all(plan.loaders, [np.array([share.read.numbered])])
    rows = [feed.number(MORE_THAN_ALL_EDGES) for feed in columns_by_sender(inbox)]
    return share.with_labels(sum(rows[:me]), sum(rows))


def _with_place(
    plan: LoadingPlan, fault: SampleFault, row: int, share: SampleShare
) -> Rounds[TuxError]:
    """Return the error about all rows; if it is about one, which would be number `row` in this
    share, with the place that the loader tells which has read it.
    """
    if fault.row:
        place = share.where(row) if 0 < row <= share.facts.numbered else ""
        own = np.frombuffer(msgspec.json.encode(place), np.uint8)
        inbox = yield from tell_all(plan.loaders, [own])
        fault.error.where = one_line("".join(f.decode_json(str) for f in columns_by_sender(inbox)))
    return fault.error


def _odd_values(joined: JoinedFacts, share: SampleShare) -> Message:
    """Return what others must know of values that may lose digits: the ranges of columns, and
    different numbers.
    """
    ranges = msgspec.json.encode(share.ranges_of(joined.large))
    return [np.frombuffer(ranges, np.uint8), *(share.different(key) for key in joined.lossy)]


def _rows_read(
    plan: LoadingPlan, joined: JoinedFacts, share: SampleShare, feeds: Sequence[MessageColumns]
) -> EarlyRowsRead:
    """Return the facts about the rows of a share, where all have told their odd values."""
    notes, kind = _notes(joined, feeds), plan.ends[0]
    weighed = any(facts.weighed for facts in joined.each)
    if weighed and "weight" not in plan.data[kind]:
        notes += (f"the weights of {plural_noun(kind)} are left out",)
    skipped = share.facts.skipped + share.facts.lacking.rows
    return EarlyRowsRead(skipped, joined.first_skipped, notes, len(share.entries.rows), weighed)


def _edges(
    plan: LoadingPlan,
    share: SampleShare,
    fields: Sequence[str],
    data: Mapping[str, np.ndarray],
    before: int,
) -> InputShare:
    """Return the edges of a share, with these `fields`, behind so many rows; `data` of its rows."""
    kind, entries = plan.ends[0], share.entries
    return InputShare(
        rows_behind(entries.row, before),
        entries.column,
        dict.fromkeys(fields, np.asarray(entries.value)),
        {kind: entries.rows + before},
        data={kind: {name: data[name] for name in plan.data[kind]}},
    )


def rows_behind(rows: np.ndarray, before: int) -> np.ndarray:
    """Return the numbers of rows (m,) behind those of shares before, in 32 bits if they fit."""
    most = before + int(rows[-1]) if len(rows) else before
    return np.add(rows, before, dtype=np.int32 if most <= np.iinfo(np.int32).max else np.int64)


def _facts(feed: MessageColumns) -> SampleFacts:
    """Read the facts about a share."""
    facts = feed.decode_json(SampleFacts)
    if not 0 <= facts.rows <= facts.numbered < MORE_THAN_ALL_EDGES:
        raise feed.bad(f"{facts.rows:,} rows of {facts.numbered:,}")
    return facts


def _notes(joined: JoinedFacts, feeds: Sequence[MessageColumns]) -> tuple[str, ...]:
    """Read the ranges of columns and the different numbers of all shares. Return the sentences for
    the user.
    """
    ranges, different = [], {key: [np.empty(0)] for key in joined.lossy}
    for feed in feeds:
        ranges.append(feed.decode_json(dict[int, NumberRange]))
        for each in different.values():
            each.append(feed.like(np.dtype(np.float64)))
    return joined.notes(ranges, {key: np.concatenate(each) for key, each in different.items()})
