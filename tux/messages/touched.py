"""The rows of a route that a message is about, where it is not about all: as numbers or as bits.
The work is in proportion to these rows if they are few.

Blocks are the same in every pass, so a sender names the rows of a block once, and the receiver
keeps them. Messages between two workers come in the order in which they were sent, so both always
know the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.messages.encoding import Arrays
from tux.messages.message import Message

ONCE, FIRST, AGAIN = range(3)
"""The form in which a message gives its rows: it has them; it has them, and they are to be kept;
they are those that were kept.
"""


class RoutePlaces(NamedTuple):
    """Some rows of a route of `length` rows, by their ascending places in it."""

    places: np.ndarray  # (r,)
    length: int

    def array(self) -> np.ndarray:
        """Return them as an array of a message: the places as int32, or a bit for each row of the
        route, whichever takes less.
        """
        if 4 * len(self.places) < (self.length + 7) // 8:
            return self.places.astype(np.int32)
        flags = np.zeros(self.length, np.uint8)
        flags[self.places] = 1
        return np.packbits(flags)

    @staticmethod
    def read(array: np.ndarray, count: int) -> np.ndarray:
        """Read the places (r,) from an array, for a route of `count` rows. ValueError if it has
        none, or wrong ones.
        """
        if array.dtype == np.uint8:
            if array.shape != ((count + 7) // 8,):
                raise ValueError(f"its bitmap is {array.dtype} {array.shape}, for {count} rows")
            return np.flatnonzero(np.unpackbits(array, count=count))
        if array.dtype != np.int32 or array.ndim != 1:
            raise ValueError(f"its touched rows are {array.dtype} {array.shape}")
        within = len(array) == 0 or array[0] >= 0 and array[-1] < count
        if not within or not (array[1:] > array[:-1]).all():
            raise ValueError(f"its touched rows do not ascend, or one is not in 0..{count - 1}")
        return array

    def message_arrays(self, *, keep: bool) -> Arrays:
        """Return them as arrays of a message. With `keep`, the receiver is asked to keep them."""
        return [np.array([FIRST if keep else ONCE], np.uint8), self.array()]


def kept_rows_arrays() -> Arrays:
    """Return arrays of a message about rows that the receiver has been asked to keep before."""
    return [np.array([AGAIN], np.uint8)]


class RowsByBlock:
    """The rows that messages have asked this worker to keep, by kind, sender and block."""

    def __init__(self) -> None:
        self._rows: dict[tuple[int, int, int], np.ndarray] = {}

    def read_rows(
        self, message: Message, number: int, route: np.ndarray, arrays: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, Arrays]:
        """Read which rows of a route a message about block `number` is about; return them and its
        other arrays. `arrays` begin with the form in which the rows are given. ValueError if there
        are none.
        """
        how, *rest = arrays or [np.empty(0)]
        if how.dtype != np.uint8 or how.shape != (1,) or how[0] > AGAIN:
            raise ValueError(f"how it says its rows is {how.dtype} {how.shape}")
        key = message.kind, message.source, number
        if how[0] == AGAIN:
            if key not in self._rows:
                raise ValueError(f"its rows of block {number} have not been told")
            return self._rows[key], rest
        if not rest:
            raise ValueError("an array is missing")
        rows = route[RoutePlaces.read(rest[0], len(route))]
        if how[0] == FIRST:
            if key in self._rows:
                raise ValueError(f"its rows of block {number} are told a second time")
            self._rows[key] = rows
        return rows, rest[1:]
