"""Columns of integers of up to 64 bits, signed or not, in a type that holds all of them; numpy
would make doubles of both together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.arrays.pieced import ArrayPieces, pop_pieces
from tux.base.errors import DataError

LAST = 2**63 - 1  # of int64
MOST_NARROW = 2**31 - 1
"""The most things that are numbered by int32. Tests lower it, so that small graphs take the wide
path.
"""
MOST_PAIRED = 3_037_000_499
"""The most things of which each pair has a number in int64."""


def index_dtype(count: int) -> np.dtype:
    """Return the smaller integer type that can number so many things: positions and dense indices
    of vertices, edges.
    """
    return np.dtype(np.int32 if count <= MOST_NARROW else np.int64)


def check_pairs(count: int) -> None:
    """Raise DataError for so many vertices that their pairs have no numbers in int64."""
    if count > MOST_PAIRED:
        raise DataError(
            f"{count:,} vertices of one type, whose pairs are to be numbered",
            do=f"use at most {MOST_PAIRED:,}, or a program without neighbours and held-out links",
        )


def narrow(values: np.ndarray) -> np.ndarray:
    """Cast integers to the first of int32, int64 and uint64 that holds all of them. They are not
    copied if they have that type.
    """
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    small = -(1 << 31) <= low and high < 1 << 31
    return values.astype(np.int32 if small else np.int64 if high <= LAST else np.uint64, copy=False)


def distinct_integers(values: np.ndarray) -> np.ndarray:
    """Return the distinct values of some integers, ascending.

    It sorts them, which is some forty times as fast as the hash table of numpy.unique (numpy 2.4).
    """
    ordered = np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def places_among(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the place of each of some integers (k,), ascending, in `among` (n,), ascending: (k,)
    of `index_dtype`, -1 if it is not there. Both are of one type.

    Each search begins where the one before has ended in the cache: it takes a sixth of the time of
    a hash table.
    """
    if not len(among):
        return np.full(len(values), -1, np.int32)
    places = np.searchsorted(among, values).astype(index_dtype(len(among)))
    np.minimum(places, len(among) - 1, out=places)
    places[among[places] != values] = -1
    return places


def join_integers(pieces: list[np.ndarray]) -> np.ndarray | None:
    """Join several columns of integers into one, and give them up one by one: the list is emptied.
    A single one is returned as it is. None if no type holds all, as some are negative and others
    beyond int64; then they stay.
    """
    if len(pieces) == 1:
        return pieces.pop()
    kind = np.result_type(np.int32, *pieces)
    if kind.kind == "f":
        if min(int(piece.min(initial=0)) for piece in pieces) < 0:
            return None
        kind = np.dtype(np.uint64)
    return ArrayPieces(kind, sum(map(len, pieces)), pop_pieces(pieces)).whole()


def from_python_integers(values: Sequence[int] | np.ndarray) -> np.ndarray | None:
    """Convert integers of Python, also in an array of objects, to int64 or uint64; None if neither
    holds all.
    """
    low, high = min(values, default=0), max(values, default=0)
    if -LAST - 1 <= low and high <= LAST:
        return np.array(values, np.int64)
    return np.array(values, np.uint64) if low >= 0 and high <= 2 * LAST + 1 else None
