"""The stable counting sort by which edges get their order: all threads share it, and the order does
not depend on how many there are.

The keys are cut into one piece a thread. Each thread counts the keys of its piece. The counts of
all pieces give the places of the entries of each piece, key by key, so that the pieces can be moved
side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tux.arrays.disk_columns import empty_column, file_of, memory_left, span_of
from tux.arrays.integers import index_dtype
from tux.arrays.lookup import look_up
from tux.arrays.pieced import ArrayPieces
from tux.base.compiled import cached_njit, compile_beside
from tux.base.forks import Forks
from tux.base.merge_sort import compiled_merge_sort
from tux.base.parallel import ENTRIES_PER_THREAD, slices, spread, threads
from tux.rows.table import freeze

SPARSE = 8
"""Keys for each entry from which on those of a group are compared instead of counted."""

PLACE_BITS = np.uint64(32)
"""The bits of an entry's place in its group where keys are compared."""

LAST_PLACE = np.uint64(2**32 - 1)

SHARE = 2
"""The share of the memory that is left in which entries are put into order at a time, as 1 / SHARE:
the system also holds the pages that are read, and those that are being written.
"""

ROOM = 24
"""Bytes of an entry while those of a range are put into order: it, its copy and its key."""

RANGES = 255
"""The most ranges of keys: entries are written to the ends of as many pieces of a file at once."""

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


def _turn_into_starts(counts: np.ndarray, bounds: np.ndarray) -> None:
    """Replace the `counts` (pieces, n_keys) by the places where each piece's entries of each key
    begin, and write the places where those of each key begin to `bounds` (n_keys + 1,).
    """
    bounds[0] = 0
    np.cumsum(counts.sum(axis=0, dtype=np.int64), out=bounds[1:])
    at = bounds[:-1].astype(counts.dtype)
    for piece in counts:
        piece[...], at = at, at + piece


@cached_njit
def _move(keys, free, column, out, first):  # type: ignore[no-untyped-def]
    """Write the entries of `column` to `out`, each to the place that is free for its key; `free`
    has those of the keys from `first` on.
    """
    for i in range(len(keys)):
        key = np.int64(keys[i]) - first
        at = free[key]
        out[at] = column[i]
        free[key] = at + 1


@cached_njit
def _number(keys, free, first, out):  # type: ignore[no-untyped-def]
    """Write the numbers of entries, from `first` on, to `out`, as `_move` does with entries."""
    for i in range(len(keys)):
        at = free[keys[i]]
        out[at] = first + i
        free[keys[i]] = at + 1


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
            pairs = np.empty(size, np.uint64)  # of a key, and the place of an entry that has it
            for i in range(size):
                pairs[i] = np.uint64(own[i]) << PLACE_BITS | np.uint64(i)
            compiled_merge_sort(pairs)
            for i in range(size):
                own[pairs[i] & LAST_PLACE] = lo - begin + i
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

    @staticmethod
    def compile_beside(forks: Forks) -> None:
        """Have a fork compile the loop that finds the order, if it is not kept on disk."""
        keys, bounds = freeze(np.empty(0, np.int32)), freeze(np.empty(0, np.int64))
        compile_beside(forks, _places, keys, np.uint32(1), bounds, np.empty(0, np.uint32))

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
        self._each(lambda at, piece: _count(self._keys[piece], self._first[at]))
        _turn_into_starts(self._first, self.bounds)
        self._ranges: KeyRanges | None = None
        if file_of(keys) and len(cuts := cut_keys(self.bounds)) > 2:
            self._ranges = KeyRanges(self._keys, self.bounds, cuts)
            self._first = self._first[:0]  # ranges have their own

    def order(self) -> np.ndarray:
        """Return the number of the entry at each place of the order, (m,)."""
        if self._ranges:
            return self._ranges.order()
        out = empty_column(len(self._keys), index_dtype(len(self._keys)))
        self._each(partial(self._number_piece, out))
        return out

    def _number_piece(self, out: np.ndarray, at: int, piece: slice) -> None:
        """Write the numbers of the entries of a piece."""
        _number(self._keys[piece], self._first[at].copy(), piece.start, out)

    def sort_column(self, column: np.ndarray) -> np.ndarray:
        """Copy the entries or rows of a `column` (m, ...) to a new array, in the order."""
        column = freeze(np.ascontiguousarray(column))
        if (word := WORDS.get(column.itemsize)) is None or column.ndim > 1:
            return column[self.order()]
        if self._ranges:
            return self._ranges.sort_column(column)
        out = empty_column(len(column), column.dtype)
        self._each(partial(self._move_piece, column.view(word), out.view(word)))
        return out

    def _move_piece(self, source: np.ndarray, target: np.ndarray, at: int, piece: slice) -> None:
        """Move the entries of a piece."""
        _move(self._keys[piece], self._first[at].copy(), source[piece], target, 0)

    def sort_pieces(self, row: ArrayPieces) -> np.ndarray:
        """Copy the numbers of a row (m,) to a new array, in the order, as `sort_column` does; only
        one piece of the row need be in memory.
        """
        if self._ranges:
            return self._ranges.sort_column(row.whole())
        out, word = empty_column(row.rows, row.dtype), WORDS[row.dtype.itemsize]
        free, done = self._first[0].copy(), 0
        for piece in row.pieces:
            keys = self._keys[done : done + len(piece)]
            _move(keys, free, freeze(np.ascontiguousarray(piece)).view(word), out.view(word), 0)
            done += len(piece)
        return out

    def _each(self, work: Callable[[int, slice], None]) -> None:
        spread(lambda piece: work(*piece), list(enumerate(self._pieces)))


def cut_keys(bounds: np.ndarray) -> np.ndarray:
    """Cut keys into ranges, whose entries, one range for each thread, fit into the memory that is
    left; return the first key of each, and the number of keys, (ranges + 1,). `bounds`: those of
    the entries of each key. There are RANGES at most, as two neighbours have more entries than the
    `most` of one.
    """
    entries, n_keys = int(bounds[-1]), len(bounds) - 1
    most = max(memory_left() // SHARE // ROOM // threads(), 2 * entries // (RANGES - 1) + 1)
    cuts = [0]
    while n_keys > RANGES and cuts[-1] < n_keys:
        full = int(np.searchsorted(bounds, bounds[cuts[-1]] + most, side="right")) - 1
        cuts.append(min(max(full, cuts[-1] + 1), n_keys))
    return np.array(cuts)


class KeyRanges:
    """Ranges of keys, by the first key of each in `cuts`, for entries on disk that do not fit into
    memory: they are moved to their range first, in the order in which they come, and then put into
    the order of their keys, range by range. So each is read and written twice, beside its
    neighbours. Without that, each page of the disk would be read and written for each of its
    entries.
    """

    def __init__(self, keys: np.ndarray, bounds: np.ndarray, cuts: np.ndarray) -> None:
        numbers = np.repeat(np.arange(len(cuts) - 1, dtype=np.uint8), np.diff(cuts))
        self._bounds, self._cuts = bounds, cuts
        self._to_ranges = Sorting(look_up(numbers, keys), len(cuts) - 1)
        self._keys = freeze(self._to_ranges.sort_column(keys))

    def order(self) -> np.ndarray:
        """Do what `Sorting.order` does."""
        return self._finish(self._to_ranges.order())

    def sort_column(self, column: np.ndarray) -> np.ndarray:
        """Do what `Sorting.sort_column` does for a column (m,) of one of the sizes in WORDS."""
        return self._finish(self._to_ranges.sort_column(column))

    def _finish(self, column: np.ndarray) -> np.ndarray:
        """Put the entries of each range, which follow each other in the column, into order."""
        words = column.view(WORDS[column.itemsize])
        ranges = zip(self._cuts[:-1], self._cuts[1:], strict=True)
        spread(lambda keys: self._finish_range(words, *keys), ranges)
        return column

    def _finish_range(self, column: np.ndarray, first: int, end: int) -> None:
        lo, hi = int(self._bounds[first]), int(self._bounds[end])
        own = column[lo:hi]
        if end - first > 1:
            sorted_ = np.empty_like(own)
            free = self._bounds[first:end] - lo
            _move(self._keys[lo:hi], free, freeze(own), sorted_, first)
            own[...] = sorted_
        for each in (column, self._keys):
            if file := file_of(each):
                file.give_back(*span_of(each, lo, hi))
