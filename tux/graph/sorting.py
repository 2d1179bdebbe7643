"""The stable counting sort by which edges get their order: all threads share it, and the order does
not depend on how many there are.

The keys are cut into one piece a thread. Each thread counts the keys of its piece. The counts of
all pieces give the places of the entries of each piece, key by key, so that the pieces can be moved
side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from tux.arrays.disk_columns import empty_column, file_of, memory_left, span_of
from tux.arrays.integers import index_dtype
from tux.arrays.pieced import ArrayPieces
from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, slices, spread
from tux.rows.table import freeze

SPARSE = 8
"""Keys for each entry from which on those of a group are compared instead of counted."""

SHARE = 4
"""The share of the memory that is left in which entries are put into order at a time, as 1 / SHARE:
the system also holds the pages that are read, and those that are being written.
"""

PASSES, PASS_ENTRIES = 64, 1 << 20
"""The most passes over all entries, and the fewest entries that one pass puts into order."""

ENTRIES = 1 << 17
"""Entries of groups whose order is computed at a time."""

WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
"""The type as which entries of a size in bytes are moved: one compilation serves all types of that
size.
"""


@cached_njit
def _count(keys, counts):  # type: ignore[no-untyped-def]
    """Add to `counts` (n_keys,) the number of times that each key occurs."""
    for k in keys:
        counts[k] += 1


@cached_njit
def _starts(counts, bounds):  # type: ignore[no-untyped-def]
    """Replace the `counts` (pieces, n_keys) by the places where each piece's entries of each key
    begin, and write the places where those of each key begin to `bounds` (n_keys + 1,).
    """
    at = 0
    for k in range(counts.shape[1]):
        bounds[k] = at
        for piece in range(counts.shape[0]):
            count = counts[piece, k]
            counts[piece, k] = at
            at += count
    bounds[counts.shape[1]] = at


@cached_njit
def _move(keys, free, column, out):  # type: ignore[no-untyped-def]
    """Write the entries of `column` to `out`, each to the place that is free for its key."""
    for i in range(len(keys)):
        at = free[keys[i]]
        out[at] = column[i]
        free[keys[i]] = at + 1


@cached_njit
def _move_some(keys, free, column, out, low, high):  # type: ignore[no-untyped-def]
    """Do `_move` for the entries whose keys are from `low` to `high` - 1."""
    for i in range(len(keys)):
        key = keys[i]
        if low <= key < high:
            at = free[key]
            out[at] = column[i]
            free[key] = at + 1


@cached_njit
def _number(keys, free, first, out, low, high):  # type: ignore[no-untyped-def]
    """Write the numbers of entries, from `first` on, to `out`, as `_move_some` does with
    entries.
    """
    for i in range(len(keys)):
        key = keys[i]
        if low <= key < high:
            at = free[key]
            out[at] = first + i
            free[key] = at + 1


def _pieces(keys: np.ndarray, n_keys: int) -> list[slice]:
    """Cut keys into as many pieces as there are threads, but so few that their counts take no more
    memory than a byte a key, or one piece's.
    """
    return slices(len(keys), max(ENTRIES_PER_THREAD, 4 * n_keys))


def count_keys(keys: np.ndarray, n_keys: int) -> np.ndarray:
    """Count the occurrences of each of 0..n_keys-1 among `keys`, (n_keys,) int64."""
    keys, pieces = freeze(keys), _pieces(keys, n_keys)
    counts = np.zeros((len(pieces), n_keys), index_dtype(len(keys)))
    spread(lambda at: _count(keys[pieces[at]], counts[at]), range(len(pieces)))
    return counts.sum(axis=0, dtype=np.int64)


@cached_njit
def _places(keys, width, bounds, places):  # type: ignore[no-untyped-def]
    """Write to `places` (m,) the place of each entry, from bounds[0] on, in the stable order of
    ``keys // width`` within each group bounds[g]..bounds[g+1].
    """
    begin = bounds[0]
    for g in range(len(bounds) - 1):
        lo, size = bounds[g], bounds[g + 1] - bounds[g]
        if size == 0:
            continue
        own = places[lo - begin : lo - begin + size]
        least = most = np.uint32(keys[lo]) // width
        for i in range(size):
            own[i] = np.uint32(keys[lo + i]) // width
            least, most = min(least, own[i]), max(most, own[i])
        span = np.int64(most) - np.int64(least) + 1
        if span > SPARSE * size:  # to go through the keys that are not there takes longer
            order = np.argsort(own, kind="mergesort")
            for i in range(size):
                own[order[i]] = lo - begin + i
            continue
        free = np.zeros(span + 1, np.int64)
        for i in range(size):
            free[own[i] - least + 1] += 1
        free[0] = lo - begin
        for k in range(span):
            free[k + 1] += free[k]
        for i in range(size):
            at = own[i] - least
            own[i] = free[at]
            free[at] += 1


@cached_njit
def _put(places, column, room):  # type: ignore[no-untyped-def]
    """Put the entries of `column` (m,) to their `places` in it; `room` is for as many."""
    for i in range(len(places)):
        room[places[i]] = column[i]
    for i in range(len(places)):
        column[i] = room[i]


class InnerSorting:
    """The stable order of ``keys // width`` within each group bounds[g]..bounds[g+1]; `keys` (m,)
    int32 are not negative.

    Columns are put into it in place, a few groups at a time, which fit the cache: to get memory for
    copies of the columns would take longer than the sorting itself.
    """

    def __init__(self, keys: np.ndarray, width: int, bounds: np.ndarray) -> None:
        self._keys, self._width, self._bounds = freeze(keys), np.uint32(width), freeze(bounds)

    def arrange(self, *columns: np.ndarray) -> None:
        """Put the entries or rows of columns (m, ...) into the order; one may be the keys."""
        spread(lambda groups: self._arrange(groups, columns), slices(len(self._bounds) - 1, 1))

    def _arrange(self, groups: slice, columns: Sequence[np.ndarray]) -> None:
        at = groups.start
        while at < groups.stop:
            full = np.searchsorted(self._bounds, self._bounds[at] + ENTRIES, side="right") - 1
            end = min(max(int(full), at + 1), groups.stop)
            own = self._bounds[at : end + 1]
            places = np.empty(own[-1] - own[0], np.uint32)
            _places(self._keys, self._width, own, places)
            for column in columns:
                _put_rows(places, column[own[0] : own[-1]])
            at = end


def _put_rows(places: np.ndarray, column: np.ndarray) -> None:
    """Put the entries or rows of a column (m, ...) to their places in it."""
    room = np.empty_like(column)
    if (word := WORDS.get(column.itemsize)) and column.ndim == 1:
        _put(places, column.view(word), room.view(word))
    else:
        room[places] = column
        column[...] = room


class Sorting:
    """The stable order of `keys` (m,), each in 0..n_keys-1, for as many columns as have to be put
    into it.

    `bounds` (n_keys + 1,) int64: entries with key k are bounds[k]..bounds[k+1] of the order.
    """

    def __init__(self, keys: np.ndarray, n_keys: int) -> None:
        self._keys = freeze(keys)
        self._pieces = _pieces(keys, n_keys)
        self._first = np.zeros((len(self._pieces), n_keys), index_dtype(len(keys)))
        self.bounds = np.empty(n_keys + 1, np.int64)
        self._each(lambda at, piece: _count(keys[piece], self._first[at]))
        _starts(self._first, self.bounds)

    def order(self) -> np.ndarray:
        """Return the number of the entry at each place of the order, (m,)."""
        out = empty_column(len(self._keys), index_dtype(len(self._keys)))
        for low, high in self._passes(out):
            self._each(partial(self._number_some, out, low, high))
        return out

    def _number_some(self, out: np.ndarray, low: int, high: int, at: int, piece: slice) -> None:
        """Write the numbers of the entries of a piece whose keys are from `low` to `high` - 1."""
        _number(self._keys[piece], self._first[at].copy(), piece.start, out, low, high)

    def sort_column(self, column: np.ndarray) -> np.ndarray:
        """Copy the entries or rows of a `column` (m, ...) to a new array, in the order."""
        column = freeze(np.ascontiguousarray(column))
        if (word := WORDS.get(column.itemsize)) is None or column.ndim > 1:
            return column[self.order()]
        out = empty_column(len(column), column.dtype)
        source, target = column.view(word), out.view(word)
        for low, high in self._passes(out):
            self._each(partial(self._move_some, source, target, low, high))
        return out

    def _move_some(
        self, source: np.ndarray, target: np.ndarray, low: int, high: int, at: int, piece: slice
    ) -> None:
        """Move the entries of a piece whose keys are from `low` to `high` - 1."""
        keys, free = self._keys[piece], self._first[at].copy()
        if high - low == len(self.bounds) - 1:
            _move(keys, free, source[piece], target)
        else:
            _move_some(keys, free, source[piece], target, low, high)

    def _passes(self, out: np.ndarray) -> Iterator[tuple[int, int]]:
        """Yield ranges of keys, whose entries are moved to `out` in one pass over all. Where `out`
        lies on disk, those of a range fit into the memory that is left: entries go anywhere among
        them. Their memory is given back when they are written.
        """
        n_keys, file = len(self.bounds) - 1, file_of(out)
        most = max(memory_left() // SHARE // out.itemsize, len(out) // PASSES, PASS_ENTRIES)
        most = most if file else max(len(out), 1)
        low = 0
        while low < n_keys:
            full = int(np.searchsorted(self.bounds, self.bounds[low] + most, side="right")) - 1
            high = max(full, low + 1) if full < n_keys else n_keys
            yield low, high
            if file:
                file.give_back(*span_of(out, int(self.bounds[low]), int(self.bounds[high])))
            low = high

    def sort_pieces(self, row: ArrayPieces) -> np.ndarray:
        """Copy the numbers of a row (m,) to a new array, in the order, as `sort_column` does; only
        one piece of the row need be in memory.
        """
        out, word = empty_column(row.rows, row.dtype), WORDS[row.dtype.itemsize]
        free, done = self._first[0].copy(), 0
        for piece in row.pieces:
            keys = self._keys[done : done + len(piece)]
            _move(keys, free, freeze(np.ascontiguousarray(piece)).view(word), out.view(word))
            done += len(piece)
        return out

    def _each(self, work: Callable[[int, slice], None]) -> None:
        spread(lambda piece: work(*piece), list(enumerate(self._pieces)))
