"""Numbers of a matrix or a graph as the data field of edges that they are read into."""

from __future__ import annotations

import os

import numpy as np

from tux.arrays.disk_columns import row_slices, store_column
from tux.base.errors import DataError


def field_values(
    values: np.ndarray, field: str, dtype: np.dtype, path: str | os.PathLike[str]
) -> np.ndarray:
    """Cast finite numbers (m,) to the dtype of a field. Raises DataError for a number that it
    cannot hold, also for one with a fraction in a field of whole numbers.
    """
    for rows in row_slices(len(values)):
        some = values[rows]
        if (bad := _are_beyond(some, dtype)).any():
            raise DataError(
                f"{field} is {some[bad][0]:.17g}, which {dtype} cannot hold",
                where=os.fspath(path),
                do="Correct the number, or declare the field with a larger type.",
            )
    return store_column(values, dtype)


def _are_beyond(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return which of some finite numbers (n,) a dtype cannot hold."""
    if dtype.kind == "f":
        return np.abs(values) > np.finfo(dtype).max
    if dtype.kind not in "iu":
        return np.zeros(len(values), np.bool_)
    limits = np.iinfo(dtype)
    # of float64, the largest integers of 64 bits are not among the numbers
    high = values < limits.max + 1.0 if values.dtype.kind == "f" else values <= limits.max
    return ~((values >= limits.min) & high & (values == np.rint(values)))
