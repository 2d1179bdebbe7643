"""Files whose rows are bags of columns: what every reader of such files is asked for, and what
it returns.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import Column
from tux.arrays.ids import Ids
from tux.arrays.integers import joined, narrow
from tux.base.errors import UsageError
from tux.io.text import Bad

MAX_COLUMN = 2**64 - 1  # what a column's number may be at most
# whole numbers up to this one are exact in double precision and have at most 15 digits
WHOLE = 10**15 - 1


class BagSpec(NamedTuple):
    """What to read, and what messages call it."""

    path: str
    row: str  # one row is a document, or a sample
    column: str  # a word, or a feature
    field: str  # the number of an entry
    dtype: np.dtype  # of that number
    first: int  # the lowest number of a column
    columns: int | None  # how many there may be, if that is known
    bad: Bad
    bits: int = 0  # columns are hashed into 2^bits (`tux.io.hashed`); 0: they are not

    @property
    def last(self) -> int:
        """The highest number of a column."""
        return MAX_COLUMN if self.columns is None else self.first + self.columns - 1

    def outside(self, number: int) -> str:
        """Why `number` is no column, or nothing."""
        if number < self.first:
            return f"{self.column} {number}, but {self.column}s are numbered from {self.first}"
        if self.columns is not None and number > self.last:
            return f"{self.column} {number} is beyond the vocabulary of {self.columns:,}"
        return f"{self.column} {number} is too large a number" if number > MAX_COLUMN else ""

    def counts(self) -> tuple[int, int]:
        """The range of whole counts that the field can hold."""
        return 1, 1 if self.dtype.kind == "b" else min(int(_top(self.dtype)), WHOLE)

    def reals(self) -> tuple[float, float]:
        """The range of any numbers that the field can hold; short of the largest double, so that
        rounding never makes it infinite.
        """
        if self.dtype.kind == "b":
            return 0, 1
        low = float(np.iinfo(self.dtype).min) if self.dtype.kind in "iu" else -_top(self.dtype)
        return max(low, -1.7e308), min(_top(self.dtype), 1.7e308)


def _top(dtype: np.dtype) -> float:
    return float(np.iinfo(dtype).max if dtype.kind in "iu" else np.finfo(dtype).max)


class Entries(NamedTuple):
    """m entries of n rows."""

    rows: np.ndarray  # (n,) int64 ids of the rows, those without an entry too
    row: np.ndarray  # (m,) int32 or int64, the id of each entry's row
    column: Column  # (m,) its column
    value: np.ndarray  # (m,) its number, of the dtype asked for
    labels: np.ndarray | None = None  # (n,) float64, or StringDType
    weights: np.ndarray | None = None  # (n,) float32
    notes: tuple[str, ...] = ()  # what its user should know, a sentence each


def summed(
    row: np.ndarray, column: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries in order of row and column, each pair once."""
    step = np.diff(row)
    if ((step < 0) | (step == 0) & (column[1:] < column[:-1])).any():
        order = np.lexsort((column, row))
        row, column, value = row[order], column[order], value[order]
    first = np.ones(len(row), np.bool_)
    first[1:] = (np.diff(row) != 0) | (column[1:] != column[:-1])
    if first.all():
        return row, column, value
    return row[first], column[first], np.add.reduceat(value, np.flatnonzero(first))


def repetitions(count: int, row: str, column: str) -> tuple[str, ...]:
    """What a user should know of entries that were added up, if there are any."""
    if not count:
        return ()
    what = (
        f"{count:,} {'entries repeat' if count > 1 else 'entry repeats'} a {column} of the same "
        f"{row}; "
    )
    return (what + f"the numbers of a {column} in a {row} are added up",)


class GatheredEntries:
    """Rows, the numbers of their entries, and these entries' columns and values, that arrive
    block by block.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.rows: list[np.ndarray] = [np.empty(0, np.int64)]
        self.lengths: list[np.ndarray] = [np.empty(0, np.int64)]
        self.columns: list[np.ndarray] = [np.empty(0, np.int32)]
        self.values: list[np.ndarray] = [np.empty(0, dtype)]

    def add(
        self, rows: np.ndarray, lengths: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> None:
        """Append a block; the arrays may be changed afterwards."""
        self.rows.append(rows)
        self.lengths.append(lengths)
        self.columns.append(narrow(columns).copy())
        self.values.append(values.astype(self.dtype))

    def whole(self, labels: np.ndarray | None = None) -> Entries:
        """All of it, given up piece by piece, so use it once."""
        rows, lengths = np.concatenate(self.rows), np.concatenate(self.lengths)
        columns, self.columns = joined(self.columns), []
        assert columns is not None  # they are not negative
        values, self.values = np.concatenate(self.values), []
        return Entries(rows, np.repeat(narrow(rows), lengths), columns, values, labels)


def check_entries(
    path: str | os.PathLike[str],
    what: str,
    ends: tuple[str, str],
    kinds: Mapping[str, np.dtype],
    against: Mapping[str, Ids] | None,
    unknown: str,
) -> None:
    """UsageError where a file of `what` (rows and columns) cannot give what is asked for."""
    if ends[0] == ends[1]:
        raise UsageError(
            f"{path} holds {what}, which are not both of type {ends[0]}",
            do="give edges: a table of two columns, or a square matrix",
        )
    if len(kinds) > 1 or any(kind.kind not in "iufb" for kind in kinds.values()):
        fields_text = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
        raise UsageError(f"{path} has one number an entry, but {fields_text} are needed")
    if unknown == "skip" and (not against or ends[1] not in against):
        raise UsageError(
            f"to leave out unknown {ends[1]}s, the known ones are needed",
            do=f"give their ids against[{ends[1]!r}]",
        )
