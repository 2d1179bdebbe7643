"""Edges from a sparse matrix that scipy.sparse.save_npz has written, as `tux.io.edges.memory` takes
them from one in memory.
"""

from __future__ import annotations

import os

import numpy as np

from tux.arrays.disk_columns import row_slices
from tux.arrays.edges import EdgeData
from tux.arrays.ids import are_plausible_sizes
from tux.arrays.npy import read_npz
from tux.base.errors import DataError
from tux.io.bags.numbering import ColumnNumbering
from tux.io.edges.bare_pairs import held_entries
from tux.io.edges.numbers import NumberedEnds, numbered_edges
from tux.io.edges.request import EdgeRequest
from tux.io.formats.format import EdgeFormat, Format
from tux.io.samples.matrix import PARTS, matrix_entries


def read_npz_edges(asked: EdgeRequest) -> EdgeData:
    """Read an edge for each entry that the matrix stores, from its row to its column. Ids are the
    numbers of rows and columns, from 0. Rows and columns without an entry are vertices too. A
    field, one at most, holds the entries, as numbers of its dtype. Where edges are there or not,
    the entries say it (`tux.io.edges.bare_pairs.held_entries`).

    Raises `DataError` for arrays that are no matrix, or not a square one where both ends are of one
    type, and for numbers that are not finite; `UsageError` for columns.
    """
    asked.refuse_columns("a matrix")
    path, ends = asked.path, asked.ends
    sizes, row, column, values = matrix_entries(read_npz(path, PARTS), path)
    what = f"{sizes[0]:,} x {sizes[1]:,}"
    if ends[0] == ends[1] and sizes[0] != sizes[1]:
        raise DataError(
            f"{path} is a {what} matrix: it has no edges from {ends[0]} to {ends[1]}",
            do="Give a square matrix.",
        )
    asked.check_one_number()
    if asked.bare == "members":
        there = held_entries(values, ends, path)
        row, column, values = row[there], column[there], values[there]
    if not len(row):
        raise DataError(f"{path} holds no edge")
    if not are_plausible_sizes(sizes, ends, len(row), asked.against):
        raise DataError(
            f"{path} is said to be {what}, with {len(row):,} entries",
            do="Leave rows and columns without entries out.",
        )
    finite = (np.isfinite(values[rows]).all() for rows in row_slices(len(values)))
    if asked.fields and not all(finite):
        raise DataError(f"{path} holds numbers that are not finite")
    given = NumberedEnds(ColumnNumbering("matrix", 0), row, column, sizes)
    return numbered_edges(asked, given, asked.numbers(values))


def npz_shape(path: str | os.PathLike[str], name: str | None = None) -> tuple[int, int]:
    """Return the numbers of rows and columns of the matrix that `read_npz_edges` would read. Raises
    `DataError`.
    """
    return matrix_entries(read_npz(path, PARTS), os.fspath(path))[0]


NPZ = EdgeFormat(
    Format.NPZ,
    ".npz",
    "a .npz file holds a whole matrix, and says how large it is",
    read_npz_edges,
    shape=npz_shape,
)
