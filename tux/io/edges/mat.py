"""MATLAB's files of level 5, as MATLAB writes them with -v6 or -v7: the sparse matrices of graphs
and of labels.

    128 bytes: text, version 0x0100, "MI" in the writer's byte order
    elements:  type (u4), size (u4), then so many bytes and padding to 8; or, of at most 4 bytes:
               type (u2), size (u2), 4 bytes
    a matrix:  an element of elements: class and flags, sizes, name, and of a sparse one row
               numbers, column bounds and values
    packed:    an element whose bytes are an element in zlib's form

(The MathWorks: MAT-File Format.) The sizes that a file states are not trusted: memory is taken only
for bytes that are there.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import MAX_VERTICES, are_plausible_sizes
from tux.arrays.packed import head_of, most_unpacked
from tux.base.errors import DataError
from tux.io.bags.numbering import ColumnNumbering
from tux.io.edges.numbers import NumberedEnds, numbered_edges
from tux.io.edges.request import EdgeRequest
from tux.io.formats.format import EdgeFormat, Format

HEADER, ALIGNED, PIECE = 128, 8, 1 << 20
MATRIX, PACKED = 14, 15  # types of elements
KINDS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
SPARSE, DENSE, FOREIGN, COMPLEX = 5, range(6, 16), 16, 0x08  # classes of matrices; a flag
LONGEST = 1 << 10  # bytes of a name and of a list of sizes
RULE = "Write it again, with save -v7 in MATLAB or with scipy.io.savemat."


class Matrix(NamedTuple):
    """The stored entries of a sparse matrix, those that are not 0 of a dense one, by column."""

    row: np.ndarray  # (m,) int64 from 0
    column: np.ndarray  # (m,) int64 from 0
    values: np.ndarray  # (m,) float64


class MatrixEntry(NamedTuple):
    """A matrix in a file: its name, class and sizes, and the place of its element."""

    name: str
    kind: int
    sizes: tuple[int, ...]
    start: int

    @property
    def square(self) -> bool:
        """True if it may be the edges of a graph of one vertex type."""
        return self.kind == SPARSE and self.sizes[0] == self.sizes[1]

    def __str__(self) -> str:
        kind = "sparse" if self.kind == SPARSE else "dense" if self.kind in DENSE else "no numbers"
        return f"{self.name} ({' x '.join(map(str, self.sizes))}, {kind})"


class _FormatError(ValueError):
    """Bytes that are not what the format has in their place."""


def is_mat(path: str | os.PathLike[str]) -> bool:
    """Return whether the name of the file ends in .mat."""
    return Path(path).suffix.lower() == ".mat"


def read_mat_edges(asked: EdgeRequest) -> EdgeData:
    """Read one edge for each entry of a sparse matrix, from its row to its column; ids are the row
    and column numbers, from 0.

    The matrix is the one that `columns` names, else `network`, else the only square one (or,
    between two vertex types, the only one). Rows and columns without an entry are vertices too. A
    field, one at most, holds the entries, as numbers of its dtype. Raises `DataError` for a file or
    a matrix that cannot be read, and if no matrix can be chosen; it names all matrices of the file.
    """
    path, ends = asked.path, asked.ends
    entry = _find_edges(path, asked.columns, one_type=ends[0] == ends[1])
    if ends[0] == ends[1] and not entry.square:
        raise DataError(
            f"{entry} of {path} is no square sparse matrix: it has no edges from {ends[0]} to "
            f"{ends[1]}"
        )
    asked.check_one_number()
    matrix = _read_matrix(path, entry)
    if not len(matrix.row):
        raise DataError(f"{entry.name} of {path} holds no edge")
    if not are_plausible_sizes(entry.sizes, ends, len(matrix.row), asked.against):
        raise DataError(f"{entry} of {path} has {len(matrix.row):,} entries only", do=RULE)
    sizes = entry.sizes[0], entry.sizes[1]
    given = NumberedEnds(ColumnNumbering("matrix", 0), matrix.row, matrix.column, sizes)
    return numbered_edges(asked, given, asked.numbers(matrix.values))


def read_mat_labels(
    path: str | os.PathLike[str], name: str = "group"
) -> tuple[np.ndarray, np.ndarray, int]:
    """Read the labels of rows: the row and column numbers (m,) int64, from 0, of the entries of
    matrix `name` that are not 0; and how many rows there are. A row has the label that its column
    number stands for.

    Raises `DataError` if there is no such matrix, or it cannot be read.
    """
    entry = _find_matrix(path, list(_entries(path)), name)
    matrix = _read_matrix(path, entry)
    return matrix.row[matrix.values != 0], matrix.column[matrix.values != 0], entry.sizes[0]


def mat_shape(path: str | os.PathLike[str], name: str | None = None) -> tuple[int, int]:
    """Return the numbers of rows and columns of the matrix that `read_mat_edges` would read. Raises
    `DataError` if there is none.
    """
    entry = _find_edges(path, name, one_type=False)
    return entry.sizes[0], entry.sizes[1]


def _find_edges(path: str | os.PathLike[str], name: str | None, *, one_type: bool) -> MatrixEntry:
    """Find the matrix of edges, by its name if one is given."""
    entries = list(_entries(path))
    if name:
        return _find_matrix(path, entries, name)
    named = [
        entry
        for entry in entries
        if entry.name == "network" and entry.kind == SPARSE and (entry.square or not one_type)
    ]
    square = [entry for entry in entries if entry.square]
    sparse = [] if one_type else [entry for entry in entries if entry.kind == SPARSE]
    for matches in (named, square, sparse):
        if len(matches) == 1:
            return matches[0]
    what = "several matrices that might be" if square or sparse else "no square sparse matrix to be"
    raise DataError(
        f"{path} has {what} the edges", do=f"It has {_list(entries)}; name one with --columns NAME."
    )


def _find_matrix(
    path: str | os.PathLike[str], entries: list[MatrixEntry], name: str
) -> MatrixEntry:
    for entry in entries:
        if entry.name == name:
            return entry
    raise DataError(f"{path} has no matrix {name!r}", do=f"It has {_list(entries)}.")


def _list(entries: list[MatrixEntry]) -> str:
    return (
        ", ".join(map(str, entries[:10])) + (", ..." if len(entries) > 10 else "")
        if entries
        else "no matrix"
    )


# ---- bytes


class _Bytes:
    """The bytes of one element, packed or not, taken in order. Bytes that are asked for must be
    there: memory is not taken for a size alone.
    """

    def __init__(self, file: IO[bytes], size: int, order: str, *, packed: bool) -> None:
        self.file, self.order = file, order
        self.coming = size  # bytes of the file that have not been read yet
        # bytes that may be taken, the padding of the last element too
        self.left = most_unpacked(size) if packed else size
        self.inflate = zlib.decompressobj() if packed else None

    def take(self, count: int) -> bytes:
        """Take the next `count` bytes. Raises `_FormatError` if there are fewer."""
        if count > self.left:
            raise _FormatError(f"{count:,} bytes are announced where {self.left:,} follow")
        self.left -= count
        parts, missing = [], count
        while missing:
            part = self._some(min(missing, PIECE))
            if not part:
                raise _FormatError(
                    f"{count:,} bytes are announced, but there are {count - missing:,}"
                )
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _some(self, most: int) -> bytes:
        """Take up to `most` bytes, none at the end."""
        if self.inflate is None:
            part = self.file.read(min(most, self.coming))
            self.coming -= len(part)
            return part
        while not self.inflate.eof:
            packed = self.inflate.unconsumed_tail
            if not packed and self.coming:
                packed = self.file.read(min(self.coming, PIECE))
                self.coming -= len(packed)
            part = self.inflate.decompress(packed, most)
            if part or not packed:
                return part
        return b""

    def finish(self) -> None:
        """Read on to the end, where packed bytes have their checksum. Raises `_FormatError` or
        zlib.error if it is not right.
        """
        while self.inflate is not None and self._some(PIECE):
            pass
        if self.inflate is not None and not self.inflate.eof:
            raise _FormatError("packed bytes end too early")

    def element(self, most: int | None = None) -> tuple[int, bytes]:
        """Take the next element, and return its type and bytes. Raises `_FormatError` if there are
        over `most` bytes.
        """
        kind, size, small = _tag(self.take(ALIGNED), self.order)
        if most is not None and size > most:
            raise _FormatError(f"an element of {size:,} bytes where {most:,} at most can be")
        if small is not None:
            return kind, small
        data = self.take(size)
        self.take(min(-size % ALIGNED, self.left))
        return kind, data

    def integers(self, most: int | None = None) -> np.ndarray:
        """Take the next element as an array of integers."""
        numbers = self.numbers(most)
        if numbers.dtype.kind == "f":
            raise _FormatError("numbers with a fraction where integers should be")
        return numbers

    def numbers(self, most: int | None = None) -> np.ndarray:
        """Take the next element as an array of numbers."""
        kind, data = self.element(most)
        if kind not in KINDS:
            raise _FormatError(f"an element of type {kind} where numbers should be")
        dtype = np.dtype(self.order + KINDS[kind])
        if len(data) % dtype.itemsize:
            raise _FormatError(f"{len(data):,} bytes of numbers of {dtype.itemsize} bytes")
        return np.frombuffer(data, dtype)


def _tag(head: bytes, order: str) -> tuple[int, int, bytes | None]:
    """Return type and size of an element from its first 8 bytes, and its bytes if they are among
    them.
    """
    kind, size = (int(word) for word in np.frombuffer(head, order + "u4"))
    if kind < 1 << 16:
        return kind, size, None
    kind, size = kind & 0xFFFF, kind >> 16
    if size > 4:
        raise _FormatError(f"a small element of {size:,} bytes")
    return kind, size, head[4 : 4 + size]


# ---- matrices


@contextmanager
def _open_mat(path: str | os.PathLike[str]) -> Iterator[tuple[IO[bytes], str]]:
    """Open a file, and give it and its byte order. Errors of damaged bytes within the body become a
    `DataError`.
    """
    head_of(path, 1)  # raises if there is no such file
    with open(path, "rb") as file:
        try:
            header = file.read(HEADER)
            order = {b"IM": "<", b"MI": ">"}.get(header[126:128], "")
            version = header[124:126] if order == ">" else header[125:123:-1]
            if order and version == b"\x02\x00":
                raise DataError(f"{path} is a MATLAB file of version 7.3", do=RULE)
            if not order or version != b"\x01\x00":
                raise DataError(f"{path} is no MATLAB file of level 5", do=RULE)
            yield file, order
        except (_FormatError, zlib.error, OSError, UnicodeDecodeError) as error:
            raise DataError(f"{path} is damaged or cut short ({error})", do=RULE) from None


def _begin(file: IO[bytes], start: int, size: int, order: str) -> tuple[_Bytes | None, int]:
    """Begin to read the element at `start`. Returns the bytes of the matrix in it, None if it is no
    matrix, and the place of the next element.
    """
    file.seek(start)
    kind, length, small = _tag(_Bytes(file, size - start, order, packed=False).take(ALIGNED), order)
    end = start + ALIGNED + (0 if small is not None else length)
    if end > size:
        raise _FormatError(f"an element of {length:,} bytes at byte {start:,} of {size:,}")
    if kind == MATRIX:
        return _Bytes(file, length, order, packed=False), end
    if kind != PACKED:
        return None, end + (-length % ALIGNED if small is None else 0)
    inner = _Bytes(file, length, order, packed=True)
    kind, length, _ = _tag(inner.take(ALIGNED), order)
    inner.left = length
    return (inner if kind == MATRIX else None), end


def _head(data: _Bytes, start: int) -> tuple[MatrixEntry, int]:
    """Read name, class and sizes of a matrix, and its flags; its parts follow in `data`."""
    flags = data.integers(2 * ALIGNED)
    if not len(flags):
        raise _FormatError("a matrix without a class")
    kind, more = int(flags[0]) & 0xFF, int(flags[0]) >> 8 & 0xFF
    if kind >= FOREIGN:  # functions and objects, whose parts are others
        return MatrixEntry("?", kind, (0, 0), start), more
    sizes = tuple(int(size) for size in data.integers(LONGEST))
    if len(sizes) < 2 or min(sizes) < 0:
        raise _FormatError(f"a matrix of sizes {sizes[:4]}")
    return MatrixEntry(data.element(LONGEST)[1].decode("latin-1"), kind, sizes, start), more


def _entries(path: str | os.PathLike[str]) -> Iterator[MatrixEntry]:
    """Yield the matrices of a file, of any class. Only their first bytes are read."""
    with _open_mat(path) as (file, order):
        size, start = os.path.getsize(path), HEADER
        while start < size:
            data, end = _begin(file, start, size, order)
            if data is not None:
                yield _head(data, start)[0]
            start = end


def _read_matrix(path: str | os.PathLike[str], entry: MatrixEntry) -> Matrix:
    """Read the entries of one matrix."""
    if entry.kind != SPARSE and entry.kind not in DENSE or len(entry.sizes) != 2:
        raise DataError(f"{entry} of {path} is no matrix of numbers")
    if max(entry.sizes) > MAX_VERTICES:
        raise DataError(f"{entry} of {path}: at most {MAX_VERTICES:,} rows or columns can be held")
    with _open_mat(path) as (file, order):
        data, _ = _begin(file, entry.start, os.path.getsize(path), order)
        assert data is not None  # since there was one
        _, flags = _head(data, entry.start)
        if flags & COMPLEX:
            raise DataError(f"{entry} of {path} holds complex numbers")
        matrix = (_sparse if entry.kind == SPARSE else _dense)(data, *entry.sizes)
        data.finish()
    if not np.isfinite(matrix.values).all():
        raise DataError(f"{entry} of {path} holds numbers that are not finite")
    return matrix


def _sparse(data: _Bytes, rows: int, columns: int) -> Matrix:
    row = data.integers().astype(np.int64)
    bounds = data.integers(8 * (columns + 1)).astype(np.int64)
    if (
        len(bounds) != columns + 1
        or bounds[0]
        or (np.diff(bounds) < 0).any()
        or bounds[-1] > len(row)
    ):
        raise _FormatError(f"bounds of {columns:,} columns that do not fit {len(row):,} entries")
    row = row[: bounds[-1]]
    if len(row) and not (0 <= row.min() and row.max() < rows):
        raise _FormatError(f"an entry outside of {rows:,} rows")
    values = data.numbers() if data.left else np.ones(len(row))  # there are matrices without values
    if len(values) < len(row):
        raise _FormatError(f"{len(values):,} values of {len(row):,} entries")
    return Matrix(
        row,
        np.repeat(np.arange(columns), np.diff(bounds)),
        values[: len(row)].astype(np.float64),
    )


def _dense(data: _Bytes, rows: int, columns: int) -> Matrix:
    values = data.numbers()
    if len(values) != rows * columns:
        raise _FormatError(f"{len(values):,} values of a matrix of {rows:,} x {columns:,}")
    (at,) = np.nonzero(values)
    return Matrix(at % max(rows, 1), at // max(rows, 1), values[at].astype(np.float64))


MAT = EdgeFormat(
    Format.MAT,
    "MATLAB",
    "a MATLAB file holds a whole matrix, and says how large it is",
    read_mat_edges,
    shape=mat_shape,
)
