"""Tables of vertices as columns: Parquet, .npz and .npy files, and tables in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow import STRING, CodedColumn
from tux.arrays.frames import arrow_table, dates_as_integers, frame_of, has_arrow, levels_of
from tux.arrays.given import check_unmasked, nanoseconds
from tux.arrays.npy import map_npy, read_npy, read_npz
from tux.arrays.packed import head_of
from tux.arrays.ragged import Lists
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.formats.detect import Format, detect_format
from tux.io.source.input_files import FilePiece

NPY = b"\x93NUMPY"


class Column(NamedTuple):
    """A column of n rows: numbers (n,) or (n, k), words or lists of numbers; and a mask (n,) of the
    rows without a value.
    """

    values: np.ndarray | CodedColumn | Lists
    missing: np.ndarray
    measured: bool = True  # numbers are amounts; dates as integers, for ids, are none

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return len(self.missing)

    @property
    def wide(self) -> bool:
        """True if a row has several numbers."""
        values = self.values
        return isinstance(values, Lists) or (isinstance(values, np.ndarray) and values.ndim > 1)

    @property
    def width(self) -> int:
        """The numbers of the first row that has some, of a column of lists; 0 if there is none."""
        values = self.values
        if isinstance(values, Lists):
            return next((int(count) for count in values.counts[~self.missing] if count), 0)
        return values.shape[1] if isinstance(values, np.ndarray) and values.ndim > 1 else 0

    def lists(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers (n, width), and a mask (n,) of the rows that have another number of
        them. Width 0 stands for that of the column.
        """
        values = self.values
        if isinstance(values, np.ndarray):
            return values, np.full(len(values), bool(width) and values.shape[1] != width)
        assert isinstance(values, Lists)
        counts, width = values.counts, width or self.width
        good = counts == width
        out = np.zeros((len(counts), width), values.values.dtype)
        out[good] = values.values[np.repeat(good, counts)].reshape(np.count_nonzero(good), width)
        return out, ~good


def table_format(path: str | os.PathLike[str]) -> Format:
    """Find out the format of a table of vertices. Raises the errors of
    `tux.io.formats.detect.detect_format`.
    """
    return Format.NPY if head_of(path, len(NPY)) == NPY else detect_format(path)


def file_columns(path: str | os.PathLike[str]) -> dict[str, Column] | None:
    """Read the columns of a file of Parquet or of numpy's arrays; None for a file of text. The only
    array of a .npy file has the name "".
    """
    match table_format(path):
        case Format.NPY:
            return {"": _of_array(read_npy(path, most=2), str(path))}
        case Format.PARQUET:
            return parquet_columns(FilePiece(os.fspath(path)))
        case Format.NPZ:
            arrays = read_npz(path, None, most=2)
            return {name: _of_array(array, f"{path}:{name}") for name, array in arrays.items()}
    return None


def parquet_columns(piece: FilePiece, names: Sequence[str] | None = None) -> dict[str, Column]:
    """Read the named columns, or all, of a piece of a Parquet file."""
    with arrow.parquet_file(piece.path) as file:
        groups = [*range(file.metadata.num_row_groups)][piece.begin : piece.end]
        arrow.check_columns(file, piece.path, groups, names)
        table = file.read_row_groups(groups, columns=None if names is None else [*names])
        table = arrow.validate_piece(table if names is None else table.select([*names]))
    return _of_arrow(table, piece.path, dates=True)


def npy_columns(piece: FilePiece, names: Sequence[str] | None = None) -> dict[str, Column]:
    """Read the rows of a piece of a .npy file, as `file_columns` reads all. Raises `DataError` for
    an array that cannot be read in pieces.
    """
    rows = np.array(map_npy(piece.path)[piece.begin : piece.end])
    return {"": _of_array(rows, piece.path)} if names is None or names else {}


def memory_columns(table: Any, kind: str) -> dict[str, Column]:
    """Return the columns of arrays by name, or of a table of another library. Raises `DataError`
    for anything else.
    """
    columns = getattr(table, "columns", None)
    if has_arrow(table) and not hasattr(table, "iloc"):
        frame = frame_of(table)
        assert frame is not None
        return _of_arrow(arrow_table(frame), f"the table of {plural_noun(kind)}", dates=True)
    if columns is not None and hasattr(table, "__getitem__") and not isinstance(table, dict):
        if levels := [name for name in levels_of(table) if name not in columns]:
            table = table.reset_index(level=levels)
        table = {str(name): _of_pandas(table[name]) for name in table.columns}
    if isinstance(table, np.ndarray) and table.dtype.names is not None:
        table = {name: table[name] for name in table.dtype.names}
    if not isinstance(table, Mapping):
        raise DataError(
            f"vertices of type {kind} are given as an object of type {type(table).__name__}",
            do="Give a file's name, a dict of arrays, a pyarrow Table or a data frame.",
        )
    return {
        name: _of_array(array if isinstance(array, np.ndarray) else _array(array), f"{kind}.{name}")
        for name, array in table.items()
    }


def _of_pandas(column: Any) -> Any:
    """Convert a column of a data frame to an array; times of a time zone become those of UTC."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return column.to_numpy()


def check_lengths(columns: Mapping[str, Column], where: str) -> int:
    """Return the number of rows of all columns. Raises DataError if they differ."""
    lengths = {name: column.rows for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {rows:,}" for name, rows in lengths.items())
        raise DataError(f"columns differ in length: {told}", where=where)
    return next(iter(lengths.values()), 0)


def _of_arrow(table: Any, where: str, *, dates: bool = False) -> dict[str, Column]:
    """Return the columns of a table of Arrow. Columns of types that are not read here have no value
    in any row. With `dates`, dates become integers, as ids are.
    """
    columns, rows, readable = {}, table.num_rows, False
    for at, name in enumerate(table.column_names):
        try:
            column = table.column(at)
            held = dates_as_integers(column) if dates else None
            columns[name] = Column(*(held or arrow.table_column(column)), held is None)
            readable = True
        except DataError:
            nothing = CodedColumn(np.zeros(rows, np.int32), np.array([""], STRING))
            columns[name] = Column(nothing, np.ones(rows, np.bool_), measured=False)
    if not readable:
        raise DataError("no column of numbers, strings or lists of numbers", where=where)
    return columns


def _array(values: Any) -> np.ndarray:
    """Convert a list to an array, of objects if its entries are of several kinds."""
    try:
        array = np.asarray(values)
    except ValueError:  # lists of several lengths
        array = np.empty(len(values), object)
        array[:] = values
    return np.asarray(values, object) if array.dtype.kind == "U" else array


def _of_array(array: np.ndarray, where: str) -> Column:
    """Make a column of an array of numbers, text or objects."""
    check_unmasked(array)
    if array.ndim not in (1, 2):
        raise DataError(
            f"an array of shape {array.shape} is no column",
            where=where,
            do="Give an entry or a row for each vertex.",
        )
    if array.dtype.kind == "O" and array.ndim == 1:
        return _of_objects(array, where)
    if array.dtype.kind in "UST" and array.ndim == 1:
        text = np.char.decode(array) if array.dtype.kind == "S" else array
        return _of_words(text.astype(STRING))
    if array.dtype.kind == "M" and array.ndim == 1:
        return Column(nanoseconds(array), np.isnat(array), measured=False)
    if array.dtype.kind not in "biuf":
        raise DataError(f"{array.dtype} is neither numbers nor text", where=where)
    array = array.astype(np.int8) if array.dtype.kind == "b" else array
    return Column(array, np.zeros(len(array), np.bool_))


def _of_words(texts: np.ndarray) -> Column:
    """Make a column of words; an empty one is no value."""
    coded = arrow.encode(np.strings.strip(texts))
    return Column(coded, (coded.values == "")[coded.codes])


def _of_objects(array: np.ndarray, where: str) -> Column:
    """Make a column of Python's objects, as data frames have of text and of lists."""
    missing = np.array([is_absent(value) for value in array], np.bool_)
    known = array[~missing].tolist()
    if all(isinstance(value, str) for value in known):
        texts = ["" if no else value for value, no in zip(array, missing, strict=True)]
        return _of_words(np.array(texts, STRING))
    if all(isinstance(value, list | tuple | np.ndarray) for value in known):
        rows: Sequence[Any] = [[] if no else v for v, no in zip(array, missing, strict=True)]
        numbers = np.array([x for row in rows for x in row])
        if numbers.dtype.kind in "biuf":
            bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
            return Column(Lists(bounds.astype(np.int64), numbers), missing)
    elif all(isinstance(value, int | float | np.number | np.bool_) for value in known):
        numbers = np.array([0 if no else v for v, no in zip(array, missing, strict=True)])
        if numbers.dtype.kind in "biuf":
            return Column(_of_array(numbers, where).values, missing)
    raise DataError("the column holds objects of several kinds", where=where)


def is_absent(value: Any) -> bool:
    """Return whether an object stands for a missing value: None, NaN, or pandas's own."""
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )
