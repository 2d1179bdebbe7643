"""Lanes: copies of the context to which the runs of items of a kernel add in turn.

Run i of the list has lane i mod the number of lanes, so what a lane holds in the end depends on
the list alone, and not on how many threads ran it. Then the lanes are folded into the context in
their order. Fields that no UDF of the kernel writes have one copy for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tux.base.compiled import cached_njit
from tux.program.combining import fold_copies
from tux.program.fields import Field
from tux.rows.table import RowTable

_LINE = 64  # bytes of a cache line


class Lanes:
    """The context's `names`, as `arrays` in the order of the names, each with `count` copies along
    its first axis. `arrays` are those of `tux.rows.table.RowTable.visible_fields`; only those that
    can be written have copies of their own.
    """

    def __init__(
        self, table: RowTable, names: tuple[str, ...], arrays: tuple[Any, ...], count: int
    ) -> None:
        count = max(count, 1)
        self._copies: list[tuple[Field, np.ndarray, np.ndarray]] = []
        one, apart = [], []
        for name, array in zip(names, arrays, strict=True):
            one.append(_repeat_row(array, count))
            apart.append(one[-1])
            if array.flags.writeable:
                apart[-1] = _pad_rows(array, count)
                self._copies.append((table.declared[name], array, apart[-1]))
        self.one, self.apart = tuple(one), tuple(apart)
        """All lanes are the context itself; each lane has copies of what is written."""

    @property
    def has_copies(self) -> bool:
        """True if any field has copies."""
        return bool(self._copies)

    def start(self) -> None:
        """Set the copies: totals begin with nothing, shared fields with what the context holds."""
        for field, array, copies in self._copies:
            copies[...] = field.identity if field.kind == "delta" else array

    def fold(self) -> None:
        """Fold the copies into the context."""
        for field, array, copies in self._copies:
            if field.kind == "delta":
                with np.errstate(all="ignore"):  # another check tells of infinities
                    _gather(field, array, copies)
            elif array.dtype.kind == "b":
                array ^= (copies != array).any(axis=0)
            else:
                _add_changes(array.reshape(-1), copies.reshape(len(copies), -1))


def _gather(field: Field, array: np.ndarray, copies: np.ndarray) -> None:
    if field.combine == "sum":
        array += copies.sum(axis=0, dtype=array.dtype)
        return
    assert isinstance(field.combine, str)  # a function has no copies: `why_no_lanes`
    array[0] = fold_copies(field.combine, np.concatenate([array, copies]))


@cached_njit
def _add_changes(array, copies):  # type: ignore[no-untyped-def]
    """Add to `array` (n,) the changes that each of its `copies` (lanes, n) has made."""
    before = array.copy()
    for lane in range(len(copies)):
        for k in range(len(array)):
            if copies[lane, k] != before[k]:  # an infinity minus itself is no number
                array[k] += copies[lane, k] - before[k]


def _repeat_row(array: np.ndarray, count: int) -> np.ndarray:
    """Return the one row of `array` as `count` rows that are the same memory."""
    shape, strides = (count, *array.shape[1:]), (0, *array.strides[1:])
    return as_strided(array, shape, strides, writeable=array.flags.writeable)


def _pad_rows(array: np.ndarray, count: int) -> np.ndarray:
    """Return `count` rows like the one of `array`, none of which shares a cache line with
    another.
    """
    size = array.itemsize * int(np.prod(array.shape[1:], dtype=np.int64))
    stride = -(-size // _LINE) * _LINE + _LINE
    raw = np.zeros(count * stride + _LINE, np.uint8)
    raw = raw[-raw.ctypes.data % _LINE :][: count * stride]
    return np.ndarray(
        (count, *array.shape[1:]), array.dtype, raw, strides=(stride, *array.strides[1:])
    )
