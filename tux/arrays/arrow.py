"""Files in and out through Apache Arrow: compressed streams, text, Parquet.

pyarrow is imported inside the functions, since its 0.15 s would be most of the time that a command
like ``tux info`` takes. What leaves this file is numpy: numbers as they are, strings as
`numpy.dtypes.StringDType`, long columns of strings as `CodedColumn`.
"""

from __future__ import annotations

import codecs
import os
import re
from bisect import bisect, bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tux.arrays.arrow_values import numbers_to_arrow, texts_to_arrow, to_numpy, zero_of
from tux.arrays.column_names import check_names_differ
from tux.arrays.disk_columns import is_for_disk, store_column
from tux.arrays.integers import join_integers, narrow
from tux.arrays.packed import LimitedStream, head_of, open_unpacked, packing
from tux.arrays.parquet_footer import check_footer, seal_footer
from tux.arrays.parquet_pages import check_pages
from tux.arrays.parquet_sizes import ColumnChunk, check_sizes, column_chunks
from tux.arrays.pieced import ArrayPieces, pop_pieces
from tux.arrays.piped import open_input, path_or_file
from tux.arrays.ragged import Lists
from tux.base.disk import replacing
from tux.base.errors import DataError, out_of_memory

STRING = np.dtypes.StringDType()
ROWS = 1 << 20  # rows of a Parquet file that are read at a time
GROUP = 1 << 17  # rows of a Parquet file, at most, that are not cut among loaders
MERGED = 1 << 20  # strings of pieces that wait until they are put into one dictionary
LOOKED_AT = 1 << 16  # rows of which the strings are counted at a time
BUFFER = 1 << 18  # bytes that are read at a time where little of a column is needed
GATHERED = 1 << 24  # bytes of pieces that become one where columns of edges lie on disk,
PIECES = 16  # and more where there are many rows: each piece is a file

BREAK = b"\x1e"
"""Stands for a line break within quotes, where rows of text are lines; it is no character."""
WRITTEN = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4"}


class CodedColumn(NamedTuple):
    """A column of few distinct values: row i is ``values[codes[i]]``."""

    codes: np.ndarray  # (m,) int32
    values: np.ndarray  # (k,) int64, uint64 or StringDType


Column = np.ndarray | CodedColumn
Write = Callable[[Mapping[str, np.ndarray]], None]


class UnreadableText(ValueError):
    """A block of text in which at least one line is not what it should be."""


def open_stream(path: str | os.PathLike[str]) -> Any:
    """Open a file, plain or packed by gzip, bzip2, zstd, lz4, xz or zip, as a binary file of its
    unpacked bytes, with ``read(n)`` and ``close``.

    Raises `DataError` if there is no such file, or it is packed in another way; reading raises it
    if the file holds more than `LimitedStream` says.
    """
    import pyarrow as pa  # type: ignore[import-untyped]

    head = head_of(path, 8)
    kind = packing(head)
    if (own := open_unpacked(path, head)) is not None:
        return LimitedStream(own, path)
    file = path_or_file(path)
    if isinstance(file, str):
        stream = pa.input_stream(file, compression=kind)
    else:
        stream = pa.CompressedInputStream(file, kind) if kind else file
    return LimitedStream(stream, path) if kind else stream


class ColumnPieces:
    """One column of ids or numbers that arrives piece by piece; `kind` as in `Pieces`.

    Pieces of strings share one dictionary: with one each, a hundred pieces of the same strings
    would hold them a hundred times.
    """

    def __init__(self, kind: np.dtype | None) -> None:
        self.kind, self.rows = kind, 0
        self._pieces: list[Any] = []  # arrays, dictionary arrays that wait, and `_Places`
        self._texts: Any = None  # the dictionary of all `_Places`
        self._waiting: list[int] = []
        self._strings = 0  # in the dictionaries that wait
        # pieces that stay as they are, in memory or on disk; bytes, about, of those behind them
        self._settled, self._loose = 0, 0

    def append(self, piece: Any) -> None:
        """Append an array of numbers, or a chunk of ids as `_ids` returns it."""
        self._pieces.append(piece)
        self.rows += len(piece)
        if not isinstance(piece, np.ndarray):
            self._wait(len(self._pieces) - 1)
            if self._strings > max(MERGED, 0 if self._texts is None else len(self._texts)):
                self._merge()
        self._loose += 4 * len(piece)
        if self._loose >= GATHERED + self.rows // PIECES:
            if is_for_disk(self._loose):
                self._store()
            self._settled, self._loose = len(self._pieces), 0

    def whole(self) -> Column:
        """Return the column as one array or `CodedColumn`. The pieces are given up, so call it
        once.
        """
        if self.kind is not None:
            return self.stream_pieces().whole()
        numbers = None
        if all(isinstance(piece, np.ndarray) for piece in self._pieces):
            numbers = join_integers(self._pieces)
        column = self._as_strings() if numbers is None else numbers
        self._pieces = []
        return column

    def bounds(self, kind: str) -> tuple[Any, Any] | None:
        """Return the least and the largest number if all pieces are arrays of this `kind` of dtype,
        "i" or "f"; else None.
        """
        arrays = [piece for piece in self._pieces if isinstance(piece, np.ndarray)]
        if len(arrays) < len(self._pieces) or any(piece.dtype.kind != kind for piece in arrays):
            return None
        some = [piece for piece in arrays if len(piece)]
        return (
            (min(piece.min().item() for piece in some), max(piece.max().item() for piece in some))
            if some
            else None
        )

    def take_pieces(self) -> list[np.ndarray]:
        """Return the pieces, which are arrays, and give them up."""
        pieces, self._pieces = self._pieces, []
        return pieces

    def stream_pieces(self) -> ArrayPieces:
        """Return a column of numbers as a `ArrayPieces`. Each piece is given up when the reader has
        taken it.
        """
        return ArrayPieces(np.dtype(self.kind), self.rows, pop_pieces(self.take_pieces()))

    def _store(self) -> None:
        """Have the pieces that are not settled lie on disk, where many small ones become one."""
        if self._waiting:
            self._merge()
        loose, self._pieces[self._settled :] = self._pieces[self._settled :], []
        for (places, _), some in groupby(loose, _kind_of):
            joined = np.concatenate([each.codes if places else each for each in some])
            self._pieces.append(_Places(store_column(joined)) if places else store_column(joined))

    def _wait(self, at: int) -> None:
        self._waiting.append(at)
        self._strings += len(self._pieces[at].dictionary)

    def _merge(self) -> None:
        """Merge the dictionaries of the pieces that wait into the one of all pieces."""
        import pyarrow as pa

        known = texts_to_arrow([]) if self._texts is None else self._texts
        none = pa.DictionaryArray.from_arrays(numbers_to_arrow(np.empty(0, np.int32)), known)
        chunked = pa.chunked_array([none, *(self._pieces[at] for at in self._waiting)])
        first, *chunks = chunked.unify_dictionaries().chunks
        self._texts = first.dictionary
        for at, chunk in zip(self._waiting, chunks, strict=True):
            self._pieces[at] = _Places(to_numpy(chunk.indices))
        self._waiting, self._strings = [], 0

    def _as_strings(self) -> CodedColumn:
        """Return the column as strings. Pieces that looked like integers are converted back."""
        for at, piece in enumerate(self._pieces):
            if isinstance(piece, np.ndarray):
                self._pieces[at] = _coded_strings(numbers_to_arrow(piece).dictionary_encode())
                self._wait(at)
        self._merge()
        codes = ArrayPieces(np.dtype(np.int32), self.rows, (piece.codes for piece in self._pieces))
        return CodedColumn(codes.whole(), np.array(self._texts.to_pylist(), STRING))


class _Places(NamedTuple):
    """A piece of strings as their places in the dictionary of the column."""

    codes: np.ndarray


def _kind_of(piece: np.ndarray | _Places) -> tuple[bool, np.dtype]:
    """Return whether a piece are places in a dictionary, and its type of numbers."""
    if isinstance(piece, _Places):
        return True, piece.codes.dtype
    return False, piece.dtype


class Pieces:
    """Columns of ids and numbers that arrive piece by piece.

    `kinds` has one entry a column: the dtype of a column of numbers, None for ids. Ids are int64,
    or uint64, if every value of the column is one, written the way this library would write it; one
    "007" or "x" makes the column strings.
    """

    def __init__(self, kinds: Sequence[np.dtype | None]) -> None:
        self.kinds = kinds
        self.rows = 0
        self.padded = [0] * len(kinds)  # ids of each column with blanks around them
        self.each = [ColumnPieces(kind) for kind in kinds]

    def add(self, table: Any) -> None:
        """Append the rows of an Arrow table. Raises `UnreadableText`, appending nothing, for an
        empty id or a number that is not finite.
        """
        new: list[list[Any]] = []
        for kind, column in zip(self.kinds, table.columns, strict=True):
            each = _chunks(column)
            new.append([_ids(chunk) if kind is None else _numbers(chunk, kind) for chunk in each])
        for own, pieces in zip(self.each, new, strict=True):
            for piece in pieces:
                own.append(piece)
        self.rows += table.num_rows
        for at, column in enumerate(table.columns):
            self.padded[at] += sum(map(_count_padded, _chunks(column)))

    def append(self, columns: Sequence[np.ndarray]) -> None:
        """Append rows that are known to be good: numbers of the `kinds`, and ids as integers."""
        for own, column in zip(self.each, columns, strict=True):
            own.append(column)
        self.rows += len(columns[0])

    def add_ones(self, kinds: Sequence[np.dtype | None]) -> None:
        """Add columns of numbers, of these `kinds`, that are 1 in all rows."""
        for kind in kinds:
            own = ColumnPieces(kind)
            for at in range(0, self.rows, ROWS):
                own.append(np.ones(min(ROWS, self.rows - at), kind))
            self.each.append(own)
        self.kinds = [*self.kinds, *kinds]
        self.padded += [0] * len(kinds)

    def columns(self) -> list[Column]:
        """Return the whole columns, in the order of `kinds`. The pieces are given up one column at
        a time, so call it once.
        """
        return [own.whole() for own in self.each]


def _chunks(column: Any) -> list[Any]:
    """Return the pieces of a column of a table or of a batch."""
    import pyarrow as pa

    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _count_padded(chunk: Any) -> int:
    """Count the strings of a chunk of ids that have blanks around them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_dictionary(chunk.type):
        return 0
    padded = pc.not_equal(pc.utf8_trim_whitespace(chunk.dictionary), chunk.dictionary)
    return int(pc.sum(padded.take(chunk.indices)).as_py()) if pc.any(padded).as_py() else 0


def _numbers(chunk: Any, kind: np.dtype) -> np.ndarray:
    values = np.asarray(to_numpy(chunk), kind)
    if kind.kind == "f" and not np.isfinite(values).all():
        raise UnreadableText("a number is not finite")
    return values


def _ids(chunk: Any) -> Any:
    """Convert a chunk of ids to an array of int32, int64 or uint64 if they are integers, else to an
    Arrow dictionary array of strings.
    """
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if pa.types.is_integer(chunk.type):
        return narrow(to_numpy(chunk))
    if not pa.types.is_dictionary(chunk.type):
        return _coded_strings(chunk.cast(pa.large_string()).dictionary_encode())
    strings = pc.utf8_trim_whitespace(chunk.dictionary)
    if not to_numpy(pc.binary_length(strings)).all():
        raise UnreadableText("an id is empty")
    for kind in (pa.int64(), pa.uint64()):
        try:
            numbers = pc.cast(strings, kind)
        except pa.ArrowInvalid:
            continue  # not integers, or too large ones
        if len(strings) == 0 or pc.all(pc.equal(pc.cast(numbers, strings.type), strings)).as_py():
            return narrow(to_numpy(numbers))[to_numpy(chunk.indices)]
    return _coded_strings(pa.DictionaryArray.from_arrays(chunk.indices, strings))


def _coded_strings(chunk: Any) -> Any:
    """Cast a dictionary array to the one type in which pieces of all files can be joined."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(
        chunk.indices.cast(pa.int32()), chunk.dictionary.cast(pa.large_string())
    )


def encode(column: np.ndarray) -> CodedColumn:
    """Return the distinct values of a column of integers or strings, in any order, and the place of
    each row among them.
    """
    coded = _to_arrow(column).dictionary_encode()
    return CodedColumn(to_numpy(coded.indices), _to_numpy(coded.dictionary))


def places_of(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Return the place of each value in `among`, (k,) int32, -1 if it is not there. Both are
    integers of one type, or strings.

    numpy.searchsorted is not used: for two arrays of strings over 15 bytes it returns wrong places
    (numpy 2.4).
    """
    import pyarrow.compute as pc

    places = pc.index_in(_to_arrow(values), value_set=_to_arrow(among))
    none = numbers_to_arrow(np.array([-1], np.int32))[0]
    return np.array(to_numpy(places.fill_null(none)))


def _to_arrow(column: Column) -> Any:
    if isinstance(column, CodedColumn):
        return _to_arrow(column.values).take(numbers_to_arrow(column.codes))
    are_numbers = column.dtype.kind in "iufbMm"
    return numbers_to_arrow(column) if are_numbers else texts_to_arrow(column.tolist())


def parse_text(
    text: bytes,
    width: int,
    picks: Sequence[int],
    kinds: Sequence[np.dtype | None],
    separator: str,
    *,
    quotes: bool,
) -> Any:
    """Parse the picked columns of lines of text to an Arrow table for `Pieces.add`.

    `width` is the number of columns of every line, `picks` the 0-based places of those wanted,
    `kinds` as in `Pieces`. Raises `UnreadableText` if any line has another width or holds no number
    where one should be.
    """
    import pyarrow as pa
    from pyarrow import csv  # type: ignore[import-untyped]

    names = [str(place) for place in range(width)]
    ids = pa.dictionary(pa.int32(), pa.string())
    types = {
        names[at]: ids if kind is None else pa.from_numpy_dtype(kind)
        for at, kind in zip(picks, kinds, strict=True)
    }
    # Arrow drops a byte order mark at the beginning, where an id may begin with one
    text = codecs.BOM_UTF8 + text if text.startswith(codecs.BOM_UTF8) else text
    try:
        table = csv.read_csv(
            pa.BufferReader(text),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(
                delimiter=separator, quote_char='"' if quotes else False
            ),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=[names[at] for at in picks], null_values=[]
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        raise UnreadableText(str(error)) from None
    return _with_breaks(table) if BREAK in text else table


def _with_breaks(table: Any) -> Any:
    """Replace each `BREAK` in the strings of a table by a line break."""
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = []
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            one = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
            words = pc.replace_substring(one.dictionary, BREAK.decode(), "\n")
            column = pa.DictionaryArray.from_arrays(one.indices, words)
        columns.append(column)
    return pa.table(columns, names=table.column_names)


def check_columns(
    file: Any,
    path: str | os.PathLike[str],
    groups: Sequence[int] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Raise `DataError` if columns of row groups of a Parquet file would fill memory by what the
    footer says (`tux.arrays.parquet_sizes.check_sizes`), and OSError if by what pages say
    (`tux.arrays.parquet_pages.check_pages`); each of these would be asked of the server of a URI,
    so there it is left out. None: all.
    """

    def size() -> int:
        with open_input(path) as opened:
            return int(opened.seek(0, os.SEEK_END))

    def strings_of(chunk: ColumnChunk, exactly: bool) -> int:
        return _bytes_of_strings(file, path, chunk, exactly=exactly)

    chunks = [*column_chunks(file.metadata, groups, columns)]
    source = path_or_file(path)
    if isinstance(source, str):
        with open(source, "rb", buffering=0) as opened:
            check_pages(opened.fileno(), chunks)
    check_sizes(os.fspath(path), chunks, size, strings_of)


def _bytes_of_strings(
    file: Any, path: str | os.PathLike[str], chunk: ColumnChunk, *, exactly: bool
) -> int:
    """Return how many bytes the strings of a chunk with a dictionary take when each is written out,
    or, not exactly, how many they take at most. Only the dictionary and numbers are in memory.
    """
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    total, rows = 0, LOOKED_AT if exactly else 1
    with pq.ParquetFile(
        path_or_file(path),
        metadata=file.metadata,
        read_dictionary=[chunk.leaf],
        buffer_size=BUFFER,
        page_checksum_verification=True,
    ) as coded:
        for batch in coded.iter_batches(rows, [chunk.group], columns=[chunk.leaf]):
            array = _innermost(batch.column(0))
            lengths = to_numpy(pc.binary_length(array.dictionary)).astype(np.int64)
            if not exactly:
                return chunk.values * int(lengths.max(initial=0))
            codes = to_numpy(array.indices.drop_null())
            total += int(np.bincount(codes, minlength=len(lengths))[: len(lengths)] @ lengths)
    return total


def _innermost(array: Any) -> Any:
    """Return the values in lists and structures of one column each."""
    import pyarrow as pa

    while not pa.types.is_dictionary(array.type):
        array = array.field(0) if pa.types.is_struct(array.type) else array.flatten()
    return array


@contextmanager
def parquet_file(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Open a Parquet file with pyarrow. Inside the block, any fault of the file becomes a
    `DataError`, and a lack of memory the error of `out_of_memory`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    head_of(path, 4)
    try:
        source = path_or_file(path)
        if isinstance(source, str):  # not of a URI, which would be asked twice more
            check_footer(source)
        with pq.ParquetFile(source, page_checksum_verification=True) as file:
            check_names_differ(file.schema_arrow.names, str(path))
            yield file
    except MemoryError as error:  # pyarrow's is also an ArrowException
        raise out_of_memory(f"{path} ({error})") from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, UnicodeDecodeError) or "UTF8" in str(error):
            raise DataError("a string is not UTF-8 text", where=str(path)) from None
        said = (str(error).splitlines() or ["damaged"])[0]
        raise DataError(
            f"{path} is no readable Parquet file ({said})",
            do="it is damaged, or no Parquet file: fetch or write it again",
        ) from None


def validate_piece(piece: Any) -> Any:
    """Validate a batch or table of a Parquet file, and return it. Raises ArrowInvalid for strings
    that are not UTF-8 and for dictionary indices that are out of range, since reading does not
    check them.
    """
    piece.validate(full=True)
    return piece


def parquet_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of a Parquet file's columns. Raises `DataError` if the file is none."""
    with parquet_file(path) as file:
        return list(file.schema_arrow.names)


def parquet_notes(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the metadata that the schema of a Parquet file holds beside its columns, by key.
    Raises `DataError`.
    """
    with parquet_file(path) as file:
        notes = file.schema_arrow.metadata or {}
        return {key.decode(): note.decode(errors="replace") for key, note in notes.items()}


def parquet_types(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the type of each column of a Parquet file, as Arrow writes it. Raises `DataError`."""
    with parquet_file(path) as file:
        return {field.name: str(field.type) for field in file.schema_arrow}


def is_number(kind: str) -> bool:
    """Return whether a type, as Arrow writes its name, is one of numbers or booleans."""
    return bool(re.match(r"u?int\d+$|decimal|bool$|float$|double$|halffloat$", kind))


def parquet_groups(path: str | os.PathLike[str]) -> list[tuple[int, int]]:
    """Return the number of rows and of unpacked bytes of each row group of a Parquet file. Raises
    `DataError`.
    """
    with parquet_file(path) as file:
        groups = (file.metadata.row_group(at) for at in range(file.metadata.num_row_groups))
        return [(group.num_rows, group.total_byte_size) for group in groups]


def parquet_rows(path: str | os.PathLike[str], begin: int, end: int | None) -> int:
    """Count the rows of the row groups `begin` up to `end` of a Parquet file; None: to its end."""
    return sum(rows for rows, _ in parquet_groups(path)[begin:end])


def parquet_edges(
    path: str | os.PathLike[str],
    names: Sequence[str],
    kinds: Sequence[np.dtype | None],
    begin: int = 0,
    end: int | None = None,
) -> Iterator[tuple[Any, np.ndarray]]:
    """Read the named columns of the row groups `begin` up to `end`, or of all from `begin` on.
    Yields pieces as Arrow tables of good rows, each with the numbers (from 1) of rows left out.

    A row is left out if a value is null, an id is empty, or a number is not finite. Raises
    `DataError` if a column of ids is neither of integers nor of strings, or a column of numbers not
    of numbers.
    """
    import pyarrow as pa

    with parquet_file(path) as file:
        schema = file.schema_arrow
        types = [
            _parquet_type(path, schema.field(name), kind)
            for name, kind in zip(names, kinds, strict=True)
        ]
        done = 0
        groups = list(range(file.metadata.num_row_groups))[begin:end]
        check_columns(file, path, groups, names)
        for batch in map(validate_piece, file.iter_batches(ROWS, groups, columns=list(names))):
            try:
                columns = [
                    _cast_column(batch.column(name), type_)
                    for name, type_ in zip(names, types, strict=True)
                ]
            except pa.ArrowInvalid as error:
                raise DataError(
                    f"a number does not fit its column's type ({error})", where=str(path)
                ) from None
            good = np.logical_and.reduce([_good_rows_mask(column) for column in columns])
            table = pa.table(columns, names=[str(at) for at in range(len(columns))])
            yield (
                (table if good.all() else table.filter(numbers_to_arrow(good))),
                np.flatnonzero(~good) + done + 1,
            )
            done += len(good)


def _parquet_type(path: str | os.PathLike[str], field: Any, kind: np.dtype | None) -> Any:
    """Return the Arrow type as which a column is read. Raises `DataError` for a type that does not
    fit `kind`.
    """
    import pyarrow as pa

    given = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if kind is None and (
        pa.types.is_integer(given) or pa.types.is_string(given) or pa.types.is_large_string(given)
    ):
        return given
    if kind is not None and kind.kind == "M":
        return given
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if kind is not None and any(test(given) for test in tests):
        return pa.from_numpy_dtype(kind)
    needed = "integers or strings" if kind is None else "numbers"
    raise DataError(
        f"column {field.name!r} holds {field.type}, not {needed}",
        where=str(path),
        do="Name other columns, or convert this one.",
    )


def _cast_column(column: Any, type_: Any) -> Any:
    """Cast a column to the type as which it is read. Floating-point numbers are made as from text:
    the nearest ones of decimal numbers and of integers.
    """
    import pyarrow as pa

    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    if pa.types.is_decimal(plain.type):
        column = plain.cast(pa.float64())
    rounded = pa.types.is_floating(type_) and pa.types.is_integer(plain.type)
    return plain.cast(type_, safe=False) if rounded else column.cast(type_)


def _good_rows_mask(column: Any) -> np.ndarray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        return np.isfinite(to_numpy(column))  # nulls are NaN
    good = to_numpy(column.is_valid())
    if pa.types.is_integer(column.type) or pa.types.is_temporal(column.type):
        return good
    return good & (to_numpy(pc.binary_length(column)) != 0)


def read_parquet(
    path: str | os.PathLike[str], columns: Sequence[str] | None = None
) -> dict[str, np.ndarray]:
    """Read the named columns, or all: numbers (n,), fixed-size lists (n, k), strings (n,)
    StringDType, `Lists`.

    Raises `DataError` if the file cannot be read or has no such column.
    """
    with parquet_file(path) as file:
        if missing := [name for name in columns or () if name not in file.schema_arrow.names]:
            raise DataError(
                f"no column {missing[0]!r}",
                where=str(path),
                do=f"It has {', '.join(file.schema_arrow.names)}.",
            )
        check_columns(file, path, None, columns)
        table = validate_piece(file.read(columns=None if columns is None else list(columns)))
        return {name: _to_numpy(table.column(name)) for name in table.column_names}


class ParquetRows:
    """The rows of a Parquet file, of which ranges are read. The row group that was read last stays
    in memory, as the next range may begin in it.
    """

    def __init__(self, path: str | os.PathLike[str], columns: Sequence[str]) -> None:
        """Read named `columns`. The file need not be there yet."""
        self._path, self._columns = path, list(columns)
        self._group, self._kept = -1, dict[str, Any]()
        self._ends: list[int] = []

    def __len__(self) -> int:
        """The number of rows. Raises `DataError`."""
        if not self._ends:
            self._ends = [0, *accumulate(rows for rows, _ in parquet_groups(self._path))]
        return self._ends[-1]

    def ranges(self) -> list[tuple[int, int]]:
        """Return the first row of each row group, and the one behind its last. Raises
        `DataError`.
        """
        return list(pairwise(self._ends)) if len(self) else []

    def read(self, first: int, end: int) -> dict[str, Any]:
        """Read the rows `first` up to `end`, as `read_parquet` does. Raises `DataError`, also for a
        file that has not so many.
        """
        if not 0 <= first <= end <= len(self):
            raise DataError(
                f"it has {len(self):,} rows, of which {first:,} to {end:,} are needed",
                where=str(self._path),
                do="copy it again, or make it again",
            )
        if first == end:
            return self._read_groups([])
        parts = []
        for number in range(bisect(self._ends, first) - 1, bisect_left(self._ends, end)):
            if number != self._group:
                self._group, self._kept = number, self._read_groups([number])
            own = slice(max(first - self._ends[number], 0), end - self._ends[number])
            parts.append({name: column[own] for name, column in self._kept.items()})
        return {name: _join_columns([each[name] for each in parts]) for name in self._columns}

    def take(self, rows: np.ndarray) -> dict[str, Any]:
        """Read some rows (m,) of columns that are no lists of different lengths, in their order."""
        order = np.argsort(rows, kind="stable")
        like = self.read(0, 0)
        taken = {name: np.empty((len(rows), *c.shape[1:]), c.dtype) for name, c in like.items()}
        for first, end in self.ranges():
            lo, hi = np.searchsorted(rows, (first, end), sorter=order)
            if lo < hi:
                at, group = order[lo:hi], self.read(first, end)
                for name, column in taken.items():
                    column[at] = group[name][rows[at] - first]
        return taken

    def _read_groups(self, groups: list[int]) -> dict[str, Any]:
        with parquet_file(self._path) as file:
            check_columns(file, self._path, groups, self._columns)
            table = validate_piece(file.read_row_groups(groups, columns=self._columns))
            return {name: _to_numpy(table.column(name)) for name in self._columns}


def _join_columns(parts: Sequence[Any]) -> Any:
    """Put one or more pieces of a column behind each other."""
    if len(parts) == 1:
        return parts[0]
    return Lists.join(parts) if isinstance(parts[0], Lists) else np.concatenate(parts)


def rows_where(paths: Sequence[str], mask: np.ndarray) -> Iterator[Any]:
    """Yield the rows of Parquet files, one file after the other, whose entry in a mask (m,) is
    true, with all columns as they are there: batches of pyarrow.

    Raises `DataError` for a file with other columns than the first, and if there are not m rows.
    """
    done, schema = 0, None
    for path in paths:
        with parquet_file(path) as file:
            schema = schema or file.schema_arrow
            if not file.schema_arrow.equals(schema):
                raise DataError(
                    f"{path} has other columns, or columns of other types, than {paths[0]}",
                    do="Give all files the same columns.",
                )
            check_columns(file, path)
            for batch in map(validate_piece, file.iter_batches(ROWS)):
                own = mask[done : done + batch.num_rows]
                done += batch.num_rows
                if len(own) < batch.num_rows:
                    break
                yield batch.filter(numbers_to_arrow(own))
    if done != len(mask):
        raise changed_error(paths[0])


def changed_error(path: str) -> DataError:
    """Return the error about a file that has other rows when it is read again."""
    return DataError(f"{path} has changed while it was read", do="Try again when it is complete.")


def parquet_table(path: str | os.PathLike[str]) -> Any:
    """Read a whole file as a table of pyarrow. Raises `DataError` if it cannot be read."""
    with parquet_file(path) as file:
        check_columns(file, path)
        return validate_piece(file.read())


def _to_numpy(column: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_large_list(column.type):
        whole = column.combine_chunks()
        return Lists(to_numpy(whole.offsets) - whole.offsets[0].as_py(), to_numpy(whole.flatten()))
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), STRING)
    if not pa.types.is_fixed_size_list(column.type):
        return np.array(to_numpy(column))
    parts = [to_numpy(chunk.flatten()) for chunk in column.chunks]
    none = np.empty(0, column.type.value_type.to_pandas_dtype())
    return np.concatenate([none, *parts]).reshape(-1, column.type.list_size)


def table_column(column: Any) -> tuple[Column | Lists, np.ndarray]:
    """Convert a column of an Arrow table of n rows. Returns its values, and a mask (n,) of the rows
    without one.

    Numbers and booleans are (n,), with 0 or NaN for missing ones; strings are `CodedColumn`,
    without the blanks around them, and an empty one is no value; lists of numbers are `Lists`.
    Raises `DataError` for a column of another type.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    null = to_numpy(whole.is_null())
    kind, inner = whole.type, getattr(whole.type, "value_type", None)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        strings = pc.utf8_trim_whitespace(
            whole.cast(pa.large_string()).fill_null(texts_to_arrow([""])[0])
        )
        coded = strings.dictionary_encode()
        words = np.array(coded.dictionary.to_pylist(), STRING)
        codes = to_numpy(coded.indices).astype(np.int32, copy=False)
        return CodedColumn(codes, words), (words == "")[codes]
    if inner is not None and (pa.types.is_integer(inner) or pa.types.is_floating(inner)):
        lists = whole.cast(pa.large_list(inner))
        bounds = to_numpy(lists.offsets)
        values = lists.values.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
        return Lists(bounds - bounds[0], to_numpy(values)), null
    if pa.types.is_boolean(kind):
        whole = whole.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        whole = whole.cast(pa.float64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise DataError(f"{kind} is neither numbers nor strings, nor lists of numbers")
    return to_numpy(whole.fill_null(zero_of(whole.type))), null


def _table(columns: Mapping[str, np.ndarray], *, flat: bool) -> Any:
    """Make an Arrow table of 1-D and 2-D arrays; the latter become lists, or, with `flat`, one
    column each dimension.
    """
    import pyarrow as pa

    table_columns: dict[str, Any] = {}
    for name, array in columns.items():
        if isinstance(array, Lists):
            table_columns[name] = pa.LargeListArray.from_arrays(
                numbers_to_arrow(array.bounds), _to_arrow(array.values)
            )
        elif array.ndim == 1:
            table_columns[name] = _to_arrow(array)
        elif flat:
            table_columns |= {
                f"{name}_{k}": numbers_to_arrow(array[:, k]) for k in range(array.shape[1])
            }
        else:
            table_columns[name] = pa.FixedSizeListArray.from_arrays(
                _to_arrow(array.reshape(-1)), array.shape[1]
            )
    return pa.table(table_columns)


def to_c_stream(columns: Mapping[str, Any], schema: Any = None) -> Any:
    """Return columns as a stream of the Arrow C data interface, like `__arrow_c_stream__`: arrays
    (n,), arrays (n, k) as lists of fixed size, and `Lists`.
    """
    return _table(columns, flat=False).__arrow_c_stream__(schema)


@contextmanager
def _new_parquet(part: Path, schema: Any) -> Iterator[Any]:
    """Give a writer of pyarrow for a new Parquet file whose pages and footer have checksums.
    Floating-point numbers seldom repeat: with a dictionary they would take several times as long,
    and more room.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list
    repeated = []
    for field in schema:
        is_lists = any(is_it(field.type) for is_it in kinds)
        if not pa.types.is_floating(field.type.value_type if is_lists else field.type):
            repeated.append(f"{field.name}.list.element" if is_lists else field.name)
    with pq.ParquetWriter(
        os.fspath(part),
        schema,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=repeated,
    ) as writer:
        yield writer
    seal_footer(part)


@contextmanager
def parquet_writer(path: str | os.PathLike[str]) -> Iterator[Write]:
    """Give a function that appends a dict of arrays, (n,) or (n, k) with k > 0, to a new Parquet
    file. It may be called any number of times.

    Every call names the same columns with the same types. The file appears when the block ends;
    `DiskError` if it cannot.
    """
    with replacing(path) as part, ExitStack() as stack:
        writer: Any = None

        def write(columns: Mapping[str, np.ndarray]) -> None:
            nonlocal writer
            table = _table(columns, flat=False)
            writer = writer or stack.enter_context(_new_parquet(part, table.schema))
            writer.write_table(table)

        yield write


@contextmanager
def packed_stream(path: str | os.PathLike[str]) -> Iterator[Any]:
    """Give a binary stream with ``write(bytes)`` to a new file, packed if its name ends in .gz,
    .bz2, .zst or .lz4. The file appears when the block ends; `DiskError` if it cannot.
    """
    import pyarrow as pa

    packing = WRITTEN.get(Path(path).suffix)
    with replacing(path) as part, pa.output_stream(os.fspath(part), compression=packing) as stream:
        yield stream


@contextmanager
def text_writer(
    path: str | os.PathLike[str], separator: str = ",", *, header: bool = True
) -> Iterator[Write]:
    """Give a function that appends a dict of arrays to a new text file; an (n, k) array ``p`` fills
    columns ``p_0 .. p_(k-1)``.

    Packed as `packed_stream` says. The file appears when the block ends; `DiskError` if it cannot.
    """
    from pyarrow import csv

    with packed_stream(path) as stream:
        begun = not header

        def write(columns: Mapping[str, np.ndarray]) -> None:
            nonlocal begun
            table = _table(columns, flat=True)
            if not begun:
                names = [_quote_name(name, separator) for name in table.column_names]
                stream.write(separator.join(names).encode() + b"\n")
                begun = True
            csv.write_csv(
                table, stream, csv.WriteOptions(include_header=False, delimiter=separator)
            )

        yield write


def _quote_name(name: str, separator: str) -> str:
    """Return the name of a column for the first line of a text file, in double quotes if it has to
    be.
    """
    plain = not any(each in name for each in (separator, '"', "\n", "\r"))
    return name if plain else f'"{name.replace(chr(34), chr(34) * 2)}"'


def write_parquet(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write one Parquet file of 1-D arrays, 2-D arrays (as fixed-size lists) and `Lists`, also
    those of `CodedColumn` values. Raises `DiskError`.
    """
    with parquet_writer(path) as write:
        write(columns)


def write_tables(
    path: str | os.PathLike[str], tables: Iterable[Any], notes: Mapping[str, str] | None = None
) -> None:
    """Write the rows of Arrow tables (or record batches) with equal columns to one Parquet file,
    one table after the other. Only one table is in memory at a time. `notes` become metadata of the
    schema. Raises `DiskError`.
    """
    with replacing(path) as part, ExitStack() as stack:
        writer: Any = None
        for table in tables:
            if writer is None:
                schema = table.schema.with_metadata(
                    {**(table.schema.metadata or {}), **(notes or {})}
                )
                writer = stack.enter_context(_new_parquet(part, schema))
            writer.write(table.cast(writer.schema), row_group_size=GROUP)


def write_text(
    path: str | os.PathLike[str],
    columns: Mapping[str, np.ndarray],
    separator: str = ",",
    *,
    header: bool = True,
) -> None:
    """Write arrays to one text file in chunks of rows; see `text_writer`. Raises `DiskError`."""
    rows = max((len(array) for array in columns.values()), default=0)
    with text_writer(path, separator, header=header) as write:
        for start in range(0, max(rows, 1), ROWS):
            write({name: array[start : start + ROWS] for name, array in columns.items()})
