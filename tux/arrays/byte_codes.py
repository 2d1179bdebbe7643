"""Columns with few different values: one byte an entry, which numbers its value, or none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tux.arrays.disk_columns import empty_column
from tux.arrays.lookup import look_up
from tux.base.compiled import cached_njit
from tux.base.linked import linked_njit
from tux.base.parallel import slices, spread

CODES = 256
"""Different values that a byte numbers."""

SAMPLE = 1 << 14
"""Entries that are looked at before the whole column is."""

SLOTS = 1 << 10
"""Places of a table of values by their bits."""


@dataclass(frozen=True)
class ByteCodes:
    """A column of `count` numbers: entry i is ``values[codes[i]]``, `codes` (count,) uint8; without
    codes, each is the one of the values.
    """

    values: np.ndarray
    codes: np.ndarray | None
    count: int

    @property
    def dtype(self) -> np.dtype:
        """The type of the numbers."""
        return self.values.dtype

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, at: Any) -> np.ndarray:
        """Return the numbers of a slice, a mask, or indices, as numpy does."""
        if self.codes is None:
            return np.broadcast_to(self.values[0], self.count)[at]
        return self.values[self.codes[at]]

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays that kernels get: values and codes, or the value alone."""
        return (self.values,) if self.codes is None else (self.values, self.codes)

    def reorder(self, index: np.ndarray) -> ByteCodes:
        """Return the column with the entries at `index`."""
        codes = None if self.codes is None else look_up(self.codes, index)
        return ByteCodes(self.values, codes, len(index))


Column = np.ndarray | ByteCodes


def code_column(column: np.ndarray) -> Column:
    """Return a column of numbers (m,) with a byte an entry if it has at most CODES different ones,
    told apart by their bits; without any if it has one; else as it is.
    """
    column = np.ascontiguousarray(column)
    if column.ndim != 1 or column.dtype.kind not in "iufb" or not len(column):
        return column
    bits = column.view(f"u{column.itemsize}")
    if _distinct(bits[:SAMPLE]) is None or (found := _distinct(bits)) is None:
        return column
    values = found.view(column.dtype)
    if len(found) == 1:
        return ByteCodes(values, None, len(column))
    if column.itemsize == 1:
        return column
    slots, codes = np.full(SLOTS, -1, np.int64), empty_column(len(column), np.uint8)
    _gather(found, slots, np.empty(CODES + 1, bits.dtype))
    spread(lambda part: _encode(bits[part], slots, found, codes[part]), slices(len(bits)))
    return ByteCodes(values, codes, len(column))


def _distinct(bits: np.ndarray) -> np.ndarray | None:
    """Return the different numbers among `bits`, ascending; None if there are more than CODES."""
    pieces = slices(len(bits))
    found = [bits[:0]] * len(pieces)

    def look(at: int) -> None:
        out = np.empty(CODES + 1, bits.dtype)
        found[at] = out[: _gather(bits[pieces[at]], np.full(SLOTS, -1, np.int64), out)]

    spread(look, range(len(pieces)))
    together = np.unique(np.concatenate(found))
    return together if len(together) <= CODES else None


@linked_njit(nogil=True, error_model="numpy")
def _place(value, slots, numbers):  # type: ignore[no-untyped-def]
    """Return the place of a value in `slots`, which has the index of each in `numbers`, or the free
    one where it belongs.
    """
    at = np.int64((np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(54))
    while slots[at] >= 0 and numbers[slots[at]] != value:
        at = (at + 1) % len(slots)
    return at


@cached_njit
def _gather(bits, slots, out):  # type: ignore[no-untyped-def]
    """Write the different numbers among `bits` to `out`, as many as fit; return how many."""
    count = 0
    for value in bits:
        at = _place(value, slots, out)
        if slots[at] < 0:
            slots[at] = count
            out[count] = value
            count += 1
            if count == len(out):
                break
    return count


@cached_njit
def _encode(bits, slots, numbers, codes):  # type: ignore[no-untyped-def]
    """Write the index in `numbers` of each value."""
    for i in range(len(bits)):
        codes[i] = slots[_place(bits[i], slots, numbers)]
