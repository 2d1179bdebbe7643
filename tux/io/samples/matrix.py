"""Samples as the rows of a sparse matrix that scipy.sparse.save_npz has written, in one of the
forms csr, csc and coo.

    csr: data, indices (columns), indptr (rows + 1)     csc: data, indices (rows), indptr (columns +
                                                        1) coo: data, row, col

(scipy.sparse, reference of csr_array, csc_array, coo_array and save_npz.) Entries that stand twice
are added up, as scipy does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.arrays.disk_columns import fill_column, kept_rows, store_column
from tux.arrays.given import check_unmasked
from tux.arrays.ids import MAX_VERTICES, is_plausible_size
from tux.arrays.integers import index_dtype, narrow
from tux.arrays.npy import read_npz
from tux.base.errors import DataError
from tux.io.bags.entries import BagSpec, Entries, repeat_rows, sum_entries
from tux.io.bags.hashed import collisions, hash_numbers
from tux.io.bags.numbering import ColumnNumbering
from tux.io.bags.pair_faults import number_fault
from tux.io.samples.labels import SampleRows, plain_number

FORMS = ("csr", "csc", "coo")
PARTS = ("format", "shape", "data", "indices", "indptr", "row", "col")
"""The arrays of a file that are read."""
WRITE = f"Write one of form {', '.join(FORMS)} by scipy.sparse.save_npz."
"""Advice about arrays that are no matrix."""


def read_matrix(asked: BagSpec, samples: int | None) -> SampleRows:
    """Read the rows of the matrix in a .npz file, numbered from 1; columns are numbered from 0.
    `samples` is the number of rows that there should be, if it is known.

    A row with a number that is not finite or that the field cannot hold is a bad one. Raises
    `DataError` for arrays that are no matrix.
    """
    return matrix_rows(read_npz(asked.path, PARTS), asked, samples)


def arrays_of(matrix: Any) -> dict[str, np.ndarray]:
    """Return the arrays of a sparse matrix of scipy, by the names of save_npz; also of a dense
    matrix, an array (n, m).
    """
    check_unmasked(matrix)
    arrays: dict[str, Any] = {"shape": matrix.shape, "format": "coo"}
    if isinstance(matrix, np.ndarray):
        arrays["row"], arrays["col"] = np.nonzero(matrix)
        arrays["data"] = matrix[arrays["row"], arrays["col"]]
    elif matrix.format in ("csr", "csc"):
        arrays["format"] = matrix.format
        arrays |= {name: getattr(matrix, name) for name in ("indices", "indptr", "data")}
    else:
        entries = matrix.tocoo()
        arrays |= {name: getattr(entries, name) for name in ("row", "col", "data")}
    return {name: np.asarray(array) for name, array in arrays.items()}


def matrix_rows(
    arrays: dict[str, np.ndarray], asked: BagSpec, samples: int | None, *, counts: bool = False
) -> SampleRows:
    """Make the rows of arrays that are read already; see `read_matrix`. With `counts`, numbers must
    be whole and at least 1; zeros are no entries.
    """
    shape, row, column, value = matrix_entries(arrays, asked.path)
    rows = shape[0]
    if samples != rows and not is_plausible_size(rows, len(value)):
        raise DataError(
            f"{rows:,} rows, but only {len(value):,} entries",
            where=asked.path,
            do="Leave rows without entries out.",
        )
    row, column, value = sum_entries(row, column, value)
    keep = np.ones(rows, np.bool_)
    keep[_note_bad_numbers(asked, row, column, value, counts=counts)] = False
    good = fill_column(len(row), np.bool_, lambda some: keep[row[some]] & (value[some] != 0))
    ids = np.arange(1, rows + 1)[keep]
    if not good.all():
        row, column, value = (kept_rows(each, good) for each in (row, column, value))
    notes: tuple[str, ...] = ()
    if asked.bits:
        column, signs = hash_numbers(column, asked.bits)
        before = len(row)
        row, column, value = sum_entries(row, column, value * signs)
        value = np.clip(value, *asked.reals())
        notes = collisions(before - len(row), asked.row, asked.column)
    entries = Entries(
        ids,
        fill_column(len(row), row.dtype, lambda some: row[some] + row.dtype.type(1)),
        narrow(column),
        store_column(value, asked.dtype),
        notes=notes,
        numbering=ColumnNumbering("matrix", 0, shape[1]),
    )
    return SampleRows(entries, lambda at: asked.bad.places.of(at, "row "))


def _note_bad_numbers(
    asked: BagSpec, row: np.ndarray, column: np.ndarray, value: np.ndarray, *, counts: bool
) -> np.ndarray:
    """Note each row that has a number which cannot be an entry, by its first one. Return these
    rows.
    """
    least, most = asked.counts() if counts else asked.reals()
    whole = counts or asked.dtype.kind != "f"

    def are_bad(some: slice) -> np.ndarray:
        numbers = value[some]
        bad = ~((numbers >= least) & (numbers <= most)) & (numbers != 0)
        return bad | (numbers != np.rint(numbers)) if whole else bad

    bad = fill_column(len(value), np.bool_, are_bad)
    if not bad.any():
        return row[:0]
    for at in np.flatnonzero(bad)[np.unique(row[bad], return_index=True)[1]].tolist():
        name = f"{asked.field} of {asked.column} {column[at]}"
        asked.bad.note(
            int(row[at]) + 1,
            number_fault(plain_number(float(value[at])), name, whole, least, most, asked.dtype),
            "row ",
        )
    return row[bad]


def matrix_entries(
    arrays: dict[str, np.ndarray], path: str
) -> tuple[tuple[int, int], np.ndarray, np.ndarray, np.ndarray]:
    """Return the numbers of rows and columns of a matrix, and of each entry its row (m,) int32, its
    column (m,) of `index_dtype` and its value (m,) float64. Raises `DataError` for arrays that are
    no matrix.
    """
    form = (
        arrays["format"].astype("U").item()
        if "format" in arrays and arrays["format"].size == 1
        else "none"
    )
    needed = (
        ("row", "col", "data", "shape") if form == "coo" else ("indices", "indptr", "data", "shape")
    )
    if form not in FORMS or not set(needed) <= arrays.keys():
        what = (
            "holds no sparse matrix of two dimensions"
            if form in (*FORMS, "none")
            else f"holds a matrix of form {form}"
        )
        raise DataError(f"{path} {what}", do=WRITE)
    shape = arrays["shape"]
    if (
        shape.shape != (2,)
        or shape.dtype.kind not in "iu"
        or int(shape.min()) < 0
        or int(shape[0]) > MAX_VERTICES
    ):
        raise DataError(
            f"{shape.tolist()} is the shape of no matrix that can be held",
            where=f"{path}:shape",
            do=WRITE,
        )
    rows, columns = (int(size) for size in shape)
    for name in needed[:3]:
        array = arrays[name]
        if array.ndim != 1 or array.dtype.kind not in ("biuf" if name == "data" else "iu"):
            raise DataError(
                f"{array.dtype} of shape {array.shape} instead of a row of numbers",
                where=f"{path}:{name}",
                do="Convert it to real numbers." if array.dtype.kind == "c" else WRITE,
            )
    data = arrays["data"]
    if form == "coo":
        row, column = arrays["row"], arrays["col"]
        if not len(row) == len(column) == len(data):
            raise DataError(
                f"{len(row):,} rows, {len(column):,} columns and {len(data):,} values of entries",
                where=path,
                do=WRITE,
            )
    else:
        major, minor, data = _expand_rows(arrays, rows if form == "csr" else columns, path)
        row, column = (major, minor) if form == "csr" else (minor, major)
    _check_places(row, column, (rows, columns), path)
    kinds = np.dtype(np.int32), index_dtype(columns), np.dtype(np.float64)
    row, column, data = map(store_column, (row, column, data), kinds)
    return (rows, columns), row, column, data


def _check_places(row: np.ndarray, column: np.ndarray, shape: tuple[int, int], path: str) -> None:
    """Raise `DataError` for an entry outside of the matrix; `row` and `column` are (m,)."""
    rows, columns = shape
    for name, index, size in (("row", row, rows), ("column", column, columns)):
        if len(index) and not (int(index.min()) >= 0 and int(index.max()) < size):
            raise DataError(
                f"{name} {int(index.min())} .. {int(index.max())} in a matrix of {rows:,} x "
                f"{columns:,}",
                where=path,
                do=WRITE,
            )


def _expand_rows(
    arrays: dict[str, np.ndarray], size: int, path: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expand `size` compressed rows (or columns). Returns the row of each entry, its index and its
    value.
    """
    bounds, indices, data = arrays["indptr"].astype(np.int64), arrays["indices"], arrays["data"]
    if (
        len(bounds) != size + 1
        or bounds[0] != 0
        or (np.diff(bounds) < 0).any()
        or bounds[-1] > min(len(indices), len(data))
    ):
        what = f"no bounds of {size:,} parts of {min(len(indices), len(data)):,} entries"
        raise DataError(what, where=f"{path}:indptr", do=WRITE)
    used = int(bounds[-1])
    return repeat_rows(np.arange(size), np.diff(bounds)), indices[:used], data[:used]
