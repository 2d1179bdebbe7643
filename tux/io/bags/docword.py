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

from tux.arrays.arrow import Pieces
from tux.arrays.ids import MAX_VERTICES, is_plausible_size
from tux.base.compiled import cached_njit
from tux.base.errors import DataError
from tux.base.text import plural, plural_noun
from tux.io.bags.entries import BagSpec, Entries
from tux.io.bags.numbering import ColumnNumbering
from tux.io.bags.pair_faults import number_fault
from tux.io.source.text import Tell, cut_word, note_bad_lines, quote_word, text_blocks

RULE = (
    "A docword file begins with three lines: the numbers of documents, of words, and of lines that "
    "follow."
)
HEAD_LINES = 3
"""Lines of sizes, which stay together where a file is cut into shares."""


class DocwordHead(NamedTuple):
    """The sizes at the beginning of a file."""

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
    begun = b""
    lines: DocwordLines | None = None
    for block in text_blocks(asked.path, asked.bad.places):
        if lines is None:
            begun = block = begun + block
            if begun.count(b"\n") < HEAD_LINES:
                continue
            *first, block = begun.split(b"\n", HEAD_LINES)
            lines = DocwordLines(asked, _head(first, asked), HEAD_LINES + 1)
        lines.add(block)
    if lines is None:
        raise _no_sizes(asked, begun)
    head, filled = lines.head, lines.filled
    if filled != head.lines:
        raise DataError(
            f"{plural(filled, 'line')} of {plural_noun(asked.column)}, but the header says "
            f"{head.lines:,}",
            where=asked.bad.places.of(3),
            do="Is the file cut short?"
            if filled < head.lines
            else "Correct the third line: how many lines follow.",
        )
    if not is_plausible_size(head.documents, lines.rows):
        raise DataError(
            f"{plural(head.documents, asked.row)}, but only {plural(lines.rows, 'line')} of "
            f"{plural_noun(asked.column)}",
            where=asked.bad.places.of(1),
            do=RULE,
        )
    return lines.entries(np.arange(1, head.documents + 1))


def begin_docword(asked: BagSpec) -> DocwordHead:
    """Return the sizes at the beginning of a file, of which no more is read. Raises the errors of
    `read_docword` about them.
    """
    begun = b""
    for block in text_blocks(asked.path, asked.bad.places):
        begun += block
        if begun.count(b"\n") >= HEAD_LINES:
            return _head(begun.split(b"\n", HEAD_LINES)[:HEAD_LINES], asked)
    raise _no_sizes(asked, begun)


class DocwordRead(NamedTuple):
    """The entries of some lines of a file, and how many of the lines are not blank, bad ones
    too.
    """

    entries: Entries
    filled: int


def read_share_docword(
    asked: BagSpec, head: DocwordHead, tell: Tell | None, *, first: bool
) -> DocwordRead:
    """Read a share of the lines of a file that begins with the sizes `head`; the `first` share has
    these, all in its first file. No document is a row yet. `tell` is called with the amount read.
    """
    lines, size = DocwordLines(asked, head, HEAD_LINES * first + 1), 0
    left = HEAD_LINES * first
    for block in text_blocks(asked.path, asked.bad.places):
        size += len(block)
        if left:
            passed = min(left, block.count(b"\n"))
            block, left = block.split(b"\n", passed)[passed], left - passed
        lines.add(block)
        if tell:
            tell(size, asked.bad.places.pieces - 1)
    return DocwordRead(lines.entries(np.empty(0, np.int64)), lines.filled)


class DocwordLines:
    """The entries of the lines so far, the first of which has this `number`; `filled`: how many
    lines are not blank.
    """

    def __init__(self, asked: BagSpec, head: DocwordHead, number: int) -> None:
        self.asked, self.head, self.number, self.filled = asked, head, number, 0
        self._pieces = Pieces([np.dtype(np.int32)] * 2 + [asked.dtype])

    def add(self, block: bytes) -> None:
        """Append a block of lines."""
        asked, head = self.asked, self.head
        lines = block.count(b"\n")
        out, bad = np.empty((3, lines), np.int64), np.empty(lines, np.bool_)
        most = asked.counts()[1]
        count, filled = _parse_lines(
            np.frombuffer(block, np.uint8), head.documents, head.words, most, out, bad
        )
        if bad.any():
            note_bad_lines(
                asked.bad,
                np.flatnonzero(bad),
                block,
                self.number,
                lambda line: _fault(line, head, asked),
            )
        kinds = self._pieces.kinds
        self._pieces.append(
            [each[:count].astype(kind) for each, kind in zip(out, kinds, strict=True)]
        )
        self.number, self.filled = self.number + lines, self.filled + filled

    @property
    def rows(self) -> int:
        """The number of lines that are good."""
        return self._pieces.rows

    def entries(self, rows: np.ndarray) -> Entries:
        """Return all entries, of documents with the numbers `rows` (n,)."""
        row, column, value = map(np.asarray, self._pieces.columns())
        return Entries(rows, row, column, value, numbering=ColumnNumbering("docword", 1))


def _no_sizes(asked: BagSpec, begun: bytes) -> DataError:
    """Return the error about a file that is `begun` alone, less than its sizes."""
    return DataError(
        f"{asked.path} is empty" if not begun.strip() else "the sizes are cut short",
        where=asked.bad.places.of(1),
        do=RULE,
    )


def _head(lines: list[bytes], asked: BagSpec) -> DocwordHead:
    """Parse the three sizes. Raises DataError if they are none, too large, or do not fit the
    vocabulary.
    """
    sizes = []
    for at, (line, name) in enumerate(
        zip(
            lines,
            (plural_noun(asked.row), plural_noun(asked.column), "lines"),
            strict=True,
        ),
        1,
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
            f"{sizes[1]:,} {plural_noun(asked.column)}, but the vocabulary has {asked.columns:,}",
            where=asked.bad.places.of(2),
            do=f"Name the vocabulary that belongs to this file, not {asked.vocab}.",
        )
    return DocwordHead(*sizes)


def _fault(line: str, head: DocwordHead, asked: BagSpec) -> str:
    """Return the fault of a line that was marked as bad, in words."""
    words = line.split()
    if len(words) != 3:
        return f"{len(words)} numbers instead of 3: {asked.row}, {asked.column} and {asked.field}"
    for word, size, name in zip(words, head[:2], (asked.row, asked.column), strict=False):
        if not (word.isascii() and word.isdigit()):
            return f"{quote_word(word)} is no number of a {name}"
        if not 1 <= len(word.lstrip("0")) <= 18 or int(word.lstrip("0")) > size:
            return (
                f"{name} {cut_word(word)}, but {plural_noun(name)} are numbered from 1 to {size:,}"
            )
    least, most = asked.counts()
    return number_fault(words[2], asked.field, True, least, most, asked.dtype)
