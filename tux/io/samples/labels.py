"""Labels of samples: two kinds of numbers or words, as -1 and +1; any kinds, as the numbers of
their classes from 0; or any numbers, as they are.

Two numbers are of one kind if they are equal ("1", "+1", "1.0"), two words if they are the same. A
label that is empty or a number that is not finite is none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.base.errors import DataError, UsageError
from tux.base.text import join_class_names
from tux.io.bags.entries import Entries
from tux.io.bags.pair_faults import number_fault
from tux.io.source.places import Places
from tux.io.source.text import NUMBER, Begin, quote_word, text_blocks

Classes = tuple[str, ...]
Where = Callable[[int], str]
SHOWN = 5  # kinds named in a message
MORE = (
    "Leave two of them, or join some. The apps linear and gbdt with --loss softmax are for any "
    "number of classes; linear, blockpg and gbdt with --loss squared are for numbers."
)
"""Advice about more than two kinds of labels."""
F4, F8 = np.dtype("f4"), np.dtype("f8")


class LabelCountError(DataError):
    """Labels of one kind, or of more than two."""


class LabelKinds(NamedTuple):
    """The different texts of labels, or one text for each kind of them: of each the first sample
    that has it, and how many have it.
    """

    texts: list[str]
    first: np.ndarray  # (k,) int64
    counts: np.ndarray  # (k,) int64

    def merge(self) -> tuple[LabelKinds, np.ndarray]:
        """Merge the texts of each kind into one, the first that occurs; kinds are in the order in
        which they occur. Return also the kind of each text, (k,) int32, -1 for one that is no
        label.
        """
        kinds: dict[float | str, int] = {}
        texts, first = list[str](), list[int]()
        kind_of = np.full(len(self.texts), -1, np.int32)
        for at in np.argsort(self.first, kind="stable").tolist():
            text = self.texts[at].strip()
            if (meant := label_value(text)) is None:
                continue
            kind_of[at] = kinds.setdefault(meant, len(kinds))
            if len(texts) < len(kinds):
                texts.append(text)
                first.append(int(self.first[at]))
        counts = np.zeros(len(kinds), np.int64)
        np.add.at(counts, kind_of[kind_of >= 0], self.counts[kind_of >= 0])
        return LabelKinds(texts, np.array(first, np.int64), counts), kind_of


class SampleLabels(NamedTuple):
    """The label of each of n samples, ``texts[codes[i]]`` as in the file; the code is -1 if there
    is none.
    """

    codes: np.ndarray  # (n,) int32
    texts: list[str]

    @classmethod
    def of(cls, column: np.ndarray) -> SampleLabels:
        """Make labels of a column of numbers, booleans or strings (StringDType)."""
        if column.dtype.kind == "T":
            coded = (
                arrow.encode(column)
                if len(column)
                else arrow.CodedColumn(np.empty(0, np.int32), column)
            )
            return cls(coded.codes.astype(np.int32), [str(text) for text in coded.values.tolist()])
        # + 0 makes -0 of the same label 0
        coded = arrow.encode(column + column.dtype.type(0) if column.dtype.kind == "f" else column)
        values, places = np.unique(coded.values, return_inverse=True)  # labels are few
        codes = places.astype(np.int32)[coded.codes]
        return cls(codes, [plain_number(value) for value in values.tolist()])

    def merge_kinds(self) -> SampleLabels:
        """Merge the texts of each kind into one, the first that occurs."""
        kinds, kind_of = self.kinds().merge()
        return SampleLabels(np.append(kind_of, np.int32(-1))[self.codes], kinds.texts)

    def kinds(self) -> LabelKinds:
        """Return the texts, with the first sample of each and their counts."""
        return LabelKinds(self.texts, self.first(), self.counts())

    def first(self) -> np.ndarray:
        """Return the first sample of each text, (len(texts),) int64; n for a text that does not
        occur.
        """
        first = np.full(len(self.texts) + 1, len(self.codes), np.int64)
        first[self.codes[::-1]] = np.arange(len(self.codes))[::-1]  # the last one written stays
        return first[:-1]

    def counts(self) -> np.ndarray:
        """Count the samples of each text."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))


class SampleRows(NamedTuple):
    """The result of a reader of any form: n samples, their entries, and their places."""

    entries: Entries  # `labels` of these is not used
    where: Where  # the place of a row, by its id, as file:line
    labels: SampleLabels | None = None
    numbers: np.ndarray | None = None  # (n,) labels that should be numbers, as they are there
    weight: np.ndarray | None = None  # (n,) float32
    query: np.ndarray | None = None  # (n,) numbers of queries, below 0 if there is none


def plain_number(value: float | bool) -> str:
    """Write a number in its common form."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def label_value(text: str) -> float | str | None:
    """Return the value by which a label is compared: its number, or the text itself; None if it is
    no label.
    """
    if not NUMBER.fullmatch(text):
        return text or None
    return float(text) if np.isfinite(float(text)) else None


def numbers_of(column: np.ndarray, least: float) -> np.ndarray:
    """Convert labels that should be numbers, (n,), to float64; NaN for those that are missing, no
    numbers, not finite, or below `least`.
    """
    if column.dtype.kind == "T":
        codes, texts = SampleLabels.of(column)
        meant = [label_value(text.strip()) for text in texts]
        known = [value if isinstance(value, float) else np.nan for value in meant]
        column = np.array([*known, np.nan])[codes]
    values = column.astype(F8)
    return np.where(np.isfinite(values) & (values >= least), values, np.nan)


def number_label_fault(label: str, what: str, least: float) -> str:
    """Return the fault of a label that should be a number, `least` or more, in words that call it
    `what`; "" if it has none.
    """
    label = label.strip()
    if not label:
        return f"{what} is missing"
    if why := number_fault(label, what, False, -np.inf, np.inf, F8):
        return why
    return f"{what} is {quote_word(label)}, below {least:g}" if float(label) < least else ""


class InputLine(NamedTuple):
    """A line of the input."""

    place: str  # file:line
    text: str


def line_of(
    path: str,
    row: int,
    begins: re.Pattern[bytes],
    begin: Begin | None = None,
    rows: Callable[[Iterator[bytes]], Iterator[bytes]] = iter,
) -> InputLine:
    """Find the `row`-th line (from 1) of those that `begins` matches, in the text that
    ``rows(blocks)`` makes of the files, without the beginnings that are passed over
    (`tux.io.source.text.blocks`). The files are read up to there.
    """
    line, left, places = 1, row, Places(path)
    for block in rows(text_blocks(path, places, begin)):
        for found in begins.finditer(block):
            left -= 1
            if not left:
                at = found.start()
                text = block[at : block.index(b"\n", at)].decode(errors="replace")
                return InputLine(places.of(line + block.count(b"\n", 0, at)), text)
        line += block.count(b"\n")
    raise DataError(f"{path} was changed while it was read")


class UnknownLabel(DataError):
    """A label that is none of the given classes."""


def unknown_label(
    error: UnknownLabel, source: object, classes: Classes, *, multiclass: bool
) -> UsageError:
    """Return the error about a label of the `source` that is none of the `classes` which the user
    has named.
    """
    there = error.do.split(". ")[-1]
    if multiclass:
        what = f"the classes are to be {join_class_names(classes)}: {error.what}"
        do = f"name all labels of {source} with --classes, or leave it out. {there}"
    else:
        what = f"the classes are to be {classes[0]} and {classes[1]}: {error.what}"
        do = f"name two of the labels of {source} with --negative and --positive, or neither. "
        do += there
    return UsageError(what, where=error.where, do=do)


def label_signs(
    labels: SampleLabels, classes: Classes | None, where: Where, path: str
) -> tuple[np.ndarray, Classes]:
    """Convert labels, all there and one text a kind (`SampleLabels.merge_kinds`), to -1 and +1,
    (n,) float32. Returns them, and the classes that these stand for: `classes`, or the two kinds
    found.

    ``where(i)`` is the place of sample i. Raises `DataError` for another number of kinds, and with
    `classes` for a label unknown to them.
    """
    signs, classes = kind_signs(labels.kinds(), classes, where, path)
    return signs[labels.codes], classes


def kind_signs(
    kinds: LabelKinds, classes: Classes | None, where: Where, path: str
) -> tuple[np.ndarray, Classes]:
    """Return -1 or +1 for each of k kinds of labels, (k,) float32, and the classes: see
    `label_signs`.
    """
    if classes is None:
        classes = _two_classes(kinds, where, path)
    known = {label_value(classes[0].strip()): -1.0, label_value(classes[1].strip()): 1.0}
    if len(known) < 2 or None in known:
        raise UsageError(
            f"classes {classes[0]!r} and {classes[1]!r} are not two different labels", do="give two"
        )
    sign = np.array([known.get(label_value(text), 0.0) for text in kinds.texts], np.float32)
    if (sign == 0).any():
        raise _unknown(kinds, sign == 0, where, f"neither {classes[0]!r} nor {classes[1]!r}")
    return sign, classes


def class_numbers(
    labels: SampleLabels, classes: Classes | None, where: Where, path: str
) -> tuple[np.ndarray, Classes]:
    """Convert labels, all there and one text a kind (`SampleLabels.merge_kinds`), to the numbers of
    their classes from 0, (n,) float32. Returns them, and the classes: those given, or all kinds
    found, in ascending order. Raises the errors of `label_signs`.
    """
    numbers, classes = kind_numbers(labels.kinds(), classes, where, path)
    return numbers[labels.codes], classes


def kind_numbers(
    kinds: LabelKinds, classes: Classes | None, where: Where, path: str
) -> tuple[np.ndarray, Classes]:
    """Return the number of the class of each of k kinds of labels, (k,) float32, and the classes:
    see `class_numbers`.
    """
    if classes is None:
        if len(kinds.texts) < 2:
            raise _of_one_kind(kinds, path)
        classes = _ascending(kinds.texts)
    known = {label_value(name.strip()): number for number, name in enumerate(classes)}
    if len(known) < max(2, len(classes)) or None in known:
        raise UsageError(
            f"the classes are to be {', '.join(map(quote_word, classes))}, which are not "
            "two labels or "
            "more, all different and none empty",
            do="give each of them once",
        )
    number = np.array([known.get(label_value(text), -1) for text in kinds.texts], np.float32)
    if (number < 0).any():
        raise _unknown(kinds, number < 0, where, f"none of the classes {_first_texts(classes)}")
    return number, tuple(classes)


def _unknown(kinds: LabelKinds, wrong: np.ndarray, where: Where, what: str) -> UnknownLabel:
    """Return the error about the first sample with one of the `wrong` kinds, which is not among the
    classes.
    """
    at = int(np.argmin(np.where(wrong, kinds.first, np.iinfo(np.int64).max)))
    return UnknownLabel(
        f"label {quote_word(kinds.texts[at])} is {what}",
        where=where(int(kinds.first[at])),
        do="Correct the label; the classes are those of training. It has "
        f"{_first_texts(kinds.texts)}.",
    )


def _first_texts(texts: Sequence[str]) -> str:
    """Return the first ones of some texts, for a message."""
    shown = ", ".join(quote_word(each) for each in texts[:SHOWN])
    return f"{shown}, ..." if len(texts) > SHOWN else shown


def _ascending(texts: Sequence[str]) -> Classes:
    """Sort kinds of labels: by value if all are numbers, else as texts."""
    values = {text: label_value(text) for text in texts}
    if all(isinstance(value, float) for value in values.values()):
        return tuple(sorted(texts, key=lambda text: values[text]))  # type: ignore[arg-type, return-value]
    return tuple(sorted(texts))


def _of_one_kind(kinds: LabelKinds, path: str) -> LabelCountError:
    (text,), (count,) = kinds.texts, kinds.counts.tolist()
    return LabelCountError(
        f"all labels of {path} are of one kind: {quote_word(text)} ({count:,})",
        do="To tell two kinds apart, samples of both are needed.",
    )


def _two_classes(kinds: LabelKinds, where: Where, path: str) -> Classes:
    """Return the two kinds of labels, the smaller first. LabelCountError for another number
    of kinds.
    """
    if len(kinds.texts) == 2:
        return _ascending(kinds.texts)
    if len(kinds.texts) < 2:
        raise _of_one_kind(kinds, path)
    shown = [
        f"{quote_word(text)} ({count:,})"
        for text, count in zip(kinds.texts[:SHOWN], kinds.counts.tolist(), strict=False)
    ]
    more = ", ..." if len(kinds.texts) > SHOWN else ""
    found = f"{len(kinds.texts):,} kinds of labels instead of two: {', '.join(shown)}{more}"
    raise LabelCountError(found, where=where(int(kinds.first[2])), do=MORE)
