"""Tables in memory that other libraries hold: whatever has the Arrow C-stream interface (pyarrow,
polars, DuckDB), pandas, and columns of numpy.

Columns are taken as they lie in memory. Numbers of the wanted type, and ids that are integers, are
not copied where a table is in one piece; a stream of pieces is held in 4 bytes a row and column
where that is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tux.arrays.arrow import is_number
from tux.arrays.arrow_values import numbers_to_arrow, to_numpy
from tux.arrays.given import nanoseconds
from tux.base.errors import DataError

SMALLEST = 4  # rows and columns of a table that can only be an adjacency matrix
NAMELESS = "The index has no name, so it is no column: df.rename_axis(NAME) gives it one."


@dataclass(frozen=True)
class Frame:
    """A table in memory. `what`: its name in messages. `titled`: true if its columns have names of
    their own. ``batches(places)`` gives the columns at these places, from 0, piece by piece: Arrow
    arrays of one length. A stream gives them once.

    The first `levels` of the columns are named levels of pandas' index. `advice`: a sentence for
    the user about an index without a name, for messages about a missing column.
    ``has_numbers(place)``: true if a column holds numbers. `square`: true if the rows have the
    names of the columns, as in an adjacency matrix. `array`: true if it is an array of two
    dimensions, which could be a matrix as well.
    """

    what: str
    names: list[str]
    titled: bool
    batches: Callable[[Sequence[int]], Iterator[list[Any]]]
    levels: int = 0
    advice: str = ""
    has_numbers: Callable[[int], bool] = lambda place: False
    square: bool = False
    array: bool = False


def frame_of(data: Any, *, index: bool = True) -> Frame | None:
    """Return an object as a table, None if it is no table. With `index`, the named levels of the
    index of pandas are columns too (`Frame.levels`).

    Raises `DataError` for a table whose columns cannot be found out.
    """
    if index and _is_indexed(data):  # as groupby and stack make them
        data = data.to_frame("value" if data.name is None else data.name)
    if _is_pandas(data):
        return _of_pandas(data, index=index)
    if len(getattr(data, "shape", (0, 0))) == 1 and has_arrow(data):  # a Series is one column
        return None
    if hasattr(data, "__arrow_c_stream__"):
        return _of_stream(data)
    if hasattr(data, "__arrow_c_array__"):
        import pyarrow as pa

        with data_errors_about(object_name(data)):
            return _of_stream(pa.Table.from_batches([pa.record_batch(data)]), object_name(data))
    if isinstance(data, np.ndarray):
        if data.dtype.names is not None and data.ndim == 1:
            return _of_columns({name: data[name] for name in data.dtype.names}, "the numpy array")
        if data.ndim == 2:
            return replace(_of_columns(list(data.T), "the numpy array"), array=True)
        return None
    if isinstance(data, Mapping):
        return _of_columns({str(name): column for name, column in data.items()}, "the columns")
    if isinstance(data, list):
        return _of_rows(data)
    return _of_columns(list(data), "the columns") if isinstance(data, tuple) and data else None


def has_arrow(data: Any) -> bool:
    """Return whether an object gives its columns by the C interface of Arrow."""
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def levels_of(data: Any) -> list[Any]:
    """Return the names of the named levels of a DataFrame's index; none for other tables."""
    return [name for name in data.index.names if name is not None] if _is_pandas(data) else []


def object_name(data: Any) -> str:
    """Return the name of an object in messages: its class, and the library of the class."""
    library = type(data).__module__.partition(".")[0].lstrip("_")
    name = type(data).__name__
    return f"the {name}" if library == "builtins" else f"the {library} {name}"


def arrow_table(frame: Frame) -> Any:
    """Convert a whole frame to a table of pyarrow."""
    import pyarrow as pa

    batches = [
        pa.record_batch(columns, names=frame.names)
        for columns in frame.batches(range(len(frame.names)))
    ]
    return pa.Table.from_batches(batches) if batches else pa.table({n: [] for n in frame.names})


def take_rows(data: Any, mask: np.ndarray) -> Any:
    """Return the rows of a table whose entry in a mask (m,) is true, as a table of the same
    library; each column of a dict or a tuple keeps its kind. Raises `DataError` for others.
    """
    if isinstance(data, Mapping):
        return {name: _take_entries(column, mask) for name, column in data.items()}
    if isinstance(data, tuple):
        return tuple(_take_entries(column, mask) for column in data)
    if isinstance(data, list):
        return _take_entries(data, mask)
    if isinstance(data, np.ndarray) or hasattr(data, "iloc"):
        return data[mask]
    library = type(data).__module__.partition(".")[0]
    if library in ("pyarrow", "polars") and hasattr(data, "filter"):
        return data.filter(numbers_to_arrow(mask) if library == "pyarrow" else mask)
    raise DataError(
        f"{object_name(data)} cannot be cut in two",
        do="Give a DataFrame of pandas or polars, or a table of pyarrow.",
    )


def _take_entries(column: Any, mask: np.ndarray) -> Any:
    """Return the entries of a column whose entry in a mask is true."""
    if isinstance(column, list | tuple):
        kept = zip(column, mask.tolist(), strict=True)
        return type(column)(entry for entry, is_kept in kept if is_kept)
    return column[mask] if hasattr(column, "iloc") else np.asarray(column)[mask]


def dates_as_integers(column: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a column of dates or times as integers (`tux.arrays.given`), and a mask of the rows
    without a value; None for any other column.
    """
    import pyarrow as pa

    if not (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
        return None
    times = to_numpy(column)
    return nanoseconds(times), np.isnat(times)


# ---- where tables come from


def _is_pandas(data: Any) -> bool:
    library = type(data).__module__.partition(".")[0]
    return library == "pandas" and hasattr(data, "columns") and hasattr(data, "iloc")


def _is_indexed(data: Any) -> bool:
    """Return whether an object is a Series of pandas with an index of several levels, all named."""
    library, names = type(data).__module__.partition(".")[0], getattr(data, "index", data)
    if library != "pandas" or not hasattr(data, "to_frame") or not hasattr(data, "iloc"):
        return False
    return len(names.names) > 1 and None not in names.names


def _of_pandas(data: Any, *, index: bool) -> Frame:
    """Make a `Frame` of a DataFrame. Only the columns that are asked for are converted, as others
    may hold anything.
    """
    import pyarrow as pa

    what = object_name(data)
    levels = levels_of(data) if index else []
    nameless = None in data.index.names and type(data.index).__name__ != "RangeIndex"
    names = [*map(str, levels), *map(str, data.columns)]

    def column(place: int) -> Any:
        level = place < len(levels)
        values = (
            data.index.get_level_values(levels[place])
            if level
            else data.iloc[:, place - len(levels)]
        )
        if type(values.dtype).__name__ == "SparseDtype":
            values = np.asarray(values)
        with data_errors_about(what, names[place]):
            return pa.array(values, from_pandas=True)

    def batches(places: Sequence[int]) -> Iterator[list[Any]]:
        yield from _align_pieces([column(place) for place in places])

    def has_numbers(place: int) -> bool:
        kinds = data.index if place < len(levels) else data.iloc[:, place - len(levels)]
        return getattr(getattr(kinds, "dtype", None), "kind", "O") in "biuf"

    advice = NAMELESS if index and nameless else ""
    square = SMALLEST <= len(data) == data.shape[1] and list(data.index) == list(data.columns)
    return Frame(what, names, True, batches, len(levels), advice, has_numbers, square)


def _of_stream(data: Any, what: str = "") -> Frame:
    import pyarrow as pa

    what = what or object_name(data)
    with data_errors_about(what):
        reader = pa.RecordBatchReader.from_stream(data)

    def batches(places: Sequence[int]) -> Iterator[list[Any]]:
        with data_errors_about(what):
            for batch in reader:
                if batch.num_rows:
                    yield [_plain(batch.column(place)) for place in places]

    kinds = [str(field.type) for field in reader.schema]
    names = list(reader.schema.names)
    return Frame(what, names, True, batches, has_numbers=lambda at: is_number(kinds[at]))


def _of_columns(columns: Mapping[str, Any] | list[Any], what: str) -> Frame:
    """Make a `Frame` of columns: arrays of numpy, lists, or columns of other libraries."""
    titled = isinstance(columns, Mapping)
    names = list(columns) if titled else [f"column {at}" for at in range(1, len(columns) + 1)]
    given = list(columns.values()) if isinstance(columns, Mapping) else columns

    def batches(places: Sequence[int]) -> Iterator[list[Any]]:
        arrays = []
        for place in places:
            with data_errors_about(what, names[place]):
                arrays.append(_column(given[place]))
        lengths = {names[place]: len(each) for place, each in zip(places, arrays, strict=True)}
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{name} {rows:,}" for name, rows in lengths.items())
            raise DataError(f"columns differ in length: {told}", where=what)
        yield from _align_pieces(arrays)

    return Frame(what, names, titled, batches, has_numbers=lambda at: _has_numbers(given[at]))


def _has_numbers(column: Any) -> bool:
    """Return whether a column of any library holds numbers, by its type or its first value."""
    if (kind := getattr(getattr(column, "dtype", None), "kind", None)) is not None:
        return kind in "biuf"
    if hasattr(column, "type"):
        return is_number(str(column.type))
    known = (each for each in column if each is not None) if isinstance(column, list) else ()
    return isinstance(next(iter(known), None), int | float | np.number)


def _of_rows(rows: list[Any]) -> Frame | None:
    """Make a `Frame` of a list of tuples, each a row, or of dicts by the names of columns; None of
    anything else. Numbers of numpy and of Python may stand in one column.
    """
    what = object_name(rows)
    if not rows:
        raise DataError(f"{what} holds no row", do="Give one row at least.")
    if all(isinstance(row, Mapping) for row in rows):
        if other := next((row for row in rows if row.keys() != rows[0].keys()), None):
            raise DataError(
                f"rows have several sets of columns: {', '.join(map(str, rows[0]))}, and "
                f"{', '.join(map(str, other))}",
                where=what,
                do="Give all rows the same columns; None stands for a value that is missing.",
            )
        return _of_columns({str(name): [row[name] for row in rows] for name in rows[0]}, what)
    if not all(isinstance(row, tuple | list | np.ndarray) and np.ndim(row) == 1 for row in rows):
        return None
    if len(lengths := {len(row) for row in rows}) > 1:
        told = " and ".join(map(str, sorted(lengths)))
        raise DataError(
            f"the rows of a list have several lengths: {told}", do="Give rows of one length."
        )
    return _of_columns([[_plain_number(x) for x in each] for each in zip(*rows, strict=True)], what)


def _plain_number(value: Any) -> Any:
    """Convert a number of numpy to one of Python, which pyarrow takes together with others."""
    return value.item() if isinstance(value, np.generic) else value


def _column(values: Any) -> Any:
    """Convert a column of any library to an Arrow array."""
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "iloc"):
        return pa.chunked_array(values)
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray):
        if values.ndim != 1:
            raise DataError(f"has shape {values.shape}", do="A column has one value a row.")
        if values.dtype.kind == "T":
            return pa.array(values.tolist(), pa.large_string(), from_pandas=True)
        if values.dtype.kind != "O":
            return numbers_to_arrow(_known_to_arrow(values))
    try:
        return pa.array(values, from_pandas=True)
    except OverflowError:  # integers of Python beyond int64
        return pa.array(values, pa.uint64(), from_pandas=True)


def _known_to_arrow(values: np.ndarray) -> np.ndarray:
    """Convert an array to the byte order of this machine, and dates and times to a unit that Arrow
    has.
    """
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    if values.dtype.kind != "M":
        return values
    unit = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}.get(np.datetime_data(values.dtype)[0])
    return values.astype(f"M8[{unit}]") if unit else values


def _align_pieces(columns: list[Any]) -> Iterator[list[Any]]:
    """Cut columns of one length, some of which may be in pieces, into pieces of the same rows, and
    yield the columns of each piece.
    """
    import pyarrow as pa

    table = pa.table(columns, names=[str(at) for at in range(len(columns))])
    for batch in table.to_batches():
        if batch.num_rows:
            yield [_plain(column) for column in batch.columns]


def _plain(column: Any) -> Any:
    """Cast a column of string views, as polars has them, to large strings; return any other column
    as it is. Few functions accept views, and pyarrow 17 casts none.
    """
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return pa.DictionaryArray.from_arrays(column.indices, _plain(column.dictionary))
    if not pa.types.is_string_view(kind):
        return column
    try:
        return column.cast(pa.large_string())
    except pa.ArrowNotImplementedError:
        return pa.array(column.to_pylist(), pa.large_string())


@contextmanager
def data_errors_about(what: str, name: str = "") -> Iterator[None]:
    """Turn the errors of another library or of pyarrow about a table that it cannot give into a
    `DataError` that names the table or the column.
    """
    import pyarrow as pa

    try:
        yield
    except DataError as error:
        raise _of_column(error, name, what) from None
    except (pa.ArrowException, OSError, TypeError, ValueError, OverflowError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        which = f"column {name!r}" if name else what
        raise DataError(
            f"{which} cannot be read: {said}",
            where=what if name else "",
            do="Give columns whose values are of one type each.",
        ) from None


def _of_column(error: DataError, name: str, what: str) -> DataError:
    """Return an error about a column with the name of the column put before its text."""
    if not name or error.where:
        return error
    return DataError(f"column {name!r} {error.what}", where=what, do=error.do)
