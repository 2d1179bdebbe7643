"""Sparse matrices in the Matrix Market format: an edge for each stored entry, from its row to its
column.

    %%MatrixMarket matrix coordinate real general      or integer, pattern; symmetric,
                                                       skew-symmetric
    % comment
    rows columns entries
    row column [value]                                 numbered from 1

(Boisvert, Pozo, Remington: The Matrix Market Exchange Formats, NISTIR 5935.)
"""

from __future__ import annotations

import os
import re
from functools import partial

import numpy as np

from tux.arrays.ids import MAX_VERTICES
from tux.base.errors import DataError
from tux.io.edges.sized_graph import EntryLines, SizedGraph, read_sized_graph
from tux.io.formats.format import EdgeFormat, Format
from tux.io.source.cells import MARK
from tux.io.source.text import NUMBER, blocks, cut_word, is_plain_number, quote_word

BANNER = re.compile(
    rb"\s*(%{1,2}MatrixMarket\b|%{1,2}[ \t]+MatrixMarket[ \t]+matrix[ \t])", re.IGNORECASE
)
"""The beginning of a file; many of one large collection of networks have only one %."""
START = 1 << 16  # bytes in which the banner is looked for
RULE = (
    "It should begin with %%MatrixMarket matrix coordinate, real, integer or pattern, and general, "
    "symmetric or skew-symmetric."
)


def has_banner(head: bytes, path: str | os.PathLike[str]) -> bool:
    """Return whether a file whose first bytes, unpacked, are `head` begins as a Matrix Market file
    does, perhaps after comments and blank lines.

    Raises `DataError` for a banner that other lines precede: without it the file looks like a table
    of edges.
    """
    lines = head[:START].removeprefix(MARK).split(b"\n")
    at = _find_banner(lines)
    other = next(
        (
            number
            for number, line in enumerate(lines[: max(at, 0)], 1)
            if not _is_blank_or_comment(line)
        ),
        None,
    )
    if other is not None:
        what = f"line {other} stands before the banner %%MatrixMarket"
        raise DataError(
            what, where=f"{path}:{at + 1}", do="Remove the lines before the banner, or the banner."
        )
    return at >= 0


def _find_banner(lines: list[bytes]) -> int:
    """Return the place of the banner among lines, -1 if it is not there."""
    return next((at for at, line in enumerate(lines) if BANNER.match(line)), -1)


def _is_blank_or_comment(line: bytes) -> bool:
    """Return whether a line is blank or a comment."""
    return line.strip()[:1] in (b"", b"#", b"%")


def read_market(path: str | os.PathLike[str]) -> SizedGraph:
    """Read a sparse matrix. Raises `DataError` with file and line for a file that is none, and for
    numbers that are complex or not finite.
    """
    entries = None
    for block in blocks(os.fspath(path)):
        if entries is None:
            banner, sizes, block, number = _head(block, path)
            width, limits = 2 if banner[3] == "pattern" else 3, (sizes[0], sizes[1])
            fault = partial(_fault, width=width, sizes=limits)
            entries = EntryLines(path, width, limits, fault)
        entries.add(block, block, number)
        number += block.count(b"\n")
    if entries is None:
        raise DataError(f"{path} is empty", do="Give a file with entries.")
    row, column, *values = (np.asarray(column) for column in entries.pieces.columns())
    if len(row) != sizes[2]:
        raise DataError(
            f"{len(row):,} entries, but the line of sizes says {sizes[2]:,}",
            where=os.fspath(path),
            do="Is the file cut short?",
        )
    symmetric = banner[4] != "general"
    return SizedGraph(
        "a symmetric matrix" if symmetric else "a matrix",
        "Matrix Market",
        row,
        column,
        values[0] if values else None,
        limits,
        symmetric,
        matrix=True,
        sign=-1 if banner[4] == "skew-symmetric" else 1,
    )


def market_shape(path: str | os.PathLike[str], name: str | None = None) -> tuple[int, int]:
    """Return the numbers of rows and columns of the matrix in a file. Raises `DataError` if it is
    none.
    """
    banner, sizes, _, _ = _head(next(blocks(os.fspath(path)), b""), path)
    return sizes[0], sizes[1]


def _head(block: bytes, path: str | os.PathLike[str]) -> tuple[list[str], list[int], bytes, int]:
    """Parse the head of a file in its first block. Returns the words of the first line, the numbers
    in the line of sizes, the rest of the block, and the number of the first line of the rest.
    """
    before = max(_find_banner(block[:START].split(b"\n")), 0)
    start, number = 0, before + 2
    for _ in range(before):
        start = block.find(b"\n", start) + 1
    begun, start = start, block.find(b"\n", start) + 1
    banner = _banner(block[begun:start], f"{path}:{number - 1}")
    while end := block.find(b"\n", start) + 1:
        line = block[start : end - 1]
        if line.strip() and not line.startswith(b"%"):
            return banner, _sizes(line, f"{path}:{number}"), block[end:], number + 1
        start, number = end, number + 1
    raise DataError(f"{path} ends before its line of sizes", do=RULE)


def _banner(line: bytes, where: str) -> list[str]:
    """Return the words of the first line. Raises DataError for matrices that have no sparse
    entries, or entries that are no real numbers.
    """
    words = line.decode(errors="replace").lower().lstrip(" \t%").split()
    known = (
        {"matrixmarket"},
        {"matrix"},
        {"coordinate"},
        {"real", "double", "integer", "pattern"},
        {"general", "symmetric", "skew-symmetric"},
    )
    if len(words) != len(known) or any(
        word not in choices for word, choices in zip(words, known, strict=True)
    ):
        raise DataError(
            f"a matrix that is {cut_word(' '.join(words[2:])) or 'of no kind'} is not read here",
            where=where,
            do=RULE,
        )
    return words


def _sizes(line: bytes, where: str) -> list[int]:
    """Return the numbers of rows, columns and entries. Raises DataError for another line."""
    words = line.split()
    if len(words) != 3 or not all(is_plain_number(word.decode(errors="replace")) for word in words):
        raise DataError(
            "no line of sizes",
            where=where,
            do="After the comments there should be the numbers of rows, columns and entries.",
        )
    rows, columns, entries = (int(word) for word in words)
    if max(rows, columns) > MAX_VERTICES:
        raise DataError(
            f"{rows:,} x {columns:,}; at most {MAX_VERTICES:,} rows or columns can be held",
            where=where,
        )
    return [rows, columns, entries]


def _fault(words: list[str], width: int, sizes: tuple[int, int]) -> str:
    """Return the fault of an entry in words, "" if it has none."""
    if not words or words[0].startswith("%"):
        return ""
    if len(words) != width:
        return f"{len(words)} numbers instead of {width}"
    for word, size, name in zip(words, sizes, ("row", "column"), strict=False):
        if not is_plain_number(word) or not 1 <= int(word) <= size:
            return f"{name} {quote_word(word)} of a matrix of {sizes[0]:,} x {sizes[1]:,}"
    if width == 3 and not (NUMBER.fullmatch(words[2]) and np.isfinite(float(words[2]))):
        return f"the value {quote_word(words[2])} is no finite number"
    return ""


MARKET = EdgeFormat(
    Format.MARKET,
    "Matrix Market",
    "a Matrix Market file is a whole matrix, and begins with its sizes",
    partial(read_sized_graph, parse=read_market, what="a matrix"),
    lambda start: has_banner(start.head, start.path),
    shape=market_shape,
)
