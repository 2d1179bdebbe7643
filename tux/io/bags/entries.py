"""Files whose rows are bags of columns: the arguments of all readers of such files, and their
results.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from tux.arrays.arrow import CodedColumn, Column, Pieces
from tux.arrays.disk_columns import empty_column, kept_rows, row_slices
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST, narrow
from tux.base.errors import UsageError
from tux.base.text import plural_noun
from tux.io.bags.numbering import ColumnNumbering
from tux.io.formats.format import Form
from tux.io.source.text import BadRows, OnBadRow

MAX_COLUMN = 2**64 - 1  # the largest number of a column
# whole numbers up to this one are exact in double precision and have at most 15 digits
WHOLE = 10**15 - 1


@dataclass(frozen=True, eq=False)
class BagOptions:
    """The options of `tux.io.bags.bags.read_bags`, which explains them."""

    form: Form | None = None
    vocab: str | os.PathLike[str] | None = None
    stop: str | os.PathLike[str] | None = None
    first: int | None = None
    against: Mapping[str, Ids] | None = None
    unknown: Literal["new", "skip"] = "new"
    numbered: str = ""  # of `against`: see `tux.arrays.edges.EdgeData.numbered`
    on_bad_row: OnBadRow = "stop"


class BagSpec(NamedTuple):
    """The file to read, the form of its columns and numbers, and their names in messages."""

    path: str
    row: str  # one row is a document, or a sample
    column: str  # a word, or a feature
    field: str  # the number of an entry
    dtype: np.dtype  # of that number
    first: int  # the lowest number of a column
    columns: int | None  # the number of columns, if it is known
    bad: BadRows
    bits: int = 0  # columns are hashed into 2^bits (`tux.io.bags.hashed`); 0: they are not
    vocab: str = ""  # the file of a vocabulary, which has told the number of columns
    ranked: bool = False  # rows belong to queries, which are read too

    @property
    def last(self) -> int:
        """The highest number of a column."""
        return MAX_COLUMN if self.columns is None else self.first + self.columns - 1

    def outside(self, number: int) -> str:
        """Return the reason why `number` is no column, "" if it is one."""
        if number < self.first:
            columns = plural_noun(self.column)
            return f"{self.column} {number}, but {columns} are numbered from {self.first}"
        if self.columns is not None and number > self.last:
            return (
                f"{self.column} {number} is beyond the vocabulary of {self.columns:,}, "
                f"numbered from {self.first} ({self.vocab})"
            )
        return f"{self.column} {number} is too large a number" if number > MAX_COLUMN else ""

    def counts(self) -> tuple[int, int]:
        """Return the range of whole counts that the field can hold."""
        return 1, 1 if self.dtype.kind == "b" else min(int(_top(self.dtype)), WHOLE)

    def reals(self) -> tuple[float, float]:
        """Return the range of real numbers that the field can hold, short of the largest double, so
        that rounding never makes a number infinite.
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
    queries: np.ndarray | None = None  # (n,) int64 numbers from 0, -1 if there is none
    notes: tuple[str, ...] = ()  # sentences that the user should know
    numbering: ColumnNumbering | None = None  # of columns that are known by their numbers

    def keep(self, kept: np.ndarray) -> Entries:
        """Return the entries where `kept` (m,) is True, of the same rows."""
        column = self.column
        column = (
            column._replace(codes=kept_rows(column.codes, kept))
            if isinstance(column, CodedColumn)
            else kept_rows(column, kept)
        )
        row, value = kept_rows(self.row, kept), kept_rows(self.value, kept)
        return self._replace(row=row, column=column, value=value)


def sum_entries(
    row: np.ndarray, column: np.ndarray, value: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort entries by row and column, and add up the values of each pair. Entries that are in order
    and occur once are returned as they are, and take no memory; else it is done in memory.
    """
    if _ascend(row, column):
        return row, column, value
    order = _order_of(row, column)
    row, column, value = row[order], column[order], value[order]
    first = np.ones(len(row), np.bool_)
    first[1:] = (np.diff(row) != 0) | (column[1:] != column[:-1])
    if first.all():
        return row, column, value
    return row[first], column[first], np.add.reduceat(value, np.flatnonzero(first))


def _ascend(row: np.ndarray, column: np.ndarray) -> bool:
    """Return whether each entry is behind the one before, by row and column."""
    for some in row_slices(len(row) - 1):
        behind = slice(some.start + 1, some.stop + 1)
        later = row[behind] > row[some]
        later |= (row[behind] == row[some]) & (column[behind] > column[some])
        if not later.all():
            return False
    return True


def _order_of(row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the stable order of entries, one at least, by row and column."""
    span, last = int(column.max()) + 1, int(row.max())
    if min(int(row.min()), int(column.min())) < 0 or (last + 1) * span > LAST:
        return np.lexsort((column, row))
    # one key is sorted in a tenth of the time of two, above all where rows are in order already
    return np.argsort(row.astype(np.int64) * span + column.astype(np.int64), kind="stable")


def repetitions(count: int, row: str, column: str) -> tuple[str, ...]:
    """Return a sentence for the user about entries that were added up, none if there are none."""
    if not count:
        return ()
    what = (
        f"{count:,} {'entries repeat' if count > 1 else 'entry repeats'} a {column} of the same "
        f"{row}; "
    )
    return (what + f"the numbers of a {column} in a {row} are added up",)


class GatheredEntries:
    """Rows, the numbers of their entries, and the columns and values of these entries, collected
    block by block.
    """

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype
        self._rows = Pieces([np.dtype(np.int64)] * 2)  # ids, and numbers of entries
        self._entries = Pieces([None, dtype])

    def add(
        self, rows: np.ndarray, lengths: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> None:
        """Append a block; the arrays may be changed afterwards."""
        self._rows.append([rows, lengths])
        self._entries.append([narrow(columns).copy(), values.astype(self.dtype)])

    def whole(self, labels: np.ndarray | None = None) -> Entries:
        """Return all entries. They are given up piece by piece, so call it once."""
        rows, lengths = map(np.asarray, self._rows.columns())
        column, value = self._entries.columns()
        return Entries(rows, repeat_rows(rows, lengths), column, np.asarray(value), labels)


def repeat_rows(rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the row of each entry (m,), in 32 bits if all fit: of `rows` (n,) with so many entries
    each.
    """
    ids, ends = narrow(rows), np.cumsum(lengths)
    out = empty_column(int(ends[-1]) if len(ends) else 0, ids.dtype)
    cuts = np.searchsorted(ends, [some.stop for some in row_slices(len(out))][:-1])
    done = 0
    for first, last in pairwise([0, *cuts.tolist(), len(ids)]):
        some = np.repeat(ids[first:last], lengths[first:last])
        out[done : done + len(some)] = some
        done += len(some)
    return out


def kinds_of(fields: Mapping[str, Any] | None, name: str, kind: Any) -> dict[str, np.dtype]:
    """Return the data fields of an entry with their dtypes: one of a `name` and a `kind` if none
    are given.
    """
    given = {name: kind} if fields is None else fields
    return {name: np.dtype(dtype) for name, dtype in given.items()}


def check_entries(
    path: str | os.PathLike[str],
    what: str,
    ends: tuple[str, str],
    kinds: Mapping[str, np.dtype],
    against: Mapping[str, Ids] | None,
    unknown: str,
) -> None:
    """Raise UsageError if a file of `what` (rows and columns) cannot give the wanted edges."""
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
            f"to leave out unknown {plural_noun(ends[1])}, the known ones are needed",
            do=f"give their ids against[{ends[1]!r}]",
        )
