"""Which rows of a route a message is about, where it is not about all: as numbers or as bits. The
work is in proportion to these rows if they are few.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Touched(NamedTuple):
    """Those rows of a route of `length` rows that are meant: their ascending places in it."""

    places: np.ndarray  # (r,)
    length: int

    def array(self) -> np.ndarray:
        """As an array of a message: the places as int32, or a bit for each row of the route,
        whichever takes less.
        """
        if 4 * len(self.places) < (self.length + 7) // 8:
            return self.places.astype(np.int32)
        flags = np.zeros(self.length, np.uint8)
        flags[self.places] = 1
        return np.packbits(flags)

    @staticmethod
    def read(array: np.ndarray, count: int) -> np.ndarray:
        """The places (r,) that an array says, of `count`; ValueError if it cannot."""
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
