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
        """All numbers as one array (rows,); a piece is given up when it is copied. One that is all
        of them, and nobody else's, is not copied.
        """
        out: np.ndarray | None = None
        done = 0
        for piece in self.pieces:
            if len(piece) == self.rows and piece.flags.owndata and piece.dtype == self.dtype:
                return piece
            out = np.empty(self.rows, self.dtype) if out is None else out
            out[done : done + len(piece)] = piece
            done += len(piece)
        return np.empty(self.rows, self.dtype) if out is None else out


def drained(pieces: list[np.ndarray]) -> Iterator[np.ndarray]:
    """The arrays of a list that nobody else needs; each leaves it when it is taken, so that its
    memory can be given back.
    """
    pieces.reverse()
    while pieces:
        yield pieces.pop()
