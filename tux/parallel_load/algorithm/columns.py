"""The arrays of a message, each checked when it is taken: numbers of another loader, perhaps of
another machine, index arrays in compiled loops, which check nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from tux.base.errors import DataError

MORE_THAN_ALL_EDGES = 1 << 40
"""A number that no loader tells: there are fewer edges."""

T = TypeVar("T")


class BadColumns(DataError):
    """A message of the loader `sender` that is not as its round requires; `why`."""

    def __init__(self, sender: int, why: str) -> None:
        super().__init__(
            f"what loader {sender} tells does not fit: {why}",
            do="load again; if that repeats, look at the disk",
        )
        self.sender, self.why = sender, why


class MessageColumns:
    """The arrays of a message of the loader `sender`. Each method that takes one raises BadColumns
    for an array that is not there, or is another one than is asked for.
    """

    def __init__(self, message: Iterable[np.ndarray], sender: int) -> None:
        self.sender, self._arrays = sender, iter(message)

    def bad(self, why: str) -> BadColumns:
        """Return the error of this message."""
        return BadColumns(self.sender, why)

    def column(self, kinds: str, length: int | None = None) -> np.ndarray:
        """Take the next array (m,), of one of some `kinds` of numbers, as numpy names them;
        `length` is m, if it is known.
        """
        array = self._next()
        if array.dtype.kind not in kinds or array.ndim != 1:
            raise self.bad(f"an array of {array.dtype} of shape {array.shape}")
        if length is not None and len(array) != length:
            raise self.bad(f"an array has {len(array):,} entries, not {length:,}")
        return array

    def like(self, dtype: np.dtype, length: int | None = None) -> np.ndarray:
        """Take the next array (m,), of numbers of this type."""
        array = self.column(dtype.kind, length)
        if array.dtype != dtype:
            raise self.bad(f"an array of {array.dtype}, not of {dtype}")
        return array

    def rows(self, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        """Take the next array, of numbers of this type in this shape."""
        array = self._next()
        if array.dtype != dtype or array.shape != shape:
            raise self.bad(f"an array of {array.dtype} of shape {array.shape}")
        return array

    def numbers(
        self, length: int | None = None, *, least: int = 0, below: int = MORE_THAN_ALL_EDGES
    ) -> np.ndarray:
        """Take the next array (m,), of whole numbers from `least` to `below` - 1."""
        return self._between(self.column("i", length), least, below)

    def table(self, shape: tuple[int, ...]) -> np.ndarray:
        """Take the next array, of whole numbers that are not negative, in this shape."""
        array = self._next()
        if array.dtype.kind != "i" or array.shape != shape:
            raise self.bad(f"an array of {array.dtype} of shape {array.shape}")
        return self._between(array, 0, MORE_THAN_ALL_EDGES)

    def number(self, below: int) -> int:
        """Take the next array, which is one number."""
        return int(self.numbers(1, below=below)[0])

    def text(self) -> str:
        """Take the next array, which is bytes of a text."""
        try:
            return self.content().decode()
        except UnicodeDecodeError as error:
            raise self.bad(str(error)) from None

    def decode_json(self, kind: type[T]) -> T:
        """Take the next array, which is bytes of JSON of this type."""
        try:
            return msgspec.json.decode(self.content(), type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self.bad(str(error)) from None

    def content(self) -> bytes:
        """Take the next array, which is bytes."""
        return self.like(np.dtype(np.uint8)).tobytes()

    def rest(self, count: int) -> list[np.ndarray]:
        """Take the other arrays, of which there are so many."""
        arrays = list(self._arrays)
        if len(arrays) != count:
            raise self.bad(f"{len(arrays)} arrays, not {count}")
        return arrays

    def _next(self) -> np.ndarray:
        for array in self._arrays:
            return array
        raise self.bad("an array is missing")

    def _between(self, array: np.ndarray, least: int, below: int) -> np.ndarray:
        if not array.size:
            return array
        low, top = int(array.min()), int(array.max())
        if least <= low and top < below:
            return array
        raise self.bad(f"numbers from {low:,} to {top:,}, not from {least:,} to {below - 1:,}")


def columns_by_sender(inbox: Sequence[Iterable[np.ndarray]]) -> list[MessageColumns]:
    """Return the messages of all loaders, by sender."""
    return [MessageColumns(message, sender) for sender, message in enumerate(inbox)]
