"""Tables in memory: columns by name, as numpy arrays, in a form that other libraries take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow import STRING
from tux.arrays.given import NANOSECONDS
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST
from tux.arrays.ragged import Lists
from tux.base.errors import DataError, UsageError
from tux.base.text import did_you_mean, plural

ROWS = 10  # that are shown of a longer table
WIDTH = 100  # characters of a line that shows a row
EXACT = 2**53  # up to which floats are the whole numbers that they stand for
SHOWN_NUMBERS = 3  # numbers that are shown of a longer vector


class NamedItems(dict[str, Any]):
    """A dict of things by name. The error for a name that is not there proposes the closest one."""

    def __init__(self, things: Mapping[str, Any], what: str) -> None:
        super().__init__(things)
        self._what = what

    def __missing__(self, name: str) -> Any:
        known = ", ".join(self) or "none"
        do = f"{did_you_mean(str(name), self)}there are: {known}"
        raise UsageError(f"no {self._what} {name!r}", do=do)

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedItems, (dict(self), self._what)


Named = NamedItems  # its name in pickled runs of version 0.2


class Table:
    """Columns of equal length by name: ``table["score"]`` is an array (n,) or (n, k), or
    `tux.Lists`.

    Iterating gives a dict for each row. ``pandas.DataFrame(table)``, ``polars.DataFrame(table)``
    and ``pyarrow.table(table)`` take it as it is; the latter two by the Arrow C data interface,
    without a copy of numbers.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns: dict[str, Any] = {
            name: column if isinstance(column, Lists) else _plain(column)
            for name, column in columns.items()
        }
        if len({len(column) for column in self._columns.values()}) > 1:
            lengths = ", ".join(f"{name} {len(each)}" for name, each in self._columns.items())
            raise UsageError(f"the columns of a table have several lengths: {lengths}")

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [*self._columns]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __getitem__(self, name: str) -> Any:
        if name not in self._columns:
            do = f"{did_you_mean(str(name), self._columns)}there are: {', '.join(self._columns)}"
            raise UsageError(f"no column {name!r}", do=do)
        return self._columns[name]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names, columns = [*self._columns], map(_values, self._columns.values())
        return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return arrow.to_c_stream(self._columns, requested_schema)

    def to_pandas(self) -> Any:
        """Make a pandas.DataFrame. A column of vectors or lists becomes one of objects. UsageError
        if pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError("pandas is not installed", do="pip install pandas") from None
        return pandas.DataFrame({name: _series(each) for name, each in self._columns.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the columns by name."""
        return dict(self._columns)

    def _ipython_key_completions_(self) -> list[str]:
        return self.columns

    def __repr__(self) -> str:
        head = f"{type(self).__name__}: {plural(len(self), 'row')}"
        return "\n".join([head, *_text(self._columns, len(self))])

    def _repr_html_(self) -> str:
        return html_table(self._columns, len(self))


class History(Table):
    """The records of a run's epochs: a row for each, with `epoch`, `seconds` of training so far,
    the program's metrics, and costs. NaN stands where a metric was not measured.
    """

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]]) -> History:
        """Make columns of the records of `metrics.jsonl`."""
        names = dict.fromkeys(name for record in records for name in record)
        nan = float("nan")
        return cls({name: [record.get(name, nan) for record in records] for name in names})

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records as in `metrics.jsonl`: a dict for each epoch, without metrics that were not
        measured.
        """
        return [{name: each for name, each in row.items() if each == each} for row in self]


class Vertices(Table):
    """The vertices of one type in a model: their ids, and the fields that the program keeps.

    ``vertices["f"]`` is an array whose row i belongs to the vertex ``vertices.ids[i]``.
    """

    @property
    def ids(self) -> np.ndarray:
        """The ids as they were given, (n,)."""
        ids: np.ndarray = self._columns["id"]
        return ids

    @property
    def fields(self) -> list[str]:
        """The names of the fields."""
        return [name for name in self._columns if name != "id"]

    def positions(self, ids: Any) -> np.ndarray:
        """Return the row of each of some ids, (m,) int64; -1 where there is no such vertex."""
        return positions(self.ids, ids)

    def at(self, ids: Any) -> Any:
        """Return the vertices of some ids, in this order; of one id alone, its fields by name.

        DataError for an id that is not there.
        """
        one = np.ndim(ids) == 0
        asked = [ids] if one else ids
        rows = self.positions(asked)
        if (rows < 0).any():
            first = np.asarray(asked)[int(np.argmax(rows < 0))]
            what = f"no vertex has the id {first!s}"
            if (many := int((rows < 0).sum())) > 1:
                what = f"{many:,} of these ids are of no vertex; the first is {first!s}"
            raise DataError(what, do="ids has those of all vertices")
        taken = {name: _take_rows(column, rows) for name, column in self._columns.items()}
        return {name: column[0] for name, column in taken.items()} if one else Vertices(taken)


def positions(among: np.ndarray, ids: Any) -> np.ndarray:
    """Return the place of each of `ids` in `among`, (m,) int64, -1 where it is not. Integers and
    strings are compared as the readers of files do it: 7 is "7".
    """
    asked = np.asarray(ids) if len(ids) else np.empty(0, np.int64)
    if among.dtype.kind in "iuT" and asked.dtype.kind == "f":  # as pandas makes integers
        whole = (np.abs(asked) <= EXACT) & (asked == np.floor(asked))
        found = positions(among, np.where(whole, asked, 0).astype(np.int64))
        return np.where(whole, found, -1)
    if among.dtype.kind in "iuT" and asked.dtype.kind in "iuUTO":
        values = among
        if among.dtype.kind in "iu":
            large = among.dtype.kind == "u" and int(among.max(initial=0)) > LAST
            values = among.astype(np.uint64 if large else np.int64, copy=False)
        return Ids(values).encode(asked).astype(np.int64)
    none = np.full(len(asked), -1, np.int64)
    inexact = asked.dtype.kind == "f" and among.dtype.kind != "f"  # as dates are
    if not len(among) or among.dtype == STRING or inexact:
        return none
    dates = among.dtype.kind == "M"
    try:
        if dates and asked.dtype.kind == "O":  # dates of Python and pandas
            asked = asked.astype(NANOSECONDS)
        elif dates != (asked.dtype.kind == "M") and asked.dtype.kind not in "UT":
            return none
        sought = asked.astype(among.dtype)
    except (TypeError, ValueError):
        return none
    order = np.argsort(among, kind="stable")
    at = np.searchsorted(among, sought, sorter=order).clip(max=len(among) - 1)
    found = order[at]
    same = among[found] == sought
    if asked.dtype.kind in "Miuf":  # a value that was rounded is another one
        same &= sought == asked
    return np.where(same, found, -1).astype(np.int64)


def html_table(columns: Mapping[str, Any], rows: int) -> str:
    """Write columns as a table of HTML: the first and the last rows if there are many."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    cells = [[_cell(column[k]) for column in columns.values()] for k in _visible_rows(rows)]
    if rows > ROWS:
        cells.insert(ROWS // 2, ["..."] * len(columns))
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        f"<p>{escape(plural(rows, 'row'))}</p>"
    )


def _plain(column: Any) -> np.ndarray:
    """Return a column as an array; text as strings of any length."""
    array = np.asarray(column)
    return array.astype(STRING) if array.dtype.kind == "U" else array


def _values(column: Any) -> Any:
    """Return the rows of a column one by one: numbers and text as Python's own."""
    if isinstance(column, Lists) or column.ndim > 1 or column.dtype.kind in "mM":
        return (column[k] for k in range(len(column)))
    return column.tolist()


def _series(column: Any) -> Any:
    """Convert a column to a form that pandas takes."""
    if isinstance(column, Lists) or column.ndim > 1:
        return [column[k] for k in range(len(column))]
    return np.array(column.tolist(), object) if column.dtype == STRING else column


def _take_rows(column: Any, rows: np.ndarray) -> Any:
    """Take some rows of a column."""
    if not isinstance(column, Lists):
        return column[rows]
    lists = [column[int(k)] for k in rows]
    bounds = np.concatenate([[0], np.cumsum([len(each) for each in lists], dtype=np.int64)])
    return Lists(bounds, np.concatenate([column.values[:0], *lists]))


def _visible_rows(rows: int) -> list[int]:
    """Return the numbers of the rows of a table that are shown."""
    if rows <= ROWS:
        return [*range(rows)]
    return [*range(ROWS // 2), *range(rows - ROWS // 2, rows)]


def _cell(value: Any) -> str:
    """Write a value of a table as text."""
    if isinstance(value, np.ndarray):
        shown = [
            _cell(each)
            for each in value.ravel()[: SHOWN_NUMBERS if value.size > SHOWN_NUMBERS + 1 else None]
        ]
        more = [f"... {value.size}"] if value.size > len(shown) else []
        return f"[{', '.join([*shown, *more])}]"
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    return " ".join(str(value).split())


def _text(columns: Mapping[str, Any], rows: int) -> Iterator[str]:
    """Yield lines that show the first and the last rows; columns that do not fit are only named."""
    grid = {
        name: [name, *(_cell(column[k]) for k in _visible_rows(rows))]
        for name, column in columns.items()
    }
    widths = {name: max(map(len, cells)) for name, cells in grid.items()}
    fitting: list[str] = []
    used = 0
    for name, width in widths.items():
        used += width + 2
        if used > WIDTH and fitting:
            break
        fitting.append(name)
    for k in range(len(_visible_rows(rows)) + 1):
        if rows > ROWS and k == ROWS // 2 + 1:
            yield "  ..."
        yield "  ".join(["", *(f"{grid[name][k]:>{widths[name]}}" for name in fitting)]).rstrip()
    if left := [name for name in columns if name not in fitting]:
        yield f"  and {', '.join(left)}"
