"""The numbers of columns, which begin at 1 in some forms of data and at 0 in others: feature 1 of a
libsvm file is column 0 of the matrix that scikit-learn's `load_svmlight_file` makes of it.

A model knows its columns by the numbers of the form that it was trained on. Data of another form
are renumbered where it is sure which column is which, and refused where it is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import CodedColumn, Column
from tux.arrays.disk_columns import fill_column
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import plural_noun

GRAPHS = ("matrix", "Matrix Market", "METIS", "DIMACS")
"""The forms whose rows are numbered as their columns are; those of others are numbered from 1."""
NUMBERED = re.compile(rf"({'|'.join(GRAPHS)}|libsvm|docword|lda-c|names) from ([01])")
MANY = 2  # columns, to say that their names are numbers


class ColumnNumbering(NamedTuple):
    """The form of some columns and the number of the first one: "libsvm from 1". `width`: how many
    there are, in a matrix.
    """

    form: str
    first: int
    width: int | None = None

    def __str__(self) -> str:
        return f"{self.form} from {self.first}"

    @property
    def first_row(self) -> int:
        """The number of the first row."""
        return self.first if self.form in GRAPHS else 1

    @classmethod
    def parse(cls, text: str) -> ColumnNumbering | None:
        """Return what `str` has written; None for other texts, such as "" of older runs."""
        found = NUMBERED.fullmatch(text)
        return cls(found[1], int(found[2])) if found else None

    @classmethod
    def of_names(cls, names: Sequence[str]) -> ColumnNumbering | None:
        """Return the numbering of columns called 0, 1, 2 and so on, or 1, 2, 3; None for others."""
        first = 0 if "0" in names else 1
        wanted = [str(number) for number in range(first, first + len(names))]
        return cls("names", first) if len(names) >= MANY and [*names] == wanted else None


class Trained(NamedTuple):
    """The columns that a model, or the edges of training, know: their ids, and the text of their
    `ColumnNumbering`, "" if nothing says it; and the noun of one.
    """

    ids: Ids
    numbered: str
    column: str

    @property
    def columns(self) -> str:
        """The noun of the columns."""
        return plural_noun(self.column)

    @property
    def last(self) -> int:
        """The largest number of a column; -1 if they have names."""
        values = self.ids.values
        return int(values.max(initial=0)) if values.dtype.kind in "iu" else -1


def renumber(
    column: Column,
    given: ColumnNumbering | None,
    trained: Trained,
    path: str,
    *,
    hashed: bool = False,
) -> tuple[Column, tuple[str, ...]]:
    """Return the `column` of each entry of the data called `path` in the numbers of training, and
    sentences for the user. Raises `DataError` where it is not sure which column is which.
    """
    known = ColumnNumbering.parse(trained.numbered)
    if given is None or not len(column):
        return column, ()
    if known is None:
        return column, () if hashed else _doubt(column, given, trained)
    step = known.first - given.first if known.form != given.form else 0
    if step and (hashed or "names" in (known.form, given.form)):
        raise _other_form(given, known, trained, path, hashed)
    if step and isinstance(column, np.ndarray):
        _check_sure(column, given, known, trained, path)
        column = _shift(column, step)
    notes = (_sentence(given, known, trained),) if step else ()
    return column, (*notes, *_narrow(given, known.first, trained, hashed))


def _shift(column: np.ndarray, step: int) -> np.ndarray:
    """Return the numbers of columns (m,) in 64 bits, one more or less each."""
    kind = np.dtype(np.uint64 if column.dtype.kind == "u" else np.int64)
    one, add = kind.type(1), np.add if step > 0 else np.subtract
    return fill_column(len(column), kind, lambda rows: add(column[rows], one, dtype=kind))


def _sentence(given: ColumnNumbering, known: ColumnNumbering, trained: Trained) -> str:
    """Return the sentence that tells how columns are renumbered."""
    here = "column" if given.form == "matrix" else "number"
    j, k = ("j", "j + 1") if given.first < known.first else ("j + 1", "j")
    return (
        f"{trained.columns} are numbered from {known.first} in training ({known.form}) and from "
        f"{given.first} here ({given.form}): {here} {j} is {trained.column} {k} of training"
    )


def _check_sure(
    column: np.ndarray, given: ColumnNumbering, known: ColumnNumbering, trained: Trained, path: str
) -> None:
    """Raise DataError where columns may be counted from 0 or from 1, for all that is known."""
    if given.form == "matrix":
        width, empty = given.width or 0, int(column.min()) > 0
        if not empty or width <= trained.last:
            return
        raise DataError(
            f"column 0 is empty, and there are {width:,} columns for {trained.last:,} "
            f"{trained.columns}: column j may be {trained.column} j or j + 1 of training",
            where=path,
            do=f"If it is {trained.column} j, leave column 0 out: X[:, 1:]. Else leave the last "
            f"ones out: X[:, :{trained.last}].",
        )
    if given.form == "libsvm" and int(column.max()) != trained.last + 1:
        raise DataError(
            f"{trained.columns} may be numbered from 1 or from 0 here, and are from "
            f"{known.first} in training ({known.form})",
            where=path,
            do="Give data in the form of training: a matrix, such as scikit-learn's "
            f"load_svmlight_file(FILE, n_features={trained.last + 1}, zero_based=False) makes of "
            "libsvm text; or train on libsvm text.",
        )


def _other_form(
    given: ColumnNumbering, known: ColumnNumbering, trained: Trained, path: str, hashed: bool
) -> DataError:
    """Return the error about columns that cannot be renumbered."""
    forms = {"names": "a table", "matrix": "a matrix", "libsvm": "libsvm text"}
    here, there = (forms.get(each.form, each.form) for each in (given, known))
    or_matrix = ", or a matrix" if "names" in (known.form, given.form) and not hashed else ""
    return DataError(
        f"{trained.columns} are numbered from {given.first} in {here}, and from {known.first} in "
        f"{there}, the form of training",
        where=path,
        do=f"Give data in the form of training, {there}{or_matrix}.",
    )


def _doubt(column: Column, given: ColumnNumbering, trained: Trained) -> tuple[str, ...]:
    """Return a sentence where the model does not say how its columns are numbered, and they seem to
    be numbered otherwise.
    """
    values = trained.ids.values
    if isinstance(column, CodedColumn) or values.dtype.kind not in "iu" or not len(values):
        return ()
    first = min(int(values.min()), 1)
    if first == given.first or given.form not in ("matrix", "libsvm"):
        return ()
    return (doubt_of_numbers(trained.columns, first, given),)


def doubt_of_numbers(nouns: str, first: int, given: ColumnNumbering) -> str:
    """Return the sentence about what `nouns` name, which seem to be numbered from `first` in
    training.
    """
    return (
        f"{nouns} seem to be numbered from {first} in training and are from {given.first} here "
        f"({given.form}): if so, each is taken for its neighbour; give data in the form of training"
    )


def _narrow(given: ColumnNumbering, first: int, trained: Trained, hashed: bool) -> tuple[str, ...]:
    """Return a sentence about a matrix with fewer columns than training had."""
    if given.form != "matrix" or hashed or given.width is None:
        return ()
    if (needed := trained.last + 1 - first) <= given.width:
        return ()
    return (
        f"there are {given.width:,} columns, and training had {needed:,}: {trained.columns} "
        "without a column count as 0",
    )
