"""Arrays of numbers that are not in memory as a whole: pieces that follow each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tux.arrays.disk_columns import empty_column
from tux.base.allocation import return_free_memory

RETURNED = 1 << 24
"""Bytes of pieces that are given up until their memory goes back to the system."""


@dataclass
class ArrayPieces:
    """An array (rows, ...) of numbers of one `dtype` in pieces (n, ...). `pieces` can be gone
    through once. `row_shape`: of what is behind the first dimension.
    """

    dtype: np.dtype
    rows: int
    pieces: Iterable[np.ndarray]
    row_shape: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return (self.rows, *self.row_shape)

    @staticmethod
    def concatenate(parts: Sequence[ArrayPieces]) -> ArrayPieces:
        """Concatenate several objects of one dtype into one."""
        rows = sum(part.rows for part in parts)
        pieces = (piece for part in parts for piece in part.pieces)
        return ArrayPieces(parts[0].dtype, rows, pieces, parts[0].row_shape)

    def whole(self) -> np.ndarray:
        """Return all numbers as one array (rows, ...). A piece is given up when it is copied. A
        single piece that owns its memory is returned without a copy.
        """
        out: np.ndarray | None = None
        done = 0
        for piece in self.pieces:
            if len(piece) == self.rows and piece.flags.owndata and piece.dtype == self.dtype:
                return piece
            out = empty_column(self.shape, self.dtype) if out is None else out
            out[done : done + len(piece)] = piece
            done += len(piece)
        return np.empty(self.shape, self.dtype) if out is None else out


def pop_pieces(pieces: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield the arrays of a list in order, and remove each from the list as it is yielded, so that
    its memory can be freed, and goes back to the system.
    """
    pieces.reverse()
    given_up = 0
    while pieces:
        given_up += pieces[-1].nbytes
        yield pieces.pop()
        if given_up >= RETURNED:
            return_free_memory()
            given_up = 0
