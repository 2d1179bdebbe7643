"""Tables with one row a sample: the entries of features that rows of columns become, by the roles
of these (`tux.io.samples.roles`).

A column of numbers or truth values is one feature with the name of the column; zeros and missing
values are no entries. A column of words is one feature for each word, called ``column=word``, with
the value 1. So is a cross of columns (`tux.io.samples.crossed`), whose place is behind them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn
from tux.io.bags.entries import BagSpec, Entries, GatheredEntries, sum_entries
from tux.io.bags.hashed import hash_words
from tux.io.bags.numbering import ColumnNumbering
from tux.io.edges.columns import unused_notes
from tux.io.samples.crossed import JoinedWords, Words, find_crosses
from tux.io.samples.faults import shared_feature
from tux.io.samples.labels import (
    SampleLabels,
    SampleRows,
    Where,
)
from tux.io.samples.options import SampleOptions
from tux.io.samples.queries import query_codes
from tux.io.samples.roles import TAKEN, Role, label_place, odd_names
from tux.io.samples.table_facts import TableFacts
from tux.io.source.precision import CloseNumbers, NumberRange, join_ranges
from tux.io.source.table_lines import LineCounts
from tux.io.source.text import NUMBER
from tux.io.vertices.columns import INDEX

COUNTERS = re.compile(r"index|row\.?names?|row|x|no|nr|num|#|.*id", re.IGNORECASE)
"""Names of columns that may count the rows; those of `INDEX` surely do."""


class TableRead(NamedTuple):
    """The rows that were read into a table, of which so many have a number, bad ones too; and the
    place of each, by its number.
    """

    table: SampleTable
    numbered: int
    where: Where


class SampleTable:
    """Rows that arrive piece by piece as columns of numbers and of words."""

    def __init__(
        self, asked: BagSpec, names: Sequence[str], roles: Sequence[Role], how: SampleOptions
    ) -> None:
        self.asked, self.names, self.roles, self.least = asked, names, roles, how.least
        self.picks = [at for at, role in enumerate(roles) if role != "none"]
        pairs = zip(names, roles, strict=True)
        taken = [name for name, role in pairs if role in TAKEN or INDEX.fullmatch(name)]
        self._crosses = find_crosses(names, taken, how.cross or (), asked.path)
        self._called = [*names, *(cross.name for cross in self._crosses)]  # crosses too, by place
        self._words = {at for at, role in enumerate(roles) if role == "word"}
        self._words.update(range(len(names), len(self._called)))
        numeric = {at for at, role in enumerate(roles) if role == "number"}
        self._columns = sorted(numeric | self._words)  # that have features
        self._features: dict[str, tuple[int, int]] = {}  # number and column of each
        self._gathered = GatheredEntries(asked.dtype)
        self._labels: list[np.ndarray] = [np.empty(0, np.int32)]
        self._kinds: dict[str, int] = {}
        self._queries: list[np.ndarray] = [np.empty(0, np.int32)]
        self._query_texts: dict[str, int] = {}
        self._targets: list[np.ndarray] = [np.empty(0)]
        self._weights: list[np.ndarray] = [np.empty(0, np.float32)]
        self.close: dict[int, CloseNumbers] = {}  # numbers of a column, by its place
        self.facts = TableFacts(
            names=self._called,
            told=[
                *odd_names(self._called, roles, how.known_features(asked.column)),
                *unused_notes(names, [*self.picks, label_place(names, how)]),
            ],
            notes=[],
            passed=LineCounts(),
            words={},
            excess={},
            missing={},
            collided=0,
            numbering=str(self._numbering() or ""),
            doubtful={},
        )

    def add(
        self,
        ids: np.ndarray,
        numbers: Mapping[int, np.ndarray],
        words: Mapping[int, Words],
        missing: Mapping[int, np.ndarray],
    ) -> None:
        """Append the rows `ids` (r,). `numbers` holds columns of numbers (r,) float64, 0 for
        those that are `missing` (r,) bool, and `words` columns of words, all by place.
        """
        for place, gaps in missing.items():
            self._count_missing(place, int(np.count_nonzero(gaps)))
        crossed = self._cross_columns(len(ids), numbers, words, missing)
        code = np.empty((len(ids), len(self._columns)), np.int32)
        value = np.zeros(code.shape)
        for at, place in enumerate(self._columns):
            if place in numbers:
                code[:, at], value[:, at] = self._number_entries(place, ids, numbers[place])
            elif place in crossed:
                code[:, at], value[:, at] = self._cross_entries(place, crossed[place])
            else:
                code[:, at], value[:, at] = self._word_entries(place, words[place])
        row, cell = np.nonzero(value)
        column, value = code[row, cell], value[row, cell]
        if self.asked.bits:
            before = len(row)
            row, column, value = sum_entries(row, column, value)
            value = np.clip(value, *self.asked.reals())
            collided = self.facts.collided + before - len(row)
            self.facts = self.facts._replace(collided=collided)
        self._gathered.add(ids, np.bincount(row, minlength=len(ids)), column, value)
        for place, role in enumerate(self.roles):
            if role == "weight":
                self._weights.append(numbers[place].astype(np.float32))
            elif role == "target":
                self._targets.append(numbers[place])
            elif role == "label":
                self._labels.append(_code_words(words[place], self._kinds))
            elif role == "query":
                self._queries.append(_code_words(words[place], self._query_texts))

    def _cross_columns(
        self,
        rows: int,
        numbers: Mapping[int, np.ndarray],
        words: Mapping[int, Words],
        missing: Mapping[int, np.ndarray],
    ) -> dict[int, JoinedWords]:
        """Return the words of the columns of each cross in so many rows, by its place. A column of
        which nothing is read has none.
        """
        known = dict(words)
        for place in {place for cross in self._crosses for place in cross.places} - known.keys():
            column = numbers.get(place)
            known[place] = (
                Words(np.full(rows, -1, np.int32), [])
                if column is None
                else Words.of_numbers(column, missing.get(place))
            )
        return {
            at: JoinedWords.of([known[place] for place in cross.places])
            for at, cross in enumerate(self._crosses, len(self.names))
        }

    def _number_entries(
        self, place: int, ids: np.ndarray, numbers: np.ndarray
    ) -> tuple[np.int32, np.ndarray]:
        """Return the feature of a column of numbers, and its value in each row."""
        (number,), (sign,) = self._number_features([self.names[place]], place)
        self._look_at(place, numbers)
        if COUNTERS.fullmatch(self.names[place]) and len(ids):
            excess = numbers - ids
            own = {place: NumberRange(float(excess.min()), float(excess.max()))}
            self.facts.excess.update(join_ranges([self.facts.excess, own]))
        return number, sign * numbers

    def _word_entries(self, place: int, words: Words) -> tuple[np.ndarray, np.ndarray]:
        """Return the feature and the value in each row of a column of words."""
        codes, texts = words
        known, signs = self._number_features(texts, place, f"{self._called[place]}=")
        self._look_at_words(place, words)
        there = np.array([bool(text) for text in texts] + [False])
        value = np.where(there, np.append(signs, 0.0), 0.0)[codes]
        return np.append(known, np.int32(-1))[codes], value

    def _cross_entries(self, place: int, columns: JoinedWords) -> tuple[np.ndarray, np.ndarray]:
        """Return the feature and the value in each row of a cross. Hashes need no list of them."""
        if not self.asked.bits:
            return self._word_entries(place, columns.cross())
        name, there = f"{self._called[place]}=", columns.complete
        code, value = np.full(len(there), -1, np.int32), np.zeros(len(there))
        found = hash_words(columns.texts, self.asked.bits, name, columns.codes)
        code[there], value[there] = found
        return code, value

    def tell_categories(self, place: int) -> None:
        """Note a column of categories that are numbers, once."""
        note = (
            f"column {self.names[place]} holds categories that are numbers, and is read as one of "
            "numbers; convert it to strings if these are no amounts"
        )
        self.facts.notes.extend([note] if note not in self.facts.notes else [])

    def _count_missing(self, place: int, count: int) -> None:
        """Count missing numbers of a column."""
        self.facts.missing[place] = self.facts.missing.get(place, 0) + count

    def _look_at(self, place: int, numbers: np.ndarray) -> None:
        """Look whether a column of numbers loses digits in 32 bits."""
        if self.asked.dtype.itemsize <= 4:
            self.close.setdefault(place, CloseNumbers()).add(numbers)

    def _look_at_words(self, place: int, words: Words) -> None:
        """Look whether the words of a column are all numbers."""
        if not self.facts.words.get(place, True):
            return
        codes, texts = words
        there = np.bincount(codes[codes >= 0], minlength=len(texts)) > 0
        used = [text for text, is_used in zip(texts, there.tolist(), strict=True) if is_used]
        if found := [*filter(None, used)]:
            self.facts.words[place] = all(map(NUMBER.fullmatch, found))

    def _number_features(
        self, names: Sequence[str], place: int, before: str = ""
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the features of a column, int32, and their signs, float64. A
        feature is called `before` + name. An empty name without `before` has no feature: its number
        means nothing.
        """
        if self.asked.bits:
            numbers, signs = hash_words(names, self.asked.bits, before)
            return numbers.astype(np.int32), signs
        known = [self._feature(before + name, place) if name else -1 for name in names]
        return np.array(known, np.int32), np.ones(len(names))

    def _feature(self, name: str, place: int) -> int:
        number, owner = self._features.setdefault(name, (len(self._features), place))
        if owner != place:
            columns = [self._called[at] for at in sorted((owner, place))]
            raise shared_feature(self.asked, columns, name)
        return number

    def doubtful(self) -> dict[str, int]:
        """Return the features that two columns of words may give, as `a` and `a=b` may, each with
        the place of the column that gives it here.
        """
        words = [self._called[at] for at in self._words]
        longer = tuple(
            f"{name}=" for name in words if any(name.startswith(f"{each}=") for each in words)
        )
        return {
            name: place
            for name, (_, place) in (self._features.items() if longer else ())
            if name.startswith(longer)
        }

    def whole(self, where: Where) -> SampleRows:
        """Return all rows; call it once."""
        entries: Entries = self._gathered.whole()
        codes = np.asarray(entries.column).astype(np.int32, copy=False)
        names = np.array(list(self._features), STRING)
        column = codes if self.asked.bits else CodedColumn(codes, names)
        labels = (
            SampleLabels(np.concatenate(self._labels), list(self._kinds))
            if "label" in self.roles
            else None
        )
        targets = np.concatenate(self._targets) if "target" in self.roles else None
        weight = np.concatenate(self._weights) if "weight" in self.roles else None
        query = None
        if "query" in self.roles:
            coded = SampleLabels(np.concatenate(self._queries), list(self._query_texts))
            query = query_codes(coded)
        lost = {at: each.note(f"column {self.names[at]}") for at, each in self.close.items()}
        notes = self.facts.sentences(self.asked, len(entries.rows), lost)
        entries = entries._replace(column=column, notes=notes, numbering=self._numbering())
        return SampleRows(entries, where, labels, targets, weight, query)

    def _numbering(self) -> ColumnNumbering | None:
        """Return how the names of the features begin, if they are numbers; None if they are not."""
        names = [self._called[place] for place in self._columns]
        return None if self._words else ColumnNumbering.of_names(names)


def _code_words(words: Words, known: dict[str, int]) -> np.ndarray:
    """Return the code of each row's word (r,) int32, -1 if there is none; a word gets the next code
    where it is not `known` yet.
    """
    codes, texts = words
    there = np.bincount(codes[codes >= 0], minlength=len(texts)) > 0
    coded = [
        known.setdefault(text, len(known)) if text and used else -1
        for text, used in zip(texts, there.tolist(), strict=True)
    ]
    return np.array([*coded, -1], np.int32)[codes]
