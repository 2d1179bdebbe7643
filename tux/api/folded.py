"""Tables of new vertices and their vectors, in the place of ids: as `Run.fold_in` returns them, or
as another library has read what ``tux predict --fold-in`` wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count, takewhile
from typing import Any

import numpy as np

from tux.base.errors import DataError

Columns = dict[str, Any]


def is_table(users: Any) -> bool:
    """Return whether an object is a table of vertices and their vectors, and not ids: a
    `tux.Table`, a DataFrame of pandas or polars, a table of pyarrow, or a dict of columns.
    """
    return isinstance(users, Mapping) or any(
        hasattr(users, name) for name in ("columns", "column_names")
    )


def as_arrays(table: Any, role: str, factors: str, bias: str, width: int) -> Columns:
    """Return the columns `role`, of ids (n,), `factors`, (n, width) float32, and `bias`, (n,)
    float32, of a table, as far as they are there, as arrays. Vectors may also be in columns of
    their numbers, "f_0", "f_1" and so on, as in files of text. DataError for what is none, and for
    vectors of another width.
    """
    columns = _columns_of(table)
    numbers = [*takewhile(columns.__contains__, (f"{factors}_{k}" for k in count()))]
    found: Columns = {role: _ids(columns[role])} if role in columns else {}
    if factors in columns:
        found[factors] = _floats(columns[factors], factors)
    elif numbers:
        found[factors] = np.column_stack([_floats(columns[name], name) for name in numbers])
    if bias in columns:
        found[bias] = _floats(columns[bias], bias)
    if factors in found and found[factors].shape[1:] != (width,):
        raise DataError(
            f"vectors of {found[factors].shape[1:]} numbers, and those of the model have {width}",
            do="find the vectors by this model, with fold_in",
        )
    return found


def _columns_of(table: Any) -> Columns:
    """Return the columns of a table of any library by name."""
    if isinstance(table, Mapping):
        return {str(name): table[name] for name in table}
    names = getattr(table, "column_names", getattr(table, "columns", ()))  # pyarrow, or others
    return {str(name): table[name] for name in names}


def _ids(column: Any) -> np.ndarray:
    """Convert a column of ids of any library; texts become strings of numpy."""
    array = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    return np.array(array.tolist()) if array.dtype.kind == "O" else array


def _floats(column: Any, name: str) -> np.ndarray:
    """Convert a column of numbers, or of vectors of one length, of any library."""
    for method in ("to_pylist", "to_list"):
        if hasattr(column, method):
            column = getattr(column, method)()
    try:
        return np.array(column, np.float32)
    except (TypeError, ValueError):
        raise DataError(
            f"{name} is no column of numbers, or of vectors of one length",
            do="give a table as fold_in returns it",
        ) from None
