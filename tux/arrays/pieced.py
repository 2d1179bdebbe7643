"""Rows of numbers that are not in memory as a whole: pieces that follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass
class Pieced:
    """`rows` numbers of one `dtype` in pieces, one-dimensional arrays, each of which is taken
    once.
    """

    dtype: np.dtype
    rows: int
    pieces: Iterable[np.ndarray]

    @staticmethod
    def joined(parts: Sequence[Pieced]) -> Pieced:
        """Several of one dtype, one after the other."""
        rows = sum(part.rows for part in parts)
        return Pieced(parts[0].dtype, rows, (piece for part in parts for piece in part.pieces))

    def whole(self) -> np.ndarray:
        """All numbers as one array (rows,); a piece is given up when it is copied."""
        out, done = np.empty(self.rows, self.dtype), 0
        for piece in self.pieces:
            out[done : done + len(piece)] = piece
            done += len(piece)
        return out


def drained(pieces: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The arrays of a list that nobody else needs; each leaves it when it is taken, so that its
    memory can be given back.
    """
    pieces.reverse()
    while pieces:
        yield pieces.pop()
