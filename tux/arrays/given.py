"""Types in which ids are given, and given back.

`tux.arrays.ids.Ids` knows integers of 64 bits and strings. Narrower integers, whole numbers in a
column of floating-point numbers (as pandas has them where some are missing), dates and times are
integers there: dates and times in nanoseconds since 1970. The name of the type in which they came,
as numpy writes it, says how they are given back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.arrays.arrow import STRING
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST
from tux.base.errors import DataError
from tux.base.text import plural

PLAIN = ("int64", "str")
"""Types of ids that need not be noted: they are given back as they are held."""

NANOSECONDS = np.dtype("M8[ns]")


def to_given_type(values: np.ndarray, given: str = "") -> np.ndarray:
    """Return ids in the type in which they were `given`, "" for one of `PLAIN`. They keep their
    type in memory where the given type cannot hold them: strings, or numbers from other data.
    """
    if not given or values.dtype.kind not in "iu":
        return values
    dtype = np.dtype(given)
    if dtype.kind == "M":
        return values.astype(np.int64).view(NANOSECONDS).astype(dtype)
    if dtype.kind in "iu" and values.size:
        limits = np.iinfo(dtype)
        if int(values.min()) < limits.min or int(values.max()) > limits.max:
            return values
    return values.astype(dtype)


def to_id_type(column: Any) -> Any:
    """Convert a column of ids to a type that `tux.arrays.ids.Ids` holds: dates and times, and whole
    numbers of a floating-point type, become integers. Raises `DataError` for a number with a
    fraction, and for a missing value.
    """
    array = np.asarray(column)
    if array.dtype.kind == "M":
        if np.isnat(array).any():
            raise DataError("a date is missing among ids")
        try:
            return nanoseconds(array)
        except DataError as error:
            raise DataError(f"a column of ids {error.what}", do=error.do) from None
    if isinstance(column, list | tuple):
        return column
    if array.dtype.kind == "f":
        if not np.isfinite(array).all() or (array != np.floor(array)).any():
            raise DataError("ids are whole numbers, strings or dates, not decimal numbers")
        return array.astype(np.int64)
    if array.dtype.kind in "iu":
        large = array.dtype == np.uint64 and int(array.max(initial=0)) > LAST
        return array if large else array.astype(np.int64, copy=False)
    return column


def nanoseconds(times: np.ndarray) -> np.ndarray:
    """Convert dates and times to nanoseconds since 1970, int64. Raises `DataError` beyond the years
    1678 to 2261.
    """
    held = times.astype(NANOSECONDS)
    if not np.array_equal(held.astype(times.dtype), times, equal_nan=True):
        raise DataError(
            "holds dates beyond the years 1678 to 2261", do="Give such dates as strings."
        )
    return held.view(np.int64)


def common_type(first: str, second: str) -> str:
    """Return the type for the ids of one vertex type that stand in two columns of these types; ""
    if there is none.
    """
    if first == second:
        return first
    kinds = [np.dtype(each or "int64") for each in (first, second)]
    if all(kind.kind in "iu" for kind in kinds) and "str" not in (first, second):
        both = np.result_type(*kinds)
        return both.name if both.kind in "iu" and both.name not in PLAIN else ""
    return ""


def check_unmasked(array: Any) -> None:
    """Raise DataError for an array of numpy with masked values, as these are not the values that it
    holds.
    """
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise DataError(
            f"an array has {plural(int(np.ma.count_masked(array)), 'masked value')}",
            do="Fill them: numpy.ma.filled(x, 0); or leave their rows out.",
        )


def ids_of(values: np.ndarray) -> Ids:
    """Convert ids to one of the types that `Ids` can have, in their order."""
    plain = np.asarray(to_id_type(values))
    if plain.dtype == STRING:
        return Ids(plain)
    large = plain.dtype.kind == "u" and int(plain.max(initial=0)) > LAST
    return Ids(plain.astype(np.uint64 if large else np.int64, copy=False))
