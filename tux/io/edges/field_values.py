"""Numbers of a matrix or a graph as the data field of edges that they are read into."""

from __future__ import annotations

import os

import numpy as np

from tux.base.errors import DataError


def field_values(
    values: np.ndarray, field: str, dtype: np.dtype, path: str | os.PathLike[str]
) -> np.ndarray:
    """Cast finite numbers (m,) to the dtype of a field. Raises DataError for a number that it
    cannot hold, also for one with a fraction in a field of whole numbers.
    """
    if dtype.kind == "f":
        bad = np.abs(values) > np.finfo(dtype).max
    elif dtype.kind in "iu":
        limits = np.iinfo(dtype)
        # of float64, the largest integers of 64 bits are not among the numbers
        high = values < limits.max + 1.0 if values.dtype.kind == "f" else values <= limits.max
        bad = ~((values >= limits.min) & high & (values == np.rint(values)))
    else:
        return values.astype(dtype)
    if bad.any():
        number = values[np.flatnonzero(bad)[0]]
        raise DataError(
            f"{field} is {number:.17g}, which {dtype} cannot hold",
            where=os.fspath(path),
            do="Correct the number, or declare the field with a larger type.",
        )
    return values.astype(dtype)
