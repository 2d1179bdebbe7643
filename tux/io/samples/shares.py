"""A share of labelled samples, as one of several processes reads it: its rows, and the facts about
them that all processes tell each other (`tux.io.samples.joined_facts`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import CodedColumn
from tux.base.errors import DataError, MustReadWhole
from tux.base.text import plural_noun
from tux.io.bags.bag_lines import LineFacts, begin_lines, read_share_lines
from tux.io.bags.bags import drop_unused_values
from tux.io.bags.entries import BagSpec, Entries
from tux.io.bags.pair_lines import NOTHING, WEIGHTED
from tux.io.formats.format import Format
from tux.io.samples.columns import TableRead
from tux.io.samples.labels import (
    F4,
    SampleLabels,
    SampleRows,
    Where,
    label_value,
    line_of,
    numbers_of,
    plain_number,
)
from tux.io.samples.matrix_share import read_matrix_rows
from tux.io.samples.options import SampleOptions
from tux.io.samples.parquet import parquet_table
from tux.io.samples.samples import (
    LINE,
    SPELLED_LABELS,
    plan_reading,
    rows_without,
    spelled_labels,
)
from tux.io.samples.table_facts import TableFacts
from tux.io.samples.tables import text_table
from tux.io.source.input_files import Files
from tux.io.source.places import Places
from tux.io.source.precision import CloseNumbers, NumberRange, column_ranges, large_columns
from tux.io.source.text import NUMBER, Tell


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
    numbers as they are. `words`: some are no numbers. `weighs`: some weight is not 0; `weighed`:
    some is not 1. `large`: the first columns with large values, by number or place, with their
    names. `extremes`: of the numbers of columns, by place, the least and the largest: see
    `tux.io.source.precision.CloseNumbers`. `numbering`: of the columns of a matrix.
    """

    numbered: int
    rows: int
    entries: int
    skipped: int
    first_skipped: str
    lacking: LackingLabels
    labels: list[LabelFact]
    words: bool
    weighs: bool
    weighed: bool
    large: list[tuple[int, str]]
    extremes: dict[int, NumberRange]
    lines: LineFacts | None = None
    table: TableFacts | None = None
    numbering: str = ""


@dataclass
class SampleShare:
    """The rows of a share that have a label, n of them, with numbers from 1 here. `labels`: places
    in those of its `facts` (n,) int32, or numbers (n,) float64; `weight` (n,) float32. `close`: the
    different numbers of columns, as far as they are close together. `where(row)`: the
    place of a row, by its number here.
    """

    asked: BagSpec
    how: SampleOptions
    entries: Entries
    labels: np.ndarray
    weight: np.ndarray
    close: dict[int, CloseNumbers]
    facts: SampleFacts
    where: Where

    def ranges_of(self, columns: Mapping[int, str]) -> dict[int, NumberRange]:
        """Return the least and the largest value of some columns, by number or place, of those that
        are there.
        """
        column = self.entries.column
        if not isinstance(column, CodedColumn):
            return column_ranges(column, self.entries.value, columns)
        codes = {name: code for code, name in enumerate(column.values.tolist())}
        places = {codes[name]: place for place, name in columns.items() if name in codes}
        ranges = column_ranges(column.codes, self.entries.value, places)
        return {places[code]: pair for code, pair in ranges.items()}

    def different(self, key: int) -> np.ndarray:
        """Return the different numbers of a column that are close together."""
        found = self.close[key].values if key in self.close else None
        return np.empty(0) if found is None else found


class _Read(NamedTuple):
    """The rows of a share, of which so many have a number; their labels, if they do not stand in
    another file; and the facts that only some forms have.
    """

    rows: SampleRows
    numbered: int
    labels: _ShareLabels | None
    close: dict[int, CloseNumbers]
    lines: LineFacts | None = None
    table: TableFacts | None = None
    numbering: str = ""


class UnlabelledShare(NamedTuple):
    """The rows of a share whose labels stand in another file."""

    asked: BagSpec
    how: SampleOptions
    read: _Read

    def with_labels(self, before: int, rows: int) -> SampleShare:
        """Read the labels of these rows, behind so many `before` them, of all `rows` that have a
        number, bad ones too. If the file has labels for another number of rows, none is known.
        """
        file, read, ids = self.how.label_file, self.read, self.read.rows.entries.rows
        assert file is not None
        if file.size != rows:
            none = np.zeros(len(ids), np.int32)
            labels = _ShareLabels(none, none > 0, "", [], False)
            return _make_share(self.asked, self.how, read, labels)
        column = file.read_range(before, before + read.numbered)[ids - 1]
        if self.how.numeric:
            labels = _numbers(column, self.how)
        else:
            labels = _texts(SampleLabels.of(column), ids)
        places = Places(file.path)
        read = read._replace(rows=read.rows._replace(where=lambda row: places.of(before + row)))
        return _make_share(self.asked, self.how, read, labels)


def read_sample_share(
    share: Files,
    whole: str,
    ends: tuple[str, str],
    fields: Mapping[str, np.dtype],
    how: SampleOptions,
    format: Format,
    tell: Tell | None = None,
) -> SampleShare | UnlabelledShare:
    """Read a share of the samples of the `whole` input, which shows the form of the rows: see
    `tux.io.samples.samples.read_samples`. `tell` is called with the amount read.

    Raises `DataError` for a bad row, and MustReadWhole where lines seem to have no labels, or have
    some beside those of another file, or have a label -0.
    """
    form, asked = plan_reading(whole, ends, fields, format, how, share)
    if form == "svm":
        found = _read_lines(asked, how, whole, tell)
    elif form == "npz":
        found = _read_matrix(asked, how, whole)
    else:
        read = parquet_table if format is Format.PARQUET else text_table
        found = _of_table(asked, how, read(asked, how, whole, tell))
    if found.labels is None:
        return UnlabelledShare(asked, how, found)
    return _make_share(asked, how, found, found.labels)


def have_weights(whole: str, ends: tuple[str, str], how: SampleOptions, format: Format) -> bool:
    """Return whether rows come with weights, as the options say or the beginning of the `whole`.
    Raises UsageError for options that do not go together, and `DataError` if there is no row.
    """
    form, asked = plan_reading(whole, ends, {"value": F4}, format, how)
    if form != "svm":
        return how.weight is not None
    return begin_lines(asked, "svm").head == WEIGHTED


def _read_lines(asked: BagSpec, how: SampleOptions, whole: str, tell: Tell | None) -> _Read:
    """Read a share of libsvm text."""
    rules = begin_lines(asked._replace(path=whole), "svm")
    if rules.head == NOTHING and not how.given_apart:
        raise read_whole(asked, "there seem to be no labels")
    if rules.head != NOTHING and how.given_apart:
        raise read_whole(asked, "there are labels beside those of another file")
    entries, lines, numbered = read_share_lines(asked, "svm", rules, tell)
    if how.given_apart:
        return _Read(SampleRows(entries, asked.bad.places.of), numbered, None, {}, lines=lines)
    column = entries.labels
    assert column is not None
    labels = _numbers(column, how) if how.numeric else _kinds(asked, entries.rows, column)

    def where(row: int) -> str:
        return line_of(asked.path, row, LINE).place

    rows = SampleRows(entries, where, weight=entries.weights)
    return _Read(rows, numbered, labels, {}, lines=lines)


def _read_matrix(asked: BagSpec, how: SampleOptions, whole: str) -> _Read:
    """Read a share of a matrix, whose labels stand in another file."""
    if how.label_file is None:
        raise read_whole(asked, "there are no labels")
    try:
        rows = read_matrix_rows(asked, whole, how.label_file.size)
    except DataError as error:
        raise read_whole(asked, error.what) from None
    numbered = len(rows.entries.rows) + asked.bad.count
    return _Read(rows, numbered, None, {}, LineFacts(), numbering=str(rows.entries.numbering))


def _of_table(asked: BagSpec, how: SampleOptions, found: TableRead) -> _Read:
    """Return the rows of a share of a table."""
    table = found.table
    facts = table.facts._replace(doubtful=table.doubtful())
    rows = table.whole(found.where)
    labels = None
    if how.given_apart:
        pass
    elif rows.labels is not None:
        labels = _texts(rows.labels, rows.entries.rows)
    elif rows.numbers is not None:
        labels = _numbers(rows.numbers, how)
    else:
        raise read_whole(asked, "there are no labels")
    return _Read(rows, found.numbered, labels, table.close, table=facts)


def read_whole(asked: BagSpec, why: str) -> MustReadWhole:
    """Return the error about samples that one process must read whole."""
    return MustReadWhole(f"all {plural_noun(asked.row)} are read whole: {why}")


class _ShareLabels(NamedTuple):
    """The labels of the rows of a share: `values` (n,) as in `SampleShare`, with any where one is
    lacking (n,); the first of these; and the facts about them.
    """

    values: np.ndarray
    lacking: np.ndarray
    first_lacking: float | str
    known: list[LabelFact]
    words: bool


def _numbers(column: np.ndarray, how: SampleOptions) -> _ShareLabels:
    """Return labels that are numbers."""
    values = numbers_of(column, how.least)
    lacking = np.isnan(values)
    return _ShareLabels(values, lacking, _first_of(column, lacking), [], column.dtype.kind == "T")


def _texts(labels: SampleLabels, rows: np.ndarray) -> _ShareLabels:
    """Return labels that are texts, of the `rows` (n,) with these numbers."""
    codes, texts = labels
    _, first, counts = labels.kinds()
    facts = zip(texts, rows[first].tolist(), counts.tolist(), strict=True)
    known = [LabelFact(text, text, *each) for text, *each in facts]
    lacking = _are_lacking(labels)
    at = int(codes[np.argmax(lacking)]) if lacking.any() else -1
    return _ShareLabels(codes, lacking, "" if at < 0 else texts[at], known, True)


def _are_lacking(labels: SampleLabels) -> np.ndarray:
    """Return which labels are missing, or no labels (n,)."""
    lacking: np.ndarray = np.array(
        [*(label_value(text.strip()) is None for text in labels.texts), True]
    )[labels.codes]
    return lacking


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
    lacking = _are_lacking(labels)
    return _ShareLabels(labels.codes, lacking, _first_of(column, lacking), known, words)


def _is_number(text: str) -> bool:
    return NUMBER.fullmatch(text) is not None and bool(np.isfinite(float(text)))


def _first_of(column: np.ndarray, there: np.ndarray) -> float | str:
    """Return the first value of a column that is `there` (n,), "" if none is."""
    label: float | str = column[there][:1].tolist()[0] if there.any() else ""
    # JSON has no NaN
    return label if isinstance(label, str) or np.isfinite(label) else plain_number(label)


def _make_share(
    asked: BagSpec, how: SampleOptions, read: _Read, labels: _ShareLabels
) -> SampleShare:
    """Make a share of the rows that do not lack a label."""
    rows, lacking = read.rows, LackingLabels()
    parsed = len(rows.entries.rows)
    if labels.lacking.any():
        first = int(rows.entries.rows[np.argmax(labels.lacking)])
        count = int(np.count_nonzero(labels.lacking))
        lacking = LackingLabels(count, rows.where(first), labels.first_lacking)
        rows = rows_without(rows, np.flatnonzero(labels.lacking))
    left = rows.entries._replace(labels=None, column=drop_unused_values(rows.entries.column))
    weight = np.ones(len(left.rows), np.float32) if rows.weight is None else rows.weight
    facts = SampleFacts(
        read.numbered,
        parsed,
        len(left.value),
        asked.bad.count,
        asked.bad.first,
        lacking,
        labels.known,
        labels.words,
        bool(weight.any()),
        bool((weight != 1).any()),
        _large(left, read.table),
        {key: each.extremes for key, each in read.close.items() if each.extremes},
        read.lines,
        read.table,
        read.numbering,
    )
    known = labels.values[~labels.lacking]
    return SampleShare(asked, how, left, known, weight, read.close, facts, rows.where)


def _large(entries: Entries, table: TableFacts | None) -> list[tuple[int, str]]:
    """Return the first columns with large values: their numbers, or their places in a table, and
    their names.
    """
    column = entries.column
    if not isinstance(column, CodedColumn):
        return [(number, str(number)) for number in large_columns(column, entries.value)]
    names = [column.values[code] for code in large_columns(column.codes, entries.value)]
    assert table is not None
    return [(table.names.index(name), name) for name in names]
