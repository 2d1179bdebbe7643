"""Maps from external ids of vertices to dense indices 0 .. n-1, and back to the ids exactly as they
were given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow import STRING, CodedColumn, Column, ColumnPieces
from tux.arrays.disk_columns import empty_column, file_of
from tux.arrays.integers import (
    LAST,
    distinct_integers,
    from_python_integers,
    index_dtype,
    places_among,
)
from tux.arrays.lookup import look_up
from tux.arrays.strings import distinct_values
from tux.base.errors import DataError

MAX_VERTICES = 2**31 - 1  # vertices of one type that one process reads
MANY_VERTICES, VERTICES_PER_ENTRY = 1 << 16, 64
_WRITTEN = re.compile(r"-?\d{1,20}")  # an integer that may be of 64 bits
COMPILED_ROWS = 1 << 20  # rows that are worth compiled code
CHUNK = 1 << 20  # strings encoded at a time
PIECE = 1 << 24  # rows of a column on disk whose distinct numbers are found at a time


def is_plausible_size(vertices: int, entries: int) -> bool:
    """Return whether a header may be true that states so many vertices for so many entries. The
    check keeps a false header from taking memory.
    """
    return vertices <= MANY_VERTICES + VERTICES_PER_ENTRY * entries


def are_plausible_sizes(
    sizes: Sequence[int],
    ends: Sequence[str],
    entries: int,
    against: Mapping[str, Ids] | None,
) -> bool:
    """Return whether the header of a matrix of edges may state these numbers of rows and columns
    (see `is_plausible_size`). A vertex type may always have as many as `against` has, as in a
    matrix of held-out entries.
    """
    known = against or {}
    return all(
        size <= len(known.get(end, ())) or is_plausible_size(size, entries)
        for end, size in zip(ends, sizes, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of one vertex type: `values[i]` is the id of vertex i, (n,) int64, uint64 or
    StringDType, each once.

    Ids are integers or strings: int64 if all fit, else uint64 if all fit (as hashes of 64 bits do),
    else strings. Where integers meet strings (a test file with "x7" after a training file of
    numbers) they are compared as strings, 7 being "7"; a map of integers that must take in a string
    becomes one of strings.
    """

    values: np.ndarray

    @classmethod
    def of(cls, column: Any) -> tuple[Ids, np.ndarray]:
        """Return the ids of a column in ascending order, and the index of each row, (m,), of the
        `index_dtype` of their number.

        `column` is an array or list of integers or of strings, `CodedColumn`, or a `ColumnPieces`,
        whose pieces are given up. Raises `DataError` for anything else.
        """
        ids, (codes,) = cls.over([column])
        return ids, codes

    @classmethod
    def over(cls, columns: Iterable[Any], known: Ids | None = None) -> tuple[Ids, list[np.ndarray]]:
        """Make one map for several columns. Returns it, and the indices of each column: first the
        `known` ids, as they are, then the new ones, ascending. Columns are taken one after the
        other.
        """
        base = cls(np.empty(0, np.int64)) if known is None else known
        parts = list(map(_distinct, columns))  # no column is held longer than needed
        values = parts[0][0] if len(parts) == 1 else _union([part for part, _ in parts])
        index = base._find(values)
        new = values[index < 0]
        if len(values) > MAX_VERTICES:
            raise DataError(
                f"{len(values):,} different vertices of one type in one process; at most "
                f"{MAX_VERTICES:,} can be held",
                do="let several workers read the data, or more of them: --workers N",
            )
        ids = cls(np.concatenate(_to_one_type(base.values, new))) if len(new) else base
        kind = index_dtype(len(ids))
        if len(base) == 0 and len(parts) == 1:  # each value's index is its place
            return ids, [parts[0][1].astype(kind, copy=False)]
        index = index.astype(kind, copy=False)
        index[index < 0] = np.arange(len(base), len(ids), dtype=kind)
        return ids, [look_up(index[_places(values, part)], at, at) for part, at in parts]

    def encode(self, column: Any) -> np.ndarray:
        """Return the index of each row, (m,), -1 if the id is unknown."""
        values, codes = _distinct(column)
        return look_up(self._find(values), codes, codes)

    def index_of(self, text: str) -> int:
        """Return the index of the id that is written as `text`, -1 if there is none."""
        return int(self.indices_of([text])[0])

    def indices_of(self, texts: Sequence[str]) -> np.ndarray:
        """Return the index of each of the ids that are written as `texts`, (m,) int64, -1 where
        there is none.
        """
        found = np.full(len(texts), -1, np.int64)
        if self.values.dtype.kind not in "iu":
            return np.asarray(self.encode(np.array(texts, STRING)), np.int64) if texts else found
        whole = [
            (at, int(text))
            for at, text in enumerate(texts)
            if _WRITTEN.fullmatch(text) and str(int(text)) == text
        ]
        if whole:
            places, numbers = zip(*whole, strict=True)
            found[[*places]] = self.encode([*numbers])
        return found

    def extend(self, column: Any) -> tuple[Ids, np.ndarray]:
        """Return these ids followed by the unknown ones of `column`, in ascending order, and the
        index of each row, (m,).
        """
        ids, (codes,) = Ids.over([column], self)
        return ids, codes

    def begin_with(self, known: Ids) -> bool:
        """Return whether the `known` ids have the same indices here."""
        if self is known:
            return True
        mine, theirs = _to_one_type(self.values[: len(known)], known.values)
        return np.array_equal(mine, theirs)

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """Return the ids of indices, in the shape of `codes`. Raises IndexError for an index, such
        as -1, that has none.
        """
        codes = np.asarray(codes)
        if codes.size and (codes.min() < 0 or codes.max() >= len(self)):
            raise IndexError(
                f"indices {codes.min()} .. {codes.max()} are not all within 0 .. {len(self) - 1}"
            )
        return self.values[codes]

    def __len__(self) -> int:
        return len(self.values)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ids)
            and self.values.dtype == other.values.dtype
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays within

    def chunks(self) -> Iterator[bytes]:
        """Yield the ids as bytes that no other ids have, for digests: a kind, then int64s, uint64s
        or length-prefixed UTF-8.
        """
        if self.values.dtype.kind in "iu":
            yield b"integers" if self.values.dtype.kind == "i" else b"unsigned"
            yield self.values.tobytes()
            return
        yield b"strings"
        for start in range(0, len(self), CHUNK):
            texts = [text.encode() for text in self.values[start : start + CHUNK].tolist()]
            yield b"".join(len(text).to_bytes(8, "little") + text for text in texts)

    def _find(self, values: np.ndarray) -> np.ndarray:
        """Return the index of each of some ascending values, (k,), -1 if it is unknown."""
        if len(self) == 0:
            return np.full(len(values), -1, np.int32)
        mine, values = _to_one_type(self.values, values)
        ascends = mine.dtype.kind != "T" and bool((mine[1:] > mine[:-1]).all())
        return places_among(values, mine) if ascends else arrow.places_of(values, mine)


def _distinct(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a column, ascending, and the place of each row among them:
    int32, in an array that no other object holds.
    """
    if isinstance(column, ColumnPieces):
        return _distinct_of_pieces(column)
    if isinstance(column, CodedColumn):
        values, rank = distinct_values(_to_int64(_check_column(column.values)))
        return values, look_up(rank.astype(np.int32), column.codes)
    array = _check_column(column)
    if len(array) == 0:
        return _to_int64(array), np.empty(0, np.int32)
    if array.dtype.kind == "i":
        low, high = int(array.min()), int(array.max())
        if high - low <= max(len(array), COMPILED_ROWS):
            return _rank_by_table(array, low, high)
    if file_of(array):
        return _distinct_piecewise(array)
    return _distinct(arrow.encode(array))


def _distinct_piecewise(array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Do `_distinct` for numbers that lie on disk, piece by piece, so that no array of all rows is
    in memory.
    """
    codes, found = empty_column(len(array), np.int32), []
    for first in range(0, len(array), PIECE):
        values, codes[first : first + PIECE] = _distinct(arrow.encode(array[first : first + PIECE]))
        found.append(values)
    together = distinct_integers(np.concatenate(found))
    for at, values in enumerate(found):
        rows = codes[at * PIECE : (at + 1) * PIECE]
        rows[...] = places_among(values, together)[rows]
    return together, codes


def _distinct_of_pieces(column: ColumnPieces) -> tuple[np.ndarray, np.ndarray]:
    """Do `_distinct` for a column in pieces, which are given up. Pieces of a long column of
    integers of a narrow range are not joined.
    """
    if column.rows >= COMPILED_ROWS and (bounds := column.bounds("i")):
        low, high = bounds
        if high - low <= column.rows:
            from tux.arrays.ranks import rank_integers  # needs the compiler

            return rank_integers(column.take_pieces(), low, high)
    return _distinct(column.whole())


def _rank_by_table(array: np.ndarray, low: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """Do `_distinct` for integers of a narrow range from a table of the values that occur, without
    sorting.
    """
    if len(array) >= COMPILED_ROWS:
        from tux.arrays.ranks import rank_integers  # needs the compiler

        return rank_integers([array], low, high)
    present = np.zeros(high - low + 1, np.bool_)
    places = array.astype(np.int64) - low
    present[places] = True
    rank = np.cumsum(present, dtype=np.int32)
    rank -= 1
    return np.flatnonzero(present) + low, rank[places]


def _check_column(column: Column | Sequence[Any]) -> np.ndarray:
    """Return a column as signed integers, as uint64 if some need it, or as StringDType. Integers
    beyond 64 bits become strings. Raises `DataError` for other columns.
    """
    array = np.asarray(column)
    # of integers that fit no common type
    if array.dtype.kind == "f" and isinstance(column, list | tuple):
        array = np.asarray(column, object)
    kind = array.dtype.kind
    if array.ndim == 1 and kind == "u" or array.size == 0 and array.ndim == 1:
        large = kind == "u" and int(array.max(initial=0)) > LAST
        array = array.astype(STRING if kind in "TUO" else np.uint64 if large else np.int64)
    elif array.ndim != 1 or kind not in "iTUO":
        raise DataError(
            f"ids are one column of integers or strings, not {array.dtype} of shape {array.shape}"
        )
    elif kind == "O":
        integers = all(
            isinstance(value, int | np.integer) and not isinstance(value, bool) for value in array
        )
        if not integers and not all(isinstance(value, str) for value in array):
            raise DataError(
                "ids are integers or strings; a column holds other objects, or some of each"
            )
        numbers = from_python_integers(array) if integers else None
        array = np.array([str(value) for value in array], STRING) if numbers is None else numbers
    return array.astype(STRING) if array.dtype.kind == "U" else array


def _to_int64(values: np.ndarray) -> np.ndarray:
    """Cast signed integers to int64. Columns may be narrower, but distinct values are kept in one
    type.
    """
    return values.astype(np.int64, copy=False) if values.dtype.kind == "i" else values


def _to_one_type(some: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two arrays of ids in one type: as integers if both are and fit one type, else as
    strings.
    """
    kinds = {some.dtype.kind, other.dtype.kind}
    if len(kinds) == 1:
        return some, other
    if kinds == {"i", "u"} and some.min(initial=0) >= 0 and other.min(initial=0) >= 0:
        return some.astype(np.uint64, copy=False), other.astype(np.uint64, copy=False)
    return some.astype(STRING), other.astype(STRING)


def _union(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the distinct values of several arrays, ascending."""
    values = parts[0]
    for part in parts[1:]:
        both = np.concatenate(_to_one_type(values, part))
        values = distinct_values(both)[0] if both.dtype.kind == "T" else distinct_integers(both)
    return values


def _places(values: np.ndarray, part: np.ndarray) -> np.ndarray | slice:
    """Return the place of each member of `part` in `values`, which holds all of them. Both
    ascend.
    """
    if part is values:
        return slice(None)
    part = _to_one_type(part, values)[0]
    return (arrow.places_of if part.dtype.kind == "T" else places_among)(part, values)
