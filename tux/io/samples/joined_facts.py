"""The facts about all shares of labelled samples together: what reading the whole finds out about
labels, numbers of rows, and what the user should know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tux.base.errors import DataError, TuxError, UsageError
from tux.io.bags.bag_lines import LineFacts
from tux.io.bags.entries import BagSpec
from tux.io.samples.faults import (
    label_count_error,
    label_error,
    label_fault,
    no_entry,
    no_label,
    no_weight,
    several_error,
    shared_feature,
)
from tux.io.samples.labels import (
    Classes,
    LabelKinds,
    UnknownLabel,
    Where,
    kind_numbers,
    kind_signs,
    number_label_fault,
    plain_number,
    unknown_label,
)
from tux.io.samples.options import SampleOptions
from tux.io.samples.samples import SPELLED_LABELS, several_labels
from tux.io.samples.shares import SampleFacts
from tux.io.samples.table_facts import TableFacts
from tux.io.source.precision import (
    LOOKED_AT,
    NumberRange,
    column_notes,
    join_ranges,
    lost_note,
    may_lose_digits,
)
from tux.io.source.text import BadRows


class SampleFault(NamedTuple):
    """An error about all rows, and the number of the row of which the error is to have the place;
    0 if it has one, or needs none.
    """

    error: TuxError
    row: int = 0


@dataclass(frozen=True)
class JoinedFacts:
    """The facts about `each` share, in their order. `asked` has the names in messages."""

    each: Sequence[SampleFacts]
    asked: BagSpec
    how: SampleOptions

    def fault(self) -> SampleFault | None:
        """Return the first fault that only all shares together show; None if there is none."""
        rows: list[int] = []

        def where(row: int) -> str:
            rows.append(row)  # the loader that has read it knows its place
            return ""

        try:
            self._check_features()
            self._check_labels(where)
            if not self.how.numeric:
                self._classes(where)
            self._check_content()
        except (DataError, UsageError) as error:
            return SampleFault(error, next(iter(rows), 0))
        return None

    def _check_features(self) -> None:
        """Raise `DataError` where two columns of a table give the same feature."""
        owner: dict[str, int] = {}
        for facts in filter(None, (facts.table for facts in self.each)):
            for name, place in facts.doubtful.items():
                if owner.setdefault(name, place) != place:
                    columns = [facts.names[at] for at in sorted((owner[name], place))]
                    raise shared_feature(self.asked, columns, name)

    def _check_labels(self, where: Where) -> None:
        """Raise `DataError` where labels are several in a row, or are lacking and may not."""
        known = self._kinds
        beside = self.how.label_file is None and any(facts.lines for facts in self.each)
        if beside and (several := self._several(known.texts)):
            row = int(known.first[known.texts.index(several)])
            raise several_error(several, where(row))
        rows = self._rows
        if not rows:
            bad = BadRows(self.asked.path, stop=False)
            bad.count, bad.first = sum(facts.skipped for facts in self.each), self.first_skipped
            raise bad.no_usable_row(self.asked.row)
        if (file := self.how.label_file) and file.size != self.numbered_rows:
            given = file.size, file.first, self.numbered_rows
            raise label_count_error(*given, self.asked, file.path)
        if not (lacking := self._lacking):
            return
        if self.how.on_bad_row == "stop":
            place, why = self._first_lacking()
            raise label_error(why, place, lacking, rows)
        if lacking == rows:
            raise no_label(self.asked.path, self.first_skipped)

    def _several(self, texts: Sequence[str]) -> str:
        """Return the first label that looks like several; a number does not."""
        words = {fact.label for facts in self.each for fact in facts.labels}
        return several_labels([text for text in texts if text in words])

    def _check_content(self) -> None:
        """Raise `DataError` if the rows have no entry, or no weight."""
        if not any(facts.entries for facts in self.each):
            raise no_entry(self.asked, self._rows - self._lacking)
        if not any(facts.weighs for facts in self.each):
            raise no_weight(self.asked.row)

    @property
    def _rows(self) -> int:
        """The number of rows that could be parsed."""
        return sum(facts.rows for facts in self.each)

    @property
    def _lacking(self) -> int:
        """The number of these rows that have no label."""
        return sum(facts.lacking.rows for facts in self.each)

    def rows_before(self, share: int) -> int:
        """Count the rows that have numbers before a share."""
        return sum(facts.numbered for facts in self.each[:share])

    @property
    def numbered_rows(self) -> int:
        """The number of rows that have a number, also bad ones."""
        return self.rows_before(len(self.each))

    @property
    def first_skipped(self) -> str:
        """The place and the fault of the first row that was skipped: those that cannot be parsed
        come before those without a label, as in reading the whole.
        """
        told = [facts.first_skipped for facts in self.each if facts.skipped]
        if told or not any(facts.lacking.rows for facts in self.each):
            return told[0] if told else ""
        return "{}: {}".format(*self._first_lacking())

    def _first_lacking(self) -> tuple[str, str]:
        """Return the place and the fault of the first row without a label, of one at least."""
        first = next(facts.lacking for facts in self.each if facts.lacking.rows)
        if self.how.numeric:
            return first.place, number_label_fault(
                self._text(first.label), "the label", self.how.least
            )
        return first.place, label_fault(self._text(first.label))

    def _text(self, label: float | str) -> str:
        """Return the text of a label, as reading the whole has it."""
        if isinstance(label, str):
            return label
        return f"{label:.17g}" if any(facts.words for facts in self.each) else plain_number(label)

    @property
    def large(self) -> dict[int, str]:
        """The first columns with large values, by number or place, and their names."""
        return dict(sorted({pair for facts in self.each for pair in facts.large})[:LOOKED_AT])

    @property
    def lossy(self) -> list[int]:
        """The columns of numbers, by place, that may lose digits which matter."""
        known = join_ranges(facts.extremes for facts in self.each)
        return [key for key, own in sorted(known.items()) if may_lose_digits(*own)]

    def notes(
        self,
        ranges: Sequence[Mapping[int, NumberRange]],
        different: Mapping[int, np.ndarray],
    ) -> tuple[str, ...]:
        """Return sentences for the user. `ranges`: of each share, the least and the largest value
        of the `large` columns that it has; `different`: the different numbers of those that are
        `lossy`.
        """
        known = join_ranges(ranges)
        joined = {name: known[column] for column, name in self.large.items() if column in known}
        lines, table = self._lines, self._table
        if table is None:
            return (*lines.notes(self.asked), *column_notes(joined))
        told = {at: lost_note(f"column {table.names[at]}", different[at]) for at in different}
        rows = sum(facts.rows for facts in self.each)
        return (*table.sentences(self.asked, rows, told), *column_notes(joined))

    @property
    def _lines(self) -> LineFacts:
        """The facts about all lines of libsvm text."""
        return LineFacts.join([facts.lines or LineFacts() for facts in self.each])

    @property
    def _table(self) -> TableFacts | None:
        """The facts about all rows of a table, if the input is one."""
        known = [facts.table for facts in self.each if facts.table]
        before = [self.rows_before(share) for share in range(len(self.each))]
        return TableFacts.join(known, before) if len(known) == len(self.each) else None

    @property
    def numbered(self) -> str:
        """The text that tells how columns are numbered: `tux.arrays.edges.EdgeData.numbered`."""
        if told := self.each[0].numbering:
            return told
        if (table := self._table) is not None:
            return table.numbering
        return str(self._lines.numbering(self.asked, "svm"))

    def label_values(self, share: int) -> tuple[np.ndarray, Classes]:
        """Return the number that stands for each label of a share (k,) float32, and the classes."""
        values, kind_of, classes = self._classes(lambda row: "")
        places = {text: at for at, text in enumerate(self._kinds.texts)}
        own = [places[self._text(fact.label)] for fact in self.each[share].labels]
        return np.append(values, np.float32(0))[kind_of[own]], classes

    def _classes(self, where: Where) -> tuple[np.ndarray, np.ndarray, Classes]:
        """Return the number that stands for each kind of labels (k,) float32, the kind of each text
        of `_kinds`, and the classes. Raises the errors of `tux.io.samples.labels.label_signs`, and
        UsageError for a label that is none of the classes which the user has named.
        """
        kinds, named, source = self._kinds, self.how.classes, self.how.labels_path(self.asked.path)
        if len(kinds.texts) <= SPELLED_LABELS:
            kinds = kinds._replace(texts=self._spell(kinds.texts))
        merged, kind_of = kinds.merge()
        told = kind_numbers if self.how.multiclass else kind_signs
        try:
            values, classes = told(merged, named, where, source)
        except UnknownLabel as error:
            if named is None:
                raise
            many = self.how.multiclass
            raise unknown_label(error, source, named, multiclass=many) from None
        return values, kind_of, classes

    @cached_property
    def _kinds(self) -> LabelKinds:
        """The texts of the labels of all shares, with the numbers of rows among all."""
        first, counts = dict[str, int](), dict[str, int]()
        before = 0
        for facts in self.each:
            for fact in facts.labels:
                text = self._text(fact.label)
                first.setdefault(text, before + fact.first)
                counts[text] = counts.get(text, 0) + fact.rows
            before += facts.numbered
        return LabelKinds(
            [*first], np.array([*first.values()], np.int64), np.array([*counts.values()], np.int64)
        )

    def _spell(self, texts: Sequence[str]) -> list[str]:
        """Return how texts of labels are spelled in the first row that has them."""
        spelled: dict[str, str] = {}
        for facts in self.each:
            for fact in facts.labels:
                spelled.setdefault(self._text(fact.label), fact.spelled)
        return [spelled[text] for text in texts]
