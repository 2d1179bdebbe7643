"""The input cut into shares of about as many bytes, one for each worker, and the rows of one share.

Shares are made of whole rows, and one after the other they are the whole input: text is cut at ends
of lines, Parquet between row groups, an array of numpy between rows. Packed files, and text whose
first rows run over several lines, are not cut. Only a few bytes are read to find the cuts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow import ColumnPieces
from tux.arrays.npy import map_npy, read_npz
from tux.arrays.packed import head_of, is_packed
from tux.base.errors import DataError, UsageError
from tux.io.bags.docword import HEAD_LINES
from tux.io.edges.columns import WantedColumns
from tux.io.edges.request import EdgeRequest
from tux.io.edges.table import parquet_pieces, text_pieces
from tux.io.formats.detect import Format, detect_format
from tux.io.source.first_lines import rows_of
from tux.io.source.input_files import (
    FilePiece,
    Files,
    InputFile,
    Source,
    input_files,
    list_files,
    source_name,
)
from tux.io.source.piece_text import PieceText
from tux.io.source.precision import NumberRange
from tux.io.source.table_lines import LineCounts, several_lines
from tux.io.source.text import BadRows, Tell, line_blocks

STEP = 1 << 16  # bytes that are read at a time to find an end of a line
# formats whose lines can be read apart
LINES = (Format.TEXT, Format.SVM, Format.LDA_C, Format.DOCWORD)


class Cut(NamedTuple):
    """A place in the input: a file, by its number, and bytes or row groups of it before the cut."""

    file: int
    at: int


class ShareRows(NamedTuple):
    """The rows of a share of a table of edges, without bad ones."""

    rows: int
    columns: list[ColumnPieces]  # ids of source and target as they are given, and the fields
    names: Mapping[str, str]  # see `tux.arrays.edges.EdgeData.columns`
    skipped: int
    first_skipped: str
    notes: tuple[str, ...] = ()  # sentences that the user should know about the columns
    passed: LineCounts = LineCounts()
    ranges: Mapping[str, NumberRange] = {}  # of fields of 32 bits


def cut_into_shares(data: Source, count: int, format: Format | None = None) -> list[Files]:
    """Cut the input into `count` shares of about as many bytes; some may be empty. `format` is that
    of the input, if it is known. Raises the errors of `tux.io.source.input_files.input_files` and
    `tux.io.detect_format.detect_format`.
    """
    (shares,) = cut_together([(data, format)], count)
    return shares


def cut_together(inputs: Sequence[tuple[Source, Format | None]], count: int) -> list[list[Files]]:
    """Cut several inputs, each with its format, one after the other as if they were one: return of
    each its pieces in the `count` shares. See `cut_into_shares`.
    """
    files: list[InputFile] = []
    near: list[Callable[[InputFile, int], int | None]] = []
    begins = [0]
    for data, format in inputs:
        own = list_files(data)
        files += own
        near += [_way_to_cut(data, format)] * len(own)
        begins.append(len(files))
    cuts = [Cut(0, 0), *_cuts(files, count, near), Cut(len(files), 0)]
    return [
        [
            Files.of(source_name(data), pieces_between(files[:end], *pair, begin))
            for pair in pairwise(cuts)
        ]
        for (data, _), (begin, end) in zip(inputs, pairwise(begins), strict=True)
    ]


def _way_to_cut(data: Source, format: Format | None) -> Callable[[InputFile, int], int | None]:
    """Return the function ``near(file, at)`` that returns a place near byte `at` of a file of an
    input where it can be cut; None stands for its end.
    """
    format = detect_format(input_files(data)) if format is None else format
    if format is Format.PARQUET:
        return _near_group
    if format is Format.NPY:
        return partial(_near_row, count=lambda path: len(map_npy(path)))
    if format is Format.NPZ:
        return partial(_near_row, count=_count_matrix_rows)
    if format is Format.DOCWORD:
        return partial(_near_line, first=lambda path: _end_of_lines(path, HEAD_LINES))
    apart = format in LINES and not (format is Format.TEXT and several_lines(input_files(data)))
    return _near_line if apart else _near_file


def pieces_between(
    files: Sequence[InputFile], begin: Cut, end: Cut, least: int = 0
) -> list[FilePiece]:
    """Return the pieces of files from one cut to another, of those from number `least` on."""
    pieces = []
    for number, file in enumerate(files[least:], least):
        first = begin.at if number == begin.file else 0
        last = end.at if number == end.file else None
        if begin.file <= number <= end.file and first != last:
            pieces.append(FilePiece(file.path, first, last))
    return pieces


def _cuts(
    files: Sequence[InputFile],
    count: int,
    near: Sequence[Callable[[InputFile, int], int | None]],
) -> list[Cut]:
    """Find the inner cuts of `count` shares; `near`: of each file, see `_way_to_cut`."""
    ends = list(accumulate(file.size for file in files))
    cuts = [Cut(0, 0)]
    for share in range(1, count):
        byte = ends[-1] * share // count
        number = min(bisect_right(ends, byte), len(files) - 1)
        at = byte - (ends[number] - files[number].size)
        place = near[number](files[number], at) if at else 0
        cuts.append(max(cuts[-1], Cut(number + 1, 0) if place is None else Cut(number, place)))
    return cuts[1:]


def _near_file(file: InputFile, at: int) -> int | None:
    return 0 if 2 * at < file.size else None


def _near_group(file: InputFile, at: int) -> int | None:
    """Return the number of row groups whose bytes are closest to the share `at` / size of a Parquet
    file; None if these are all.
    """
    groups = [size for _, size in arrow.parquet_groups(file.path)]
    before = [0, *accumulate(groups)]
    wanted = before[-1] * at / file.size
    place = min(range(len(before)), key=lambda number: abs(before[number] - wanted))
    return None if place == len(groups) else place


def _near_row(file: InputFile, at: int, count: Callable[[str], int]) -> int | None:
    """Return the number of rows of an array, or of a matrix, that are about the share `at` / size
    of its file, which has ``count(path)``; None if these are all.
    """
    rows = count(file.path)
    place = rows * at // file.size
    return None if place == rows else place


def _count_matrix_rows(path: str) -> int:
    """Count the rows of the matrix in a .npz file; 0 if there is none: who reads it says why."""
    try:
        shape = read_npz(path, ("shape",)).get("shape", np.empty(0))
    except DataError:
        return 0
    return max(0, int(shape[0])) if shape.shape == (2,) and shape.dtype.kind in "iu" else 0


def _near_line(file: InputFile, at: int, first: Callable[[str], int] | None = None) -> int | None:
    """Return the next end of a line, but none before the end ``first(path)`` of a header; without
    it, of the first row, which may be one.
    """
    if is_packed(head_of(file.path, 8)):
        return _near_file(file, at)
    end = max(_line_end(file.path, at - 1), (first or _first_row_end)(file.path))
    return None if end >= file.size else end


def _line_end(path: str, begin: int) -> int:
    """Return the end of the line in which byte `begin` of a file is."""
    with PieceText(FilePiece(path, begin)) as stream:
        while data := stream.read(STEP):
            if found := data.find(b"\n") + 1:
                return begin + found
            begin += len(data)
    return begin


def _first_row_end(path: str) -> int:
    """Return the end of the first row of a file of text; the end of the file if there is none."""
    lines = 0  # counted, as the text of a file is without its byte order marks
    for block in line_blocks(FilePiece(path), STEP):
        rows = rows_of(block, 1)
        lines += block.count(b"\n", 0, rows[0].end if rows else None)
        if rows:
            break
    return _end_of_lines(path, lines)


def _end_of_lines(path: str, count: int) -> int:
    """Return the end of the first lines of a file of text; that of the file if it has fewer."""
    end = 0
    for _ in range(count):
        end = _line_end(path, end)
    return end


def read_share(
    share: Files, asked: EdgeRequest, format: Format | None = None, tell: Tell | None = None
) -> ShareRows:
    """Read the rows of a share of a table of edges, text or Parquet. The path that is `asked` for
    is the whole input, whose first rows show the layout. `tell` is called with the amount read.

    Columns of ids are integers or strings as the share has them: those of another share may be of
    another type. Columns are left in pieces, so that the caller can join one after the other.
    Raises `DataError` with file and line, and `UsageError` for an input of another format.
    """
    whole = input_files(asked.path)
    format = detect_format(whole) if format is None else format
    if format not in (Format.TEXT, Format.PARQUET):
        raise UsageError(
            f"{whole} is read whole, as it is a {format.value} file",
            do="shares are those of tables of edges, text or Parquet",
        )
    fields = {name: np.dtype(dtype) for name, dtype in asked.fields.items()}
    wanted = WantedColumns(asked.ends, fields, asked.columns, asked.bare)
    bad = BadRows(share, stop=asked.on_bad_row == "stop")
    read = parquet_pieces if format is Format.PARQUET else text_pieces
    pieces, names, notes, passed = read(bad, wanted, whole, tell)
    ranges = {
        name: NumberRange(*bounds)
        for name, own in zip(fields, pieces.each[2:], strict=True)
        if own.kind == np.float32 and (bounds := own.bounds("f"))
    }
    return ShareRows(pieces.rows, pieces.each, names, bad.count, bad.first, notes, passed, ranges)
