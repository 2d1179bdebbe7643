"""The first lines of the input, by which its layout is found: of several files those of the next
ones too, where the first have too few; and the first row of each file.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tux.base.errors import DataError
from tux.io.cells import is_row
from tux.io.input_files import pieces_of
from tux.io.text import line_blocks

STEP = 1 << 16  # bytes that are read at a time


class FirstLines(NamedTuple):
    """Lines up to the last row that was asked for, and where the first row stands."""

    text: bytes
    path: str  # of its file
    place: str  # file:line


class Row(NamedTuple):
    """A line that is neither blank nor a comment, and the place in its text where it ends."""

    line: str
    end: int


def first_lines(path: str | os.PathLike[str], rows: int) -> FirstLines:
    """The lines of the input up to row number `rows`. The first row of the first file is not
    repeated where other files begin with it too, as it may be a header. Raises `DataError` if a
    file is damaged or no text.
    """
    lines: list[bytes] = []
    found, first, file, place = 0, b"", os.fspath(path), os.fspath(path)
    for piece in pieces_of(path):
        begun, number = False, 0
        for block in line_blocks(piece, STEP):
            check_text(block, piece.path)
            start = 0
            while end := block.find(b"\n", start) + 1:
                line, start, number = block[start:end], end, number + 1
                if is_row(line.decode(errors="replace")):
                    if not begun and first and line.strip() == first:
                        begun = True
                        continue
                    if not first:
                        first, file, place = line.strip(), piece.path, f"{piece.path}:{number}"
                    begun, found = True, found + 1
                lines.append(line)
                if found == rows:
                    return FirstLines(b"".join(lines), file, place)
    return FirstLines(b"".join(lines), file, place)


def check_text(block: bytes, path: str) -> None:
    """DataError for what is no text."""
    if b"\0" in block:
        raise DataError(
            f"{path} is not a text file", do="Text in UTF-8, packed text and Parquet can be read."
        )


def rows_of(block: bytes, count: int) -> list[Row]:
    """The first rows of a block of whole lines, at most `count`."""
    rows: list[Row] = []
    start = 0
    while len(rows) < count and (end := block.find(b"\n", start) + 1):
        line = block[start : end - 1].decode(errors="replace").removesuffix("\r")
        if is_row(line):
            rows.append(Row(line, end))
        start = end
    return rows
