"""The facts about all shares of labelled samples together: what reading the whole finds out about
labels, numbers of rows, and what the user should know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tux.base.errors import DataError, UsageError
from tux.io.bags.bag_lines import LineFacts
from tux.io.bags.entries import BagSpec
from tux.io.samples.labels import (
    Classes,
    LabelKinds,
    kind_numbers,
    kind_signs,
    number_label_fault,
    plain_number,
)
from tux.io.samples.options import SampleOptions
from tux.io.samples.samples import SPELLED_LABELS, label_error, label_fault, several_labels
from tux.io.samples.shares import LABELS, SampleFacts, read_whole
from tux.io.samples.table_facts import TableFacts
from tux.io.source.precision import (
    LOOKED_AT,
    NumberRange,
    column_notes,
    join_ranges,
    lost_note,
    may_lose_digits,
)


@dataclass(frozen=True)
class JoinedFacts:
    """The facts about `each` share, in their order. `asked` has the names in messages."""

    each: Sequence[SampleFacts]
    asked: BagSpec
    how: SampleOptions

    def check(self) -> None:
        """Raise `DataError` if a row lacks its label and may not, and MustReadWhole for another
        error that only the whole shows.
        """
        rows = sum(facts.rows for facts in self.each)
        lacking = sum(facts.lacking.rows for facts in self.each)
        if not rows or lacking == rows and self.how.on_bad_row == "skip":
            raise read_whole(self.asked, "none is usable")
        texts = [fact.label for facts in self.each for fact in facts.labels]
        of_lines = any(facts.lines for facts in self.each)
        if of_lines and several_labels([text for text in texts if isinstance(text, str)]):
            raise read_whole(self.asked, "there seem to be several labels in a row")
        if lacking and self.how.on_bad_row == "stop":
            place, why = self._first_lacking()
            raise label_error(why, place, lacking, rows)
        if not any(facts.entries for facts in self.each):
            raise read_whole(self.asked, f"there is no {self.asked.column}")
        if not any(facts.weighs for facts in self.each):
            raise read_whole(self.asked, "all weights are 0")

    def rows_before(self, share: int) -> int:
        """Count the rows that have numbers before a share."""
        return sum(facts.numbered for facts in self.each[:share])

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
            return first.place, number_label_fault(self._text(first.label), "the label")
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
        """The columns of numbers, by place, and `LABELS`, that may lose digits which matter."""
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
            lost = lost_note("labels", different[LABELS]) if LABELS in different else ""
            return (*lines.notes(self.asked), *([lost] if lost else []), *column_notes(joined))
        names = {at: f"column {table.names[at]}" for at in different if at != LABELS}
        told = {at: lost_note(name, different[at]) for at, name in names.items()}
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
        if (table := self._table) is not None:
            return table.numbering
        return str(self._lines.numbering(self.asked, "svm"))

    def label_values(self, share: int) -> tuple[np.ndarray, Classes]:
        """Return the number that stands for each label of a share (k,) float32, and the classes.
        Raises MustReadWhole for labels that are not of the classes, or of too few or too many
        kinds.
        """
        kinds = self._kinds()
        places = {text: at for at, text in enumerate(kinds.texts)}
        if len(kinds.texts) <= SPELLED_LABELS:
            kinds = kinds._replace(texts=self._spell(kinds.texts))
        merged, kind_of = kinds.merge()
        told = kind_numbers if self.how.multiclass else kind_signs
        try:
            values, classes = told(merged, self.how.classes, lambda at: "", self.asked.path)
        except (DataError, UsageError) as error:
            raise read_whole(self.asked, error.what) from None
        own = [places[self._text(fact.label)] for fact in self.each[share].labels]
        return np.append(values, np.float32(0))[kind_of[own]], classes

    def _kinds(self) -> LabelKinds:
        """Return the texts of the labels of all shares."""
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
