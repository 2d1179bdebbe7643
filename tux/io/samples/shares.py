"""A share of labelled samples, as one of several processes reads it: its rows, and the facts about
them that all processes tell each other (`tux.io.samples.joined_facts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tux.base.errors import MustReadWhole
from tux.io.bags.bag_lines import LineFacts, LinesRead, begin_lines, read_share_lines
from tux.io.bags.entries import BagSpec, Entries
from tux.io.bags.pair_lines import NOTHING
from tux.io.formats.format import Format
from tux.io.samples.labels import (
    F4,
    SampleLabels,
    SampleRows,
    label_value,
    line_of,
    numbers_of,
)
from tux.io.samples.options import SampleOptions
from tux.io.samples.samples import (
    LINE,
    SPELLED_LABELS,
    check_samples,
    lowest_feature,
    rows_without,
    sample_form,
    spelled_labels,
)
from tux.io.source.input_files import Files
from tux.io.source.precision import column_ranges, large_columns
from tux.io.source.text import NUMBER, BadRows, Tell


class LabelFact(NamedTuple):
    """The facts about a label in a share: a number or a word; how it is spelled, where that may
    matter; the number of its first row here; and how many `rows` have it.
    """

    label: float | str
    spelled: str
    first: int
    rows: int


class LackingLabels(NamedTuple):
    """The number of `rows` of a share without a label, the place of the first, and what it has
    instead.
    """

    rows: int = 0
    place: str = ""
    label: float | str = ""


class SampleFacts(NamedTuple):
    """The facts about a share of samples. `numbered`: the rows that have a number, also bad ones;
    `rows`: those that could be parsed; `entries`: of those with a label. `skipped` rows could not
    be parsed, and of the first it is known why. `labels`: the different ones, unless they are
    numbers as they are: then the `least` and the `most`, if there are any. `words`: some are no
    numbers. `weighs`: some weight is not 0; `weighed`: some is not 1. `large`: the first columns
    with large values.
    """

    numbered: int
    rows: int
    entries: int
    skipped: int
    first_skipped: str
    lacking: LackingLabels
    labels: list[LabelFact]
    extremes: tuple[float, float] | None
    words: bool
    weighs: bool
    weighed: bool
    large: list[int]
    lines: LineFacts


@dataclass
class SampleShare:
    """The rows of a share that have a label, n of them, with numbers from 1 here. `labels`: places
    in those of its `facts` (n,) int32, or numbers (n,) float64; `weight` (n,) float32.
    """

    asked: BagSpec
    how: SampleOptions
    entries: Entries
    labels: np.ndarray
    weight: np.ndarray
    facts: SampleFacts

    def ranges_of(self, columns: Sequence[int]) -> dict[int, tuple[float, float]]:
        """Return the least and the largest value of some columns, of those that are there."""
        return column_ranges(np.asarray(self.entries.column), self.entries.value, columns)


def read_sample_share(
    share: Files,
    whole: str,
    ends: tuple[str, str],
    fields: Mapping[str, np.dtype],
    how: SampleOptions,
    format: Format,
    tell: Tell | None = None,
) -> SampleShare:
    """Read a share of the samples of the `whole` input, which shows the form of the rows: see
    `tux.io.samples.samples.read_samples`. `tell` is called with the amount read.

    Raises `DataError` for a bad row, and MustReadWhole where an error needs all rows.
    """
    form = how.form or sample_form(whole, format)
    check_samples(whole, ends, fields, form, how)
    bad = BadRows(share, stop=how.on_bad_row == "stop")
    field, dtype = next(iter(fields.items()), ("value", F4))
    first = lowest_feature(format, how.form)
    asked = BagSpec(share, *ends, field, dtype, first, None, bad, how.hash_bits)
    rules = begin_lines(asked._replace(path=whole), "svm")
    if rules.head == NOTHING:
        raise read_whole(asked, "there seem to be no labels")
    read = read_share_lines(asked, "svm", rules, tell)
    column = read.entries.labels
    assert column is not None
    labels = _numbers(column) if how.numeric else _kinds(asked, read.entries.rows, column)
    return _make_share(asked, how, read, labels)


def read_whole(asked: BagSpec, why: str) -> MustReadWhole:
    """Return the error about samples that one process must read whole."""
    return MustReadWhole(f"all {asked.row}s are read whole: {why}")


class _ShareLabels(NamedTuple):
    """The labels of the rows of a share: `values` (n,) as in `SampleShare`, with any where one is
    lacking (n,); the first of these; and the facts about them.
    """

    values: np.ndarray
    lacking: np.ndarray
    first_lacking: float | str
    known: list[LabelFact]
    extremes: tuple[float, float] | None
    words: bool


def _numbers(column: np.ndarray) -> _ShareLabels:
    """Return labels that are numbers."""
    values = numbers_of(column)
    lacking = np.isnan(values)
    known = values[~lacking]
    extremes = (float(known.min()), float(known.max())) if len(known) else None
    return _ShareLabels(
        values, lacking, _first_of(column, lacking), [], extremes, column.dtype.kind == "T"
    )


def _kinds(asked: BagSpec, rows: np.ndarray, column: np.ndarray) -> _ShareLabels:
    """Return labels that are kinds, of the `rows` (n,) with these numbers."""
    words = column.dtype.kind == "T"
    if not words and (np.signbit(column) & (column == 0)).any():
        raise read_whole(asked, "there is a label -0")  # words elsewhere tell it from 0
    labels = SampleLabels.of(column)
    texts, first, counts = labels.kinds()
    spelled = (
        spelled_labels(asked.path, rows[first])
        if len(texts) <= SPELLED_LABELS
        else [""] * len(texts)
    )
    known = [
        LabelFact(text if words and not _is_number(text) else float(text), *more)
        for text, *more in zip(texts, spelled, rows[first].tolist(), counts.tolist(), strict=True)
    ]
    meant = np.array([label_value(text.strip()) is not None for text in texts], np.bool_)
    lacking = ~meant[labels.codes]
    return _ShareLabels(labels.codes, lacking, _first_of(column, lacking), known, None, words)


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and bool(np.isfinite(float(text)))


def _first_of(column: np.ndarray, there: np.ndarray) -> float | str:
    """Return the first value of a column that is `there` (n,), "" if none is."""
    label: float | str = column[there][:1].tolist()[0] if there.any() else ""
    return label


def _make_share(
    asked: BagSpec, how: SampleOptions, read: LinesRead, labels: _ShareLabels
) -> SampleShare:
    """Make a share of the rows that do not lack a label."""
    entries, lines, numbered = read
    rows, lacking = (
        SampleRows(entries, asked.bad.places.of, weight=entries.weights),
        LackingLabels(),
    )
    if labels.lacking.any():
        first = int(entries.rows[np.argmax(labels.lacking)])
        place = line_of(asked.path, first, LINE).place
        lacking = LackingLabels(int(labels.lacking.sum()), place, labels.first_lacking)
        rows = rows_without(rows, np.flatnonzero(labels.lacking))
    left, weight = rows.entries, rows.weight
    if weight is None:
        weight = np.ones(len(left.rows), np.float32)
    facts = SampleFacts(
        numbered,
        len(entries.rows),
        len(left.value),
        asked.bad.count,
        asked.bad.first,
        lacking,
        labels.known,
        labels.extremes,
        labels.words,
        bool(weight.any()),
        bool((weight != 1).any()),
        large_columns(np.asarray(left.column), left.value),
        lines,
    )
    known = labels.values[~labels.lacking]
    return SampleShare(asked, how, left._replace(labels=None), known, weight, facts)
