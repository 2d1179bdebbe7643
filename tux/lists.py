"""Lists of different lengths, one a vertex: what a ragged field is in a model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tux.tables import Table

PIECE = 1 << 20  # entries of a piece: see `pieces`

Piece = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Some lists: their numbers, their lengths, and their values one after the other."""


@dataclass(frozen=True, eq=False)
class Lists:
    """n lists, one after the other: list i is ``values[bounds[i] : bounds[i + 1]]``. `bounds` (n + 1,) int64 from 0 on."""

    bounds: np.ndarray
    values: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        """The lengths of the lists (n,)."""
        return np.diff(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, i: int) -> np.ndarray:
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        return self.values[self.bounds[i] : self.bounds[i + 1]]

    @staticmethod
    def of_rows(table: Table, field: str, rows: np.ndarray) -> Lists:
        """The lists of `rows` of a ragged field: as many entries of each as the field that it names as its length says, else all."""
        starts, counts = table.bounds[rows], table.bounds[rows + 1] - table.bounds[rows]
        if length := table.declared[field].length:
            counts = np.clip(table.arrays[length][rows].astype(np.int64), 0, counts)
        return _taken(table.arrays[field], starts, counts)

    @staticmethod
    def gathered(pieces: Iterable[Piece], n: int, dtype: np.dtype) -> Lists:
        """n lists of which pieces came in any order; those of which nothing came are empty."""
        numbers, counts, values = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, dtype)]
        for piece in pieces:
            for parts, part in zip((numbers, counts, values), piece, strict=True):
                parts.append(part)
        at, lengths, joined = (np.concatenate(parts) for parts in (numbers, counts, values))
        first, count = np.zeros(n, np.int64), np.zeros(n, np.int64)
        first[at], count[at] = np.cumsum(lengths) - lengths, lengths
        return _taken(joined, first, count)


def _taken(values: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> Lists:
    """The lists that begin in `values` at `starts` (n,) and have `counts` entries (n,)."""
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    at = np.arange(bounds[-1])
    at += np.repeat(starts - bounds[:-1], counts)
    return Lists(bounds, values[at])


def pieces(table: Table, rows: int) -> list[tuple[int, int]]:
    """The first rows of a table in ranges, each with lists of PIECE entries, or one row: no message is to be too large."""
    bounds = table.bounds[: rows + 1]
    if bounds[-1] <= PIECE:
        return [(0, rows)]
    cuts = np.searchsorted(bounds, np.arange(0, bounds[-1], PIECE), side="right") - 1
    cuts = np.unique(np.append(cuts, rows))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
