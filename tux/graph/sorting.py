"""The stable counting sort by which edges get their order: all threads share it, and the order does
not depend on how many there are.

The keys are cut into one piece a thread. Each piece counts its keys; from the counts of all pieces
follows where the entries of each piece go, key by key, so that the pieces can be moved side by
side.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from tux.arrays.pieced import Pieced
from tux.base.parallel import LEAST, slices, spread
from tux.partition.compiled import compiled
from tux.rows.table import frozen

SPARSE = 8
"""Keys for each entry from which on those of a group are compared instead of counted."""

WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
"""As what entries of a size in bytes are moved: one compilation serves all types of that size."""


def index_dtype(m: int) -> np.dtype:
    """The smaller integer type that can number m edges."""
    return np.dtype(np.int32 if m < 2**31 else np.int64)


@compiled
def _count(keys, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` (n_keys,) how often each key is there."""
    for k in keys:
        counts[k] += 1


@compiled
def _starts(counts, bounds):  # type: ignore[no-untyped-def]
    """Replace the `counts` (pieces, n_keys) by where each piece's entries of each key begin, and
    write where those of each key begin to `bounds` (n_keys + 1,).
    """
    at = 0
    for k in range(counts.shape[1]):
        bounds[k] = at
        for piece in range(counts.shape[0]):
            count = counts[piece, k]
            counts[piece, k] = at
            at += count
    bounds[counts.shape[1]] = at


@compiled
def _move(keys, free, column, out):  # type: ignore[no-untyped-def]
    """Write the entries of `column` to `out`, each to the place that is free for its key."""
    for i in range(len(keys)):
        at = free[keys[i]]
        out[at] = column[i]
        free[keys[i]] = at + 1


@compiled
def _number(keys, free, first, out):  # type: ignore[no-untyped-def]
    """Write the numbers of entries, from `first` on, to `out`, as `_move` does with entries."""
    for i in range(len(keys)):
        at = free[keys[i]]
        out[at] = first + i
        free[keys[i]] = at + 1


def _pieces(keys: np.ndarray, n_keys: int) -> list[slice]:
    """As many pieces as there are threads, but so few that their counts take no more memory than a
    byte a key, or one piece's.
    """
    return slices(len(keys), max(LEAST, 4 * n_keys))


def counted(keys: np.ndarray, n_keys: int) -> np.ndarray:
    """How often each of 0..n_keys-1 is among `keys`, (n_keys,) int64."""
    keys, pieces = frozen(keys), _pieces(keys, n_keys)
    counts = np.zeros((len(pieces), n_keys), index_dtype(len(keys)))
    spread(lambda at: _count(keys[pieces[at]], counts[at]), range(len(pieces)))
    return counts.sum(axis=0, dtype=np.int64)


@compiled
def _inside(keys, bounds):  # type: ignore[no-untyped-def]
    """Replace the keys of each group bounds[g]..bounds[g+1] by their stable order in it, from 0."""
    own = np.empty(np.diff(bounds).max(), keys.dtype)
    for g in range(len(bounds) - 1):
        lo, size = bounds[g], bounds[g + 1] - bounds[g]
        if size == 0:
            continue
        own[:size] = keys[lo : lo + size]
        least = own[:size].min()
        span = own[:size].max() - least + 1
        if span > SPARSE * size:  # to go through the keys that are not there takes longer
            keys[lo : lo + size] = np.argsort(own[:size], kind="mergesort")
            continue
        free = np.zeros(span + 1, np.int64)
        for i in range(size):
            free[own[i] - least + 1] += 1
        for k in range(span):
            free[k + 1] += free[k]
        for i in range(size):
            at = own[i] - least
            keys[lo + free[at]] = i
            free[at] += 1


@compiled
def _put(order, bounds, column):  # type: ignore[no-untyped-def]
    """Put the entries of each group of `column` into the group's `order`."""
    own = np.empty(np.diff(bounds).max(), column.dtype)
    for g in range(len(bounds) - 1):
        lo, size = bounds[g], bounds[g + 1] - bounds[g]
        own[:size] = column[lo : lo + size]
        for i in range(size):
            column[lo + i] = own[order[lo + i]]


class InnerSorting:
    """The stable order of `keys` (m,), not negative, within each group bounds[g]..bounds[g+1].

    Keys and columns are overwritten: beside them only the largest group is held, once a thread.
    """

    def __init__(self, keys: np.ndarray, bounds: np.ndarray) -> None:
        most = index_dtype(int(np.diff(bounds).max(initial=0)))
        self._bounds = frozen(bounds)
        self._order = keys.astype(np.promote_types(keys.dtype, most), copy=False)
        self._each(lambda bounds: _inside(self._order, bounds))

    def sort(self, column: np.ndarray) -> None:
        """Put the entries or rows of a `column` (m, ...), which is in line, into the order."""
        if (word := WORDS.get(column.itemsize)) is None or column.ndim > 1:
            for lo, hi in pairwise(self._bounds.tolist()):
                column[lo:hi] = column[lo:hi][self._order[lo:hi]]
            return
        entries, order = column.view(word), frozen(self._order)
        self._each(lambda bounds: _put(order, bounds, entries))

    def _each(self, work: Callable[[np.ndarray], None]) -> None:
        """Let `work` do the groups between some bounds, and between all."""
        pieces = slices(len(self._bounds) - 1, 1) if len(self._bounds) > 1 else []
        spread(lambda at: work(self._bounds[at.start : at.stop + 1]), pieces)


class Sorting:
    """The stable order of `keys` (m,), each in 0..n_keys-1, for as many columns as have to be put
    into it.

    `bounds` (n_keys + 1,) int64: entries with key k are bounds[k]..bounds[k+1] of the order.
    """

    def __init__(self, keys: np.ndarray, n_keys: int) -> None:
        self._keys = frozen(keys)
        self._pieces = _pieces(keys, n_keys)
        self._first = np.zeros((len(self._pieces), n_keys), index_dtype(len(keys)))
        self.bounds = np.empty(n_keys + 1, np.int64)
        self._each(lambda at, piece: _count(keys[piece], self._first[at]))
        _starts(self._first, self.bounds)

    def order(self) -> np.ndarray:
        """The number of the entry at each place of the order, (m,)."""
        out = np.empty(len(self._keys), index_dtype(len(self._keys)))
        self._each(
            lambda at, piece: _number(self._keys[piece], self._first[at].copy(), piece.start, out)
        )
        return out

    def moved(self, column: np.ndarray) -> np.ndarray:
        """A new array with the entries or rows of a `column` (m, ...) in the order."""
        column = frozen(np.ascontiguousarray(column))
        if (word := WORDS.get(column.itemsize)) is None or column.ndim > 1:
            return column[self.order()]
        out = np.empty(len(column), column.dtype)
        source, target = column.view(word), out.view(word)
        self._each(
            lambda at, piece: _move(
                self._keys[piece], self._first[at].copy(), source[piece], target
            )
        )
        return out

    def collected(self, row: Pieced) -> np.ndarray:
        """A new array with the numbers of a row (m,) in the order, as `moved` gives it; of the row
        only one piece need be in memory.
        """
        out, word = np.empty(row.rows, row.dtype), WORDS[row.dtype.itemsize]
        free, done = self._first[0].copy(), 0
        for piece in row.pieces:
            keys = self._keys[done : done + len(piece)]
            _move(keys, free, frozen(np.ascontiguousarray(piece)).view(word), out.view(word))
            done += len(piece)
        return out

    def _each(self, work: Callable[[int, slice], None]) -> None:
        spread(lambda piece: work(*piece), list(enumerate(self._pieces)))
