"""Rows of a table of vertices: a mask of the good ones, and their values in the dtypes of the
fields.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow import CodedColumn
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.source.table_lines import LineCounts
from tux.io.source.text import NUMBER, BadRows, quote_word
from tux.io.vertices.arrays import Column
from tux.io.vertices.columns import PickedColumns, WantedField, wrong_width

EXACT = 2**53  # up to here whole numbers are exact in 64 bits with a point


class Columns(NamedTuple):
    """The columns that are used, and the place of each row in the file."""

    picked: PickedColumns
    columns: dict[str, Column]
    lines: np.ndarray  # (n,) int64
    unit: str  # before the line's number: "" of text, else "row "
    taken: Mapping[str, str] = {}  # see `tux.io.vertices.columns.columns_by_field`
    notes: tuple[str, ...] = ()
    passed: LineCounts = LineCounts()  # of text
    doubt: tuple[str, ...] = ()  # likewise: a sentence where its first row may be one of names
    first: int = 1  # the number of the first row, where rows are numbered


class VertexRows:
    """The rows of a table with a mask of the good ones; bad ones are noted as they are found.

    `words`: columns that hold words, though the rows here do not show it. Faults are looked for
    one after the other: `first_step` is the number of the look that has noted the first bad row, 0
    if it was bad before. `repeated`: some good rows had an id that came before.
    """

    def __init__(self, read: Columns, bad: BadRows, kind: str, words: Collection[str] = ()) -> None:
        self._read, self._bad, self._kind, self._words = read, bad, kind, words
        self.keep = np.ones(len(read.lines), np.bool_)
        self.steps = self.first_step = 0
        self.repeated = False

    def drop(self, rows: np.ndarray, why: Callable[[int], str]) -> None:
        """Note as bad those of `rows` (n,) bool that are good so far; ``why(row)`` returns the
        fault in words.
        """
        before, self.steps = self._bad.count, self.steps + 1
        for row in np.flatnonzero(rows & self.keep).tolist():
            self._bad.note(int(self._read.lines[row]), why(row), self._read.unit)
        self.keep &= ~rows
        if self._bad.count and not before:
            self.first_step = self.steps

    def ids(self) -> Any:
        """Return the column of ids, or the numbers of the rows."""
        name = self._read.picked.ids
        if name is None:
            return np.arange(len(self.keep)) + self._read.first
        column = self._read.columns[name]
        values, missing = column.values, column.missing
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "f":
            missing = missing | np.isnan(values)
            whole = values[~missing]
            if not np.array_equal(whole, np.floor(whole)):
                raise DataError(
                    f"column {name!r} holds decimal numbers, such as {whole[whole % 1 != 0][0]}, "
                    f"which are no ids of {plural_noun(self._kind)}",
                    where=self._bad.path,
                    do="Call the column of ids id, or put it first.",
                )
            if len(whole) and np.abs(whole).max() > EXACT:
                raise DataError(
                    f"column {name!r} holds numbers beyond {EXACT:,}, which no decimals tell apart",
                    where=self._bad.path,
                    do=f"Write the ids of {plural_noun(self._kind)} as whole numbers or words.",
                )
            values = np.where(missing, 0, values).astype(np.int64)
        if column.wide:
            raise DataError(f"column {name!r} holds lists, not ids", where=self._bad.path)
        self.drop(missing, lambda row: f"{name} is missing")
        return values

    def field(self, wanted: WantedField, names: list[str]) -> np.ndarray | CodedColumn:
        """Return a field of all rows in its dtype, or as words. Rows with values that do not fit
        are bad.
        """
        parts = [self._read.columns[name] for name in names]
        for name, column in zip(names, parts, strict=True):
            self.drop(column.missing, lambda row, name=name: f"{name} is missing")  # type: ignore[misc]
        if wanted.width is None or not parts[0].wide:
            columns = [
                self._single(wanted, name, column.values)
                for name, column in zip(names, parts, strict=True)
            ]
            if wanted.width is None:
                return columns[0]
            return np.stack([np.asarray(column) for column in columns], axis=1)
        return self._vector(wanted, names[0], parts[0])

    def _vector(self, wanted: WantedField, name: str, column: Column) -> np.ndarray:
        """Convert a column of lists to a field (n, width)."""
        values, other = column.lists(wanted.width or 0)
        there = ~column.missing & self.keep
        if there.any() and not values.shape[1]:
            raise DataError(
                f"column {name!r} holds lists without any number",
                where=self._bad.path,
                do="Leave the column out, or declare how many numbers the field has.",
            )
        if there.any() and other[there].all():
            width = len(column.values[0]) if len(self.keep) else 0  # type: ignore[arg-type]
            raise wrong_width(wanted, width, self._kind, self._bad.path)
        self.drop(
            other,
            lambda row: (
                f"{name} has {len(column.values[row])} numbers instead of {values.shape[1]}"
            ),  # type: ignore[arg-type]
        )
        return self._cast_numbers(wanted, name, values)

    def _single(self, wanted: WantedField, name: str, values: Any) -> np.ndarray | CodedColumn:
        """Convert a column of one value a row to numbers in the dtype of the field, or to words."""
        if not isinstance(values, CodedColumn):
            return self._cast_numbers(wanted, name, np.asarray(values))
        if values.values.dtype.kind in "iu":
            return self._cast_numbers(wanted, name, values.values[values.codes])
        texts = [str(text) for text in values.values.tolist()]
        if name not in self._words and are_numbers(texts):
            numbers = np.array([float(text or 0) for text in texts])
            return self._cast_numbers(wanted, name, numbers[values.codes])
        if wanted.width is None and (wanted.dtype is None or wanted.dtype.kind in "iub"):
            return values
        raise DataError(
            f"column {name!r} holds words, such as {quote_word(next(filter(None, texts), ''))}, "
            "not numbers",
            where=self._bad.path,
            do='Declare the field as whole numbers, as in data("i4"), to number the words.',
        )

    def _cast_numbers(self, wanted: WantedField, name: str, values: np.ndarray) -> np.ndarray:
        """Cast numbers to the dtype of the field. Rows with a number that does not fit are bad."""
        dtype = wanted.dtype
        if dtype is None:
            whole = values.dtype.kind == "f" and bool(
                wanted.width is None and (np.abs(values) < 2**53).all() and (values % 1 == 0).all()
            )
            dtype = np.dtype("i8") if whole else values.dtype
        low, high = number_limits(dtype)
        if values.dtype.kind == "f":  # bounds that it can hold
            least, most = number_limits(values.dtype)
            low, high = max(low, least), min(high, most)
        bad = ~((values >= low) & (values <= high))  # NaN too
        if dtype.kind != "f" and values.dtype.kind == "f":
            bad |= values != np.floor(values)
        rows = bad if bad.ndim == 1 else bad.any(axis=1)

        def why(row: int) -> str:
            at, value = "", values[row]
            if values.ndim > 1:
                first = int(bad[row].argmax())
                at, value = f"[{first}]", value[first]
            what = f"a finite {dtype}" if dtype.kind == "f" else f"a whole number of dtype {dtype}"
            text = f"{value:.10g}" if value.dtype.kind == "f" else f"{value}"
            return f"{name}{at} is {text}, not {what}"

        self.drop(np.asarray(rows), why)
        clean = values if not bad.any() else np.where(bad, values.dtype.type(0), values)
        return clean.astype(dtype, copy=False)  # good rows become a copy

    def unique(self, ids: Any) -> None:
        """Drop all but the first of several good rows with one id."""
        there = np.flatnonzero(self.keep)
        known, codes = Ids.of(filter_column(ids, self.keep))
        _, first = np.unique(codes, return_index=True)
        if len(first) == len(codes):
            return
        self.repeated, again = True, np.zeros(len(self.keep), np.bool_)
        again[there] = True
        again[there[first]] = False
        first_of = dict(zip(codes[first].tolist(), there[first].tolist(), strict=True))
        code_of = dict(zip(there.tolist(), codes.tolist(), strict=True))

        def why(row: int) -> str:
            code = code_of[row]
            line = self._read.lines[first_of[code]] + self._read.first - 1
            where = f"{self._read.unit or 'line '}{line}"
            return f"{self._kind} {known.values[code]} has a row already, {where}"

        self.drop(again, why)


def are_numbers(texts: Iterable[str]) -> bool:
    """Return whether all words of a column that are not empty are numbers."""
    return all(map(NUMBER.fullmatch, filter(None, texts)))


def number_limits(dtype: np.dtype) -> tuple[float, float]:
    """Return the least and the largest number of a dtype."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind == "f":
        return -float(np.finfo(dtype).max), float(np.finfo(dtype).max)
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def filter_column(values: Any, keep: np.ndarray) -> Any:
    """Return the entries of a column where the mask `keep` is true."""
    if isinstance(values, CodedColumn):
        used, codes = np.unique(values.codes[keep], return_inverse=True)
        return CodedColumn(codes.astype(np.int32), values.values[used])
    return values[keep]
