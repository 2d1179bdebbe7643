"""Edges from a sparse matrix that scipy.sparse.save_npz has written, as `tux.io.edges.memory` takes
them from one in memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids, are_plausible_sizes
from tux.arrays.npy import read_npz
from tux.base.errors import DataError, UsageError
from tux.io.edges.field_values import field_values
from tux.io.samples.matrix import PARTS, matrix_entries


def read_npz_edges(
    path: str | os.PathLike[str],
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    columns: str | None = None,
    against: Mapping[str, Ids] | None = None,
) -> EdgeData:
    """Read an edge for each entry that the matrix stores, from its row to its column. Ids are the
    numbers of rows and columns, from 0. Rows and columns without an entry are vertices too.
    `fields`, of one name at most, holds the entries, as numbers of its dtype.

    Raises `DataError` for arrays that are no matrix, or not a square one where both ends are of one
    type, and for numbers that are not finite; `UsageError` for `columns`.
    """
    if columns is not None:
        raise UsageError(
            f"{path} has no columns to name", do="leave --columns out: this is a matrix"
        )
    sizes, row, column, values = matrix_entries(read_npz(path, PARTS), os.fspath(path))
    what = f"{sizes[0]:,} x {sizes[1]:,}"
    if ends[0] == ends[1] and sizes[0] != sizes[1]:
        raise DataError(
            f"{path} is a {what} matrix: it has no edges from {ends[0]} to {ends[1]}",
            do="Give a square matrix.",
        )
    if len(fields) > 1:
        raise DataError(f"{path} has one number an edge, but {', '.join(fields)} are needed")
    if not len(row):
        raise DataError(f"{path} holds no edge")
    if not are_plausible_sizes(sizes, ends, len(row), against):
        raise DataError(
            f"{path} is said to be {what}, with {len(row):,} entries",
            do="Leave rows and columns without entries out.",
        )
    if fields and not np.isfinite(values).all():
        raise DataError(f"{path} holds numbers that are not finite")
    numbers = {
        name: field_values(values, name, np.dtype(dtype), path) for name, dtype in fields.items()
    }
    vertices = {end: np.arange(size) for end, size in zip(ends, sizes, strict=True)}
    return EdgeData.of(ends, row, column, numbers, against=against, vertices=vertices)


def npz_shape(path: str | os.PathLike[str]) -> tuple[int, int]:
    """Return the numbers of rows and columns of the matrix that `read_npz_edges` would read. Raises
    `DataError`.
    """
    return matrix_entries(read_npz(path, PARTS), os.fspath(path))[0]
