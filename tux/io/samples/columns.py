"""Tables with one row a sample: the roles of their columns, and the entries of features that rows
of columns become.

A column of numbers or truth values is one feature with the name of the column; zeros and missing
values are no entries. A column of words is one feature for each word, called ``column=word``, with
the value 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from tux.arrays.arrow import STRING, CodedColumn
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.bags.entries import BagSpec, Entries, GatheredEntries, sum_entries
from tux.io.bags.hashed import hash_words
from tux.io.bags.numbering import ColumnNumbering
from tux.io.bags.pair_faults import number_fault
from tux.io.edges.columns import check_names_differ, unused_notes
from tux.io.samples.faults import shared_feature
from tux.io.samples.labels import (
    MAX_LABEL,
    SampleLabels,
    SampleRows,
    Where,
    number_label_fault,
    plain_number,
)
from tux.io.samples.options import SampleOptions
from tux.io.samples.table_facts import TableFacts
from tux.io.source.precision import CloseNumbers, NumberRange, join_ranges
from tux.io.source.table_lines import LineCounts
from tux.io.source.text import NUMBER
from tux.io.vertices.columns import INDEX

SHOWN = 10  # names of columns in a sentence
Role = Literal["number", "word", "label", "target", "weight", "none"]
"""The role of a column; a target is a label that is a number."""
NUMBERS: tuple[Role, ...] = ("number", "target", "weight")
CALLED: dict[Role, str] = {"target": "label ", "weight": "weight "}  # in messages
# names of the column of labels, the first of these that there is
USUAL = ("label", "y", "target", "class")
COUNTERS = re.compile(r"index|row\.?names?|row|x|no|nr|num|#|.*id", re.IGNORECASE)
"""Names of columns that may count the rows; those of `INDEX` surely do."""
TRUTHS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


class Words(NamedTuple):
    """A piece of a column of words: row i has ``texts[codes[i]]``, or none if the code is -1."""

    codes: np.ndarray  # (r,) int32
    texts: list[str]

    @classmethod
    def of(cls, column: Any) -> Words:
        """Make it of a dictionary array of strings of Arrow."""
        codes = column.indices.cast("int32").fill_null(-1).to_numpy(zero_copy_only=False)
        return cls(codes, [text or "" for text in column.dictionary.to_pylist()])


def roles_of(names: Sequence[str], how: SampleOptions, path: str) -> dict[int, Role]:
    """Find the columns that are a label, a weight, or nothing, by their 0-based places. Raises
    `DataError` if one is missing.
    """
    check_names_differ([name for name in names if not INDEX.fullmatch(name)], path)
    roles: dict[int, Role] = {at: "none" for at, name in enumerate(names) if INDEX.fullmatch(name)}
    lower = [name.lower() for name in names]
    usual = next((lower.index(name) for name in USUAL if name in lower), None)
    label = (
        names.index(how.label) if how.label in names else None if how.label is not None else usual
    )
    has = f"It has {', '.join(names[:30])}{', ...' if len(names) > 30 else ''}"
    if how.given_apart and label is not None:
        raise DataError(
            f"{path} has labels itself, in column {names[label]!r}",
            do="Leave the file of labels out, or that column.",
        )
    if label is None and how.require_labels and not how.given_apart:
        what = "no column of labels" if how.label is None else f"no column {how.label!r}"
        rule = (
            "; name that of the labels with --label, or a file of them with --labels"
            if how.label is None
            else ""
        )
        raise DataError(what, where=path, do=f"{has}{rule}.")
    if how.weight is not None and how.weight not in names and how.require_labels:
        raise DataError(f"no column {how.weight!r}", where=path, do=f"{has}.")
    if label is not None:
        # a number that is not needed may be anything
        roles[label] = "label" if not how.numeric else "target" if how.require_labels else "none"
    if how.weight in names:
        if roles.setdefault(names.index(how.weight), "weight") != "weight":
            raise DataError(
                f"column {how.weight!r} cannot be that of the weights",
                where=path,
                do="Name another one.",
            )
    return roles


def _odd_names(names: Sequence[str], roles: Sequence[Role], known: Ids | None) -> list[str]:
    """Return sentences for the user about the names of columns: about several that may be that of
    the labels, and about missing columns of other samples, of which `known` are the features.
    """
    said = []
    usual = [name for name in names if name.lower() in USUAL]
    label = next((names[at] for at, role in enumerate(roles) if role in ("label", "target")), None)
    if label in usual and len(usual) > 1:
        others = ", ".join(name for name in usual if name != label)
        said.append(f"labels are those of column {label}, so {others} is a feature; see --label")
    elif label in ("y", "Y") and len(names) > 2 and {"x", "X"}.intersection(names):
        said.append(f"labels are those of column {label}, beside x; see --label")
    if known is not None and known.values.dtype == STRING:
        before = dict.fromkeys(text.partition("=")[0] for text in known.values.tolist())
        if missing := [name for name in before if name not in names]:
            more = ", ..." if len(missing) > SHOWN else ""
            shown = ", ".join(missing[:SHOWN])
            said.append(f"columns of training that are missing here: {shown}{more}")
    return said


def known_kinds(names: Sequence[str], known: Ids | None) -> dict[int, Role]:
    """Return the kinds of columns in other samples, by their places, as far as the `known` features
    of these show them.
    """
    if known is None or known.values.dtype != STRING or not len(known):
        return {}
    kinds: dict[int, Role] = {}
    numbers = known.encode(np.array(names, STRING)) >= 0
    words = {
        column
        for column, equals, _ in (feature.partition("=") for feature in known.values.tolist())
        if equals
    }
    for at, name in enumerate(names):
        if numbers[at] or name in words:
            kinds[at] = "number" if numbers[at] else "word"
    return kinds


def value_fault(asked: BagSpec, name: str, role: Role, number: float, text: str = "") -> str:
    """Return the fault of a number of a column in words, "" if it has none; `text` is the number as
    it is written.
    """
    if role == "target":
        missing = np.isnan(number) and not text
        return number_label_fault("" if missing else text or plain_number(number), f"label {name}")
    text = text or plain_number(number)
    if role == "weight":
        return (
            ""
            if 0 <= number <= float(np.finfo(np.float32).max)
            else f"weight {name} is {text!r}, not a finite number from 0"
        )
    least, most = asked.reals()
    whole = asked.dtype.kind != "f"
    if least <= number <= most and (not whole or number == round(number)):
        return ""
    return number_fault(text, name, whole, least, most, asked.dtype)


def faulty_values(asked: BagSpec, role: Role, values: np.ndarray) -> np.ndarray:
    """Return a mask (r,) of the values that have a `value_fault`."""
    least, most = asked.reals() if role == "number" else (0.0, MAX_LABEL)
    if role == "target":
        least = -MAX_LABEL
    good = (values >= least) & (values <= most)
    if role == "number" and asked.dtype.kind != "f":
        good &= values == np.rint(values)
    return ~good


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
        self.asked, self.names, self.roles = asked, names, roles
        self.picks = [at for at, role in enumerate(roles) if role != "none"]
        self._columns = [at for at, role in enumerate(roles) if role in ("number", "word")]
        self._features: dict[str, tuple[int, int]] = {}  # number and column of each
        self._gathered = GatheredEntries(asked.dtype)
        self._labels: list[np.ndarray] = [np.empty(0, np.int32)]
        self._kinds: dict[str, int] = {}
        self._targets: list[np.ndarray] = [np.empty(0, np.float32)]
        self._weights: list[np.ndarray] = [np.empty(0, np.float32)]
        self.close: dict[int, CloseNumbers] = {}  # numbers of a column, by its place
        self.facts = TableFacts(
            names=[*names],
            told=[
                *_odd_names(names, roles, how.known_features(asked.column)),
                *unused_notes(names, self.picks),
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
        self, ids: np.ndarray, numbers: Mapping[int, np.ndarray], words: Mapping[int, Words]
    ) -> None:
        """Append the rows `ids` (r,). `numbers` holds columns of numbers (r,) float64, 0 for
        missing ones, and `words` columns of words, both by place.
        """
        code = np.empty((len(ids), len(self._columns)), np.int32)
        value = np.zeros(code.shape)
        for at, place in enumerate(self._columns):
            if place in numbers:
                code[:, at], value[:, at] = self._number_entries(place, ids, numbers[place])
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
                self._look_at(place, numbers[place])
                self._targets.append(numbers[place].astype(np.float32))
            elif role == "label":
                self._add_labels(*words[place])

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
        known, signs = self._number_features(texts, place, f"{self.names[place]}=")
        self._look_at_words(place, words)
        there = np.array([bool(text) for text in texts] + [False])
        value = np.where(there, np.append(signs, 0.0), 0.0)[codes]
        return np.append(known, np.int32(-1))[codes], value

    def _add_labels(self, codes: np.ndarray, texts: Sequence[str]) -> None:
        there = np.bincount(codes[codes >= 0], minlength=len(texts)) > 0
        kinds = [
            self._kinds.setdefault(text, len(self._kinds)) if text and used else -1
            for text, used in zip(texts, there.tolist(), strict=True)
        ]
        self._labels.append(np.array([*kinds, -1], np.int32)[codes])

    def tell_categories(self, place: int) -> None:
        """Note a column of categories that are numbers, once."""
        note = (
            f"column {self.names[place]} holds categories that are numbers, and is read as one of "
            "numbers; convert it to strings if these are no amounts"
        )
        self.facts.notes.extend([note] if note not in self.facts.notes else [])

    def count_missing(self, place: int, count: int) -> None:
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
            columns = [self.names[at] for at in sorted((owner, place))]
            raise shared_feature(self.asked, columns, name)
        return number

    def doubtful(self) -> dict[str, int]:
        """Return the features that two columns of words may give, as `a` and `a=b` may, each with
        the place of the column that gives it here.
        """
        words = [self.names[at] for at, role in enumerate(self.roles) if role == "word"]
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
        lost = {at: each.note(f"column {self.names[at]}") for at, each in self.close.items()}
        notes = self.facts.sentences(self.asked, len(entries.rows), lost)
        entries = entries._replace(column=column, notes=notes, numbering=self._numbering())
        return SampleRows(entries, where, labels, targets, weight)

    def _numbering(self) -> ColumnNumbering | None:
        """Return how the names of the features begin, if they are numbers; None if they are not."""
        kinds = [self.roles[place] for place in self._columns]
        names = [self.names[place] for place in self._columns]
        return None if "word" in kinds else ColumnNumbering.of_names(names)
