"""The fields of a cut vertex type that travel between its mirrors and masters."""

from __future__ import annotations

import math

import numpy as np

from tux.rows.table import RowTable

UP, DOWN = ("shared", "delta"), ("value", "shared")
"""The kinds of fields whose changes mirrors send, and whose values masters answer."""

NO_ROWS = np.empty(0, np.int32)
NO_ROWS.flags.writeable = False


def of_kinds(table: RowTable, kinds: tuple[str, ...]) -> list[str]:
    """List the names of the fields of some kinds, in the order in which they were declared."""
    return [name for name, field in table.declared.items() if field.kind in kinds]


def row_bytes(table: RowTable, kinds: tuple[str, ...]) -> int:
    """Count the bytes that the fields of some kinds have in one row."""
    return sum(
        a.itemsize * math.prod(a.shape[1:])
        for a in (table.arrays[name] for name in of_kinds(table, kinds))
    )


def flatten_rows(array: np.ndarray) -> np.ndarray:
    """View `array` (n, *shape) as (n, width)."""
    return array.reshape(len(array), math.prod(array.shape[1:]))
