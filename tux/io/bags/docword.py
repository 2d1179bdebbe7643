"""Bags of words as the UCI repository keeps them: three lines of sizes, then one line for each word
of a document.

    D                            documents, numbered from 1
    W                            words of the vocabulary, numbered from 1
    NNZ                          lines that follow
    document word count          in any order

(Newman: Bag of Words, UCI Machine Learning Repository.) The sizes are checked against what comes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.arrays.ids import MAX_VERTICES, is_plausible_size
from tux.arrays.integers import narrow
from tux.base.compiled import cached_njit
from tux.base.errors import DataError
from tux.io.bags.entries import BagSpec, Entries
from tux.io.bags.numbering import ColumnNumbering
from tux.io.bags.pair_faults import number_fault
from tux.io.source.text import cut_word, note_bad_lines, quote_word, text_blocks

RULE = (
    "A docword file begins with three lines: the numbers of documents, of words, and of lines that "
    "follow."
)


class _Head(NamedTuple):
    documents: int
    words: int
    lines: int


@cached_njit
def _parse_lines(text, documents, words, most, out, bad):  # type: ignore[no-untyped-def]
    """Parse lines of three numbers into `out` (3, lines), and mark the `bad` (lines,) ones. The
    numbers are at most `documents`, `words` and `most`.

    Returns the number of lines that are neither bad nor blank, and of those that are not blank.
    """
    i, line, count, filled = 0, 0, 0, 0
    while i < len(text):
        good, parts = True, 0
        while True:
            while text[i] == 32 or text[i] == 9 or text[i] == 13:
                i += 1
            if text[i] == 10:
                break
            if parts == 3:
                good = False
                break
            limit = documents if parts == 0 else words if parts == 1 else most
            begin, value = i, np.int64(0)
            while 48 <= text[i] <= 57 and value <= limit:
                value = value * 10 + (text[i] - 48)
                i += 1
            ended = text[i] == 32 or text[i] == 9 or text[i] == 13 or text[i] == 10
            if i == begin or not ended or not 1 <= value <= limit:
                good = False
                break
            out[parts, count] = value
            parts += 1
        bad[line] = not good or 0 < parts < 3
        if bad[line] or parts:
            filled += 1
        if not bad[line] and parts:
            count += 1
        while text[i] != 10:
            i += 1
        i += 1
        line += 1
    return count, filled


def read_docword(asked: BagSpec) -> Entries:
    """Read a docword file; every document up to D is a row. See `tux.io.bags.bags.read_bags`."""
    head: _Head | None = None
    pieces: list[list[np.ndarray]] = [
        [np.empty(0, np.int32)],
        [np.empty(0, np.int32)],
        [np.empty(0, asked.dtype)],
    ]
    begun, number, filled = b"", 1, 0
    for block in text_blocks(asked.path, asked.bad.places):
        if head is None:
            begun = block = begun + block
            if begun.count(b"\n") < 3:
                continue
            *first, block = begun.split(b"\n", 3)
            head = _head(first, asked)
            number = 4
        lines = block.count(b"\n")
        out, bad = np.empty((3, lines), np.int64), np.empty(lines, np.bool_)
        most = asked.counts()[1]
        count, here = _parse_lines(
            np.frombuffer(block, np.uint8), head.documents, head.words, most, out, bad
        )
        if bad.any():
            note_bad_lines(
                asked.bad,
                np.flatnonzero(bad),
                block,
                number,
                lambda line: _fault(line, head, asked),  # noqa: B023
            )
        for piece, column in zip(pieces, out, strict=True):
            piece.append(column[:count].astype(piece[0].dtype))
        number, filled = number + lines, filled + here
    if head is None:
        raise DataError(
            f"{asked.path} is empty" if not begun.strip() else "the sizes are cut short",
            where=asked.bad.places.of(1),
            do=RULE,
        )
    if filled != head.lines:
        raise DataError(
            f"{filled:,} lines of {asked.column}s, but the header says {head.lines:,}",
            where=asked.bad.places.of(3),
            do="Is the file cut short?",
        )
    row, column, value = (np.concatenate(piece) for piece in pieces)
    if not is_plausible_size(head.documents, len(row)):
        raise DataError(
            f"{head.documents:,} {asked.row}s, but only {len(row):,} lines of {asked.column}s",
            where=asked.bad.places.of(1),
            do=RULE,
        )
    rows = np.arange(1, head.documents + 1)
    numbering = ColumnNumbering("docword", 1)
    return Entries(rows, narrow(row), column, value, numbering=numbering)


def _head(lines: list[bytes], asked: BagSpec) -> _Head:
    """Parse the three sizes. Raises DataError if they are none, too large, or do not fit the
    vocabulary.
    """
    sizes = []
    for at, (line, name) in enumerate(
        zip(lines, (f"{asked.row}s", f"{asked.column}s", "lines"), strict=True), 1
    ):
        word = line.decode(errors="replace").strip()
        if not (word.isascii() and word.isdigit()):
            raise DataError(
                f"{quote_word(word)} is no number of {name}", where=asked.bad.places.of(at), do=RULE
            )
        if len(word) > 18 or int(word) > MAX_VERTICES and at < 3:
            raise DataError(
                f"{quote_word(word)} {name}; at most {MAX_VERTICES:,} can be held",
                where=asked.bad.places.of(at),
                do=RULE,
            )
        sizes.append(int(word))
    if asked.columns is not None and asked.columns != sizes[1]:
        raise DataError(
            f"{sizes[1]:,} {asked.column}s, but the vocabulary has {asked.columns:,}",
            where=asked.bad.places.of(2),
            do="Name the vocabulary that belongs to this file.",
        )
    return _Head(*sizes)


def _fault(line: str, head: _Head, asked: BagSpec) -> str:
    """Return the fault of a line that was marked as bad, in words."""
    words = line.split()
    if len(words) != 3:
        return f"{len(words)} numbers instead of 3: {asked.row}, {asked.column} and {asked.field}"
    for word, size, name in zip(words, head[:2], (asked.row, asked.column), strict=False):
        if not (word.isascii() and word.isdigit()):
            return f"{quote_word(word)} is no number of a {name}"
        if not 1 <= len(word.lstrip("0")) <= 18 or int(word.lstrip("0")) > size:
            return f"{name} {cut_word(word)}, but {name}s are numbered from 1 to {size:,}"
    least, most = asked.counts()
    return number_fault(words[2], asked.field, True, least, most, asked.dtype)
