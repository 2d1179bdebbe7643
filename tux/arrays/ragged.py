"""Lists of different lengths, one a vertex: the form of a ragged field in a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Piece = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Some lists: their numbers, their lengths, and their values one after the other."""


@dataclass(frozen=True, eq=False)
class Lists:
    """n lists, one after the other: list i is ``values[bounds[i] : bounds[i + 1]]``. `bounds` (n
    + 1,) int64 from 0 on.
    """

    bounds: np.ndarray
    values: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The lengths of the lists (n,)."""
        return np.diff(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, i: int | slice) -> Any:
        """Return a list, or the lists of a range."""
        if isinstance(i, slice):
            first, end, _ = i.indices(len(self))
            bounds = self.bounds[first : max(first, end) + 1]
            return Lists(bounds - bounds[0], self.values[bounds[0] : bounds[-1]])
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self.values[self.bounds[i] : self.bounds[i + 1]]

    @staticmethod
    def join(parts: Sequence[Lists]) -> Lists:
        """Put one or more groups of lists behind each other."""
        counts = np.concatenate([each.counts for each in parts])
        bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        return Lists(bounds, np.concatenate([each.values for each in parts]))

    @staticmethod
    def from_pieces(pieces: Iterable[Piece], n: int, dtype: np.dtype) -> Lists:
        """Put n lists together from pieces in any order. Lists of which there is no piece are
        empty.
        """
        numbers, counts, values = (
            [np.empty(0, np.int64)],
            [np.empty(0, np.int64)],
            [np.empty(0, dtype)],
        )
        for piece in pieces:
            for parts, part in zip((numbers, counts, values), piece, strict=True):
                parts.append(part)
        at, lengths, joined = (np.concatenate(parts) for parts in (numbers, counts, values))
        first, count = np.zeros(n, np.int64), np.zeros(n, np.int64)
        first[at], count[at] = np.cumsum(lengths) - lengths, lengths
        return take_lists(joined, first, count)


def take_lists(values: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> Lists:
    """Take the lists that begin in `values` at `starts` (n,) and have `counts` entries (n,)."""
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    at = np.arange(bounds[-1])
    at += np.repeat(starts - bounds[:-1], counts)
    return Lists(bounds, values[at])
