"""The first lines of the input, by which its layout is found: of several files those of the next
ones too, where the first have too few; and the first row of each file.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from tux.arrays.arrow import BREAK
from tux.base.errors import DataError
from tux.io.source.cells import is_marked
from tux.io.source.input_files import pieces_of
from tux.io.source.text import line_blocks

STEP = 1 << 16  # bytes that are read at a time
MAX_FIRST_BYTES = 1 << 24  # bytes of lines that are looked at, where few of them are surely rows
RULED = re.compile(rb"^[ \t|+:]*[-=]{3}[-=+|: \t]*\r?\n", re.MULTILINE)  # ---+---
WIDE_MARKS = (
    b"\xff\xfe",
    b"\xfe\xff",
    b"\0\0\xfe\xff",
)  # the first bytes of text in UTF-16 or UTF-32
MAX_LINES_OF_ROW = 1000  # lines of one row
OPENED = re.compile(rb'(?:^|[,;\t|])[ ]*"')  # a cell that begins with a quote
EXCEL = re.compile(rb'"?sep=(.|\\t)"?\r?\n', re.IGNORECASE)  # a first line that names the separator


class FirstLines(NamedTuple):
    """Lines up to the last row that was asked for, and the place of the first row."""

    text: bytes
    path: str  # of its file
    place: str  # file:line


class TextRow(NamedTuple):
    """A line that is not blank, or several lines with line breaks within quotes; and the place in
    its text where it ends.
    """

    line: str
    end: int


def first_lines(path: str | os.PathLike[str], rows: int) -> FirstLines:
    """Read the lines of the input up to row number `rows`; lines that begin with # or % do not
    count. The first row of the first file is left out of other files that begin with it too, as it
    may be a header. Raises `DataError` if a file is damaged or no text.
    """
    lines: list[bytes] = []
    found, first, file, place = 0, b"", os.fspath(path), os.fspath(path)
    size = 0
    for piece in pieces_of(path):
        begun, number = False, 0
        for block in line_blocks(piece, STEP):
            check_text(block, piece.path)
            start = 0
            while end := block.find(b"\n", start) + 1:
                line, start, number = block[start:end], end, number + 1
                if begins_row(line):
                    if not begun and first and line.strip() == first:
                        begun = True
                        continue
                    if not first:
                        first, file, place = line.strip(), piece.path, f"{piece.path}:{number}"
                    begun, found = True, found + 1
                lines.append(line)
                size += len(line)
                if found == rows or size > MAX_FIRST_BYTES:
                    return FirstLines(b"".join(lines), file, place)
    return FirstLines(b"".join(lines), file, place)


def begins_row(line: bytes) -> bool:
    """Return whether a line begins a row: it is not blank, no comment, no line of dashes, and not
    Excel's line that names the separator.
    """
    text = line.decode(errors="replace")
    blank = not text.strip() or EXCEL.fullmatch(line) or RULED.fullmatch(line)
    return not blank and not is_marked(text)


def check_text(block: bytes, path: str) -> None:
    """Raise DataError for a block that is no text."""
    if block.startswith(WIDE_MARKS):
        bits = 32 if b"\0\0" in block[:4] else 16
        raise DataError(
            f"{path} is text in UTF-{bits}" + ", as Excel writes Unicode text" * (bits == 16),
            do=f"Save it as CSV UTF-8, or convert it: iconv -f UTF-{bits} -t UTF-8.",
        )
    head = block[:100]
    for order, zeros, more in (("LE", head[1::2], head[2::4]), ("BE", head[::2], head[1::4])):
        if len(zeros) > 1 and not any(zeros) and any(head):  # and no mark before them
            code = f"UTF-{16 if any(more) else 32}"
            raise DataError(
                f"{path} is text in {code}",
                do=f"Save it as CSV UTF-8, or convert it: iconv -f {code}{order} -t UTF-8.",
            )
    if b"\0" in block:
        raise DataError(
            f"{path} is not a text file", do="Text in UTF-8, packed text and Parquet can be read."
        )


def rows_of(block: bytes, count: int, *, marked: bool = False) -> list[TextRow]:
    """Return the first rows of a block of whole lines, at most `count`; with `marked`, also the
    first `count` lines that begin with # or %, and the last of these. If the quote of a cell is not
    closed in a line, the lines up to the one that closes it are one row.
    """
    rows: list[TextRow] = []
    start = plain = 0
    while plain < count and (end := block.find(b"\n", start) + 1):
        line = block[start:end]
        if line.count(b'"') & 1 and OPENED.search(line):
            end = _quote_end(block, end) or end
            line = block[start:end]
        start, text = end, line[:-1].decode(errors="replace").removesuffix("\r")
        row = TextRow(text.replace("\n", BREAK.decode()), end)
        if begins_row(line):
            plain += 1
        elif not marked or not is_marked(text):
            continue
        elif len(rows) - plain > count:
            rows[-1] = row if is_marked(rows[-1].line) else rows[-1]
            continue
        rows.append(row)
    return rows


def _quote_end(block: bytes, begin: int) -> int:
    """Return the end of the line that closes a quote which is open at `begin`; 0 if none of the
    next lines does.
    """
    for _ in range(MAX_LINES_OF_ROW):
        if not (end := block.find(b"\n", begin) + 1):
            return 0
        if block.count(b'"', begin, end) & 1:
            return end
        begin = end
    return 0
