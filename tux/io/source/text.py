"""Text that readers share: files in blocks of lines, bad rows, numbers, and words of a file in
messages.
"""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Literal

import numpy as np

from tux.base.errors import DataError
from tux.base.parallel import threads
from tux.base.text import one_line
from tux.io.source.cells import DECIMAL, MARK, THOUSANDS, is_marked
from tux.io.source.input_files import FilePiece, pieces_of
from tux.io.source.piece_text import PieceText
from tux.io.source.places import MemoryRows, Places

OnBadRow = Literal["stop", "skip"]
Begin = Callable[[bytes, str], int | None]
Tell = Callable[[int, float], None]
"""A function that is called with the amount read: unpacked bytes of text, and pieces of files."""
TEXT = "Text in UTF-8, plain or packed, can be read."
NOT_UTF_8 = "the line is not UTF-8 text"
CONVERT = "Convert the file, if it is Latin-1 with: iconv -f LATIN1 -t UTF-8."
SIDE_BY_SIDE = 4  # files that are unpacked at the same time, at most
AHEAD = 4  # blocks of each that wait for the caller, at most
SAMPLE = 20  # lines that decide the layout
BLOCK = 16 << 20  # bytes of text that are parsed at a time, at most: little beside the columns
BLOCK_OF_THREAD = 4 << 20  # and by one thread: some blocks are always under way
SMALL = 1 << 14  # bytes: a failing block of this size is judged line by line
EMPTY = re.compile(rb"^\r?\n", re.MULTILINE)
NUMBER = re.compile(
    r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE
)
"""Digits can be matched in one way only: else a cell of very many would take very long."""
NUMERIC = re.compile(f"{NUMBER.pattern}|{DECIMAL.pattern}", NUMBER.flags)
"""A number, perhaps one with a decimal comma, which is not read."""
WHOLE = re.compile(r"-?\d+", re.ASCII)
CORRECT = "Correct the file"
NO_ROW = "Each row is an edge; one is needed at least."
ADVICE = f"{CORRECT}, or leave such rows out with --on-bad-row skip."
ADJACENT = " If each line is a vertex and its neighbours, call the file .adjlist."
FIRST, ROWS = 1 << 16, 50  # bytes and rows that show the kind of a file with a bad row
MANY = 0.25  # of these rows, if a file is of another kind
CELLS = re.compile(r"::|[,;|]|\s+")


def without_skipping(error: DataError) -> DataError:
    """Change the advice of an error for a command that cannot leave bad rows out."""
    error.do = error.do.replace(ADVICE, f"{CORRECT}.")
    return error


def advice_at(place: str) -> str:
    """Return the advice about a bad row at a place, file:line.

    It does not say to leave the row out if it is the first row of its file, or if many of the first
    rows look like it and none before it does: such a file is of another kind, and the rest of it
    would be read falsely.
    """
    path, _, line = place.rpartition(":")
    rows = _first_rows(path)
    at = next((at for at, (number, _) in enumerate(rows) if str(number) == line), None)
    if at is None:
        return ADVICE
    shapes = [_shape(text) for _, text in rows]
    alike = 0 if shapes[at] in shapes[:at] else shapes.count(shapes[at])
    many = alike > 1 and alike >= MANY * len(shapes)
    if at and not many:
        return ADVICE
    which = "many of its rows are like this one" if many else "its first row is bad"
    whole = all(WHOLE.fullmatch(word) for _, text in rows for word in text.split())
    listed = whole and len({len(text.split()) for _, text in rows}) > 1
    return f"{CORRECT}; it may be of another kind, as {which}." + ADJACENT * listed


def _first_rows(path: str) -> list[tuple[int, str]]:
    """Return the first rows of a file with the numbers of their lines; none of a damaged file."""
    try:
        block = next(line_blocks(FilePiece(path), FIRST), b"")
    except DataError:
        return []
    lines = enumerate(block.decode(errors="replace").split("\n"), 1)
    rows = ((number, line) for number, line in lines if line.strip() and not is_marked(line))
    return [*islice(rows, ROWS)]


def _shape(row: str) -> tuple[bool, ...]:
    """Return a tuple with True for each cell of a row that is a number, whatever separates the
    cells.
    """
    return tuple(NUMERIC.fullmatch(cell) is not None for cell in re.split(CELLS, row.strip()))


@dataclass
class BadRows:
    """The bad rows of some data: the first one stops the reading, or all are counted."""

    path: str
    stop: bool
    count: int = 0
    first: str = ""
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.path)

    @classmethod
    def of_memory(cls, what: str, on_bad_row: OnBadRow) -> BadRows:
        """Make it for data in memory with the name `what` in messages."""
        bad = cls(what, stop=on_bad_row == "stop")
        bad.places = MemoryRows(what)
        return bad

    def note(self, number: int, why: str, unit: str = "") -> None:
        """Note that row or line `number` is bad. Raises DataError if `stop` is true."""
        if self.stop:
            place = self.places.of(number, unit)
            of_file = not unit and not isinstance(self.places, MemoryRows)
            advice = advice_at(place) if of_file else ADVICE
            raise DataError(why, where=place, do=CONVERT if why == NOT_UTF_8 else advice)
        self.count += 1
        self.first = self.first or one_line(f"{self.places.of(number, unit)}: {why}")

    def no_usable_row(self, row: str = "row") -> DataError:
        """Return the error about data of which no `row` is left."""
        first = f"; the first: {self.first}" if self.count else ""
        return DataError(f"no {row} of {self.path} is usable{first}")


def doubt_of_row(number: int, text: str, row: str, other: str, do: str = "remove it") -> str:
    """Return a sentence about row `number` of a file, which is read as all others, called a `row`,
    though it may be something `other`; `do` is the advice for that case.
    """
    article = "an" if row[:1] in "aeiou" else "a"
    return f"row {number}, {cut_word(text)}, is read as {article} {row}; if it {other}, {do}"


def blocks(
    path: str | os.PathLike[str], places: Places | None = None, begin: Begin | None = None
) -> Iterator[bytes]:
    """Yield the unpacked text of a file in pieces of about `BLOCK` bytes, each of whole lines and
    closed by a newline, without a byte order mark. For `Files`, yield the texts of all, one after
    the other.

    ``begin(block, path)`` is called with the first lines of each file, until one of them is a row:
    it returns the number of bytes to pass over, or None to pass over all, if there is no row among
    them. `places` notes the beginning of each file, and the lines that are passed over. One piece
    is unpacked ahead, beside the caller's work on the last, and so are the first ones of the next
    files. Raises `DataError` if a file is damaged.
    """
    parts = pieces_of(path)
    if len(parts) == 1 and begin is None and parts[0] == FilePiece(os.fspath(path)):
        pieces = line_blocks(parts[0])
    else:
        several = [part.path for part in parts] != [os.fspath(path)]  # perhaps in another share
        pieces = _join_pieces(parts, places, begin, several=several)
    with reading_threads(1) as pool:
        coming = pool.submit(next, pieces, b"")
        while block := coming.result():
            coming = pool.submit(next, pieces, b"")
            yield block


@contextmanager
def reading_threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """Give a pool of threads for a generator that reads ahead. At the end nothing waits for them: a
    generator that was given up is closed wherever Python collects garbage, for example while
    another thread is started and holds a lock that these threads take when they end.
    """
    pool = ThreadPoolExecutor(count, "tux-files")
    try:
        yield pool
    finally:
        pool.shutdown(wait=False)


def _join_pieces(
    parts: Sequence[FilePiece], places: Places | None, begin: Begin | None, *, several: bool
) -> Iterator[bytes]:
    """Yield the texts of pieces one after the other, in blocks of about `BLOCK` bytes. `several`:
    the input has several files.
    """
    gathered: list[bytes] = []
    size, number = 0, 1  # of what is gathered, and of the line that comes next
    for part, pieces in zip(parts, _blocks_ahead(parts), strict=True):
        begun, line = begin is None or part.begin > 0, 1
        if places is not None:
            places.begin(number, part, line)
        for at, block in enumerate(pieces):
            if not at and b"\0" in block and several:
                raise DataError(f"{part.path} is not a text file", do=TEXT)
            if not begun and begin is not None:
                start = begin(block, part.path)
                begun, cut = start is not None, len(block) if start is None else start
                line += block.count(b"\n", 0, cut)
                if cut and places is not None:
                    places.begin(number, part, line)
                block = block[cut:] if cut else block
            if len(parts) > 1:
                lines = lines_ending(block)
                number, line = number + lines, line + lines
            gathered.append(block)
            size += len(block)
            if size >= _block():
                yield b"".join(gathered)
                gathered, size = [], 0
    if size:
        yield b"".join(gathered)


def _blocks_ahead(parts: Sequence[FilePiece]) -> Iterator[Iterator[bytes]]:
    """Yield the blocks of each piece. The first blocks of the next few pieces are read and unpacked
    at the same time.
    """
    texts = [line_blocks(part) for part in parts]
    count = min(threads(), SIDE_BY_SIDE)
    if count < 2 or len(parts) < 2:
        yield from texts
        return
    with reading_threads(count) as pool:
        coming = deque(pool.submit(_first, text) for text in texts[:count])
        for at, text in enumerate(texts):
            first = coming.popleft().result()
            if at + count < len(texts):
                coming.append(pool.submit(_first, texts[at + count]))
            yield chain(first, text)


def _block() -> int:
    return min(BLOCK, BLOCK_OF_THREAD * threads())


def _first(text: Iterator[bytes]) -> list[bytes]:
    return list(islice(text, AHEAD))


def lines_ending(block: bytes) -> int:
    """Count the lines that end in a block."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))


def line_blocks(part: FilePiece, size: int | None = None) -> Iterator[bytes]:
    """Yield the unpacked text of a piece, as `blocks` does for a file, about `size` bytes at a
    time.
    """
    size = size or _block()
    begun: list[bytes] = []  # a line that no block has ended yet
    try:
        with PieceText(part) as stream:
            data = stream.read(size)
            while data:
                ahead = stream.read(size)
                data += b"" if ahead or data.endswith(b"\n") else b"\n"
                if cut := data.rfind(b"\n") + 1:
                    block = b"".join([*begun, memoryview(data)[:cut]])
                    if MARK in block:  # also of files that were put together
                        block = block.removeprefix(MARK).replace(b"\n" + MARK, b"\n")
                    yield block
                    begun = []
                begun.append(data[cut:])
                data = ahead
    except OSError as error:
        raise DataError(
            f"{part.path} is damaged or cut short ({error})",
            do="Fetch or write the file again.",
        ) from None


def text_blocks(
    path: str | os.PathLike[str], places: Places | None = None, begin: Begin | None = None
) -> Iterator[bytes]:
    """Do `blocks`, and raise `DataError` for a file that is no text."""
    for block in blocks(path, places, begin):
        if b"\0" in block:
            raise DataError(f"{path} is not a text file", do=TEXT)
        yield block


def decode_lines(block: bytes, where: Callable[[int], str]) -> list[str]:
    """Return the lines of a block as text. Raises `DataError` for one that is not UTF-8;
    ``where(at)`` is the place of line `at` of the block, from 0.
    """
    try:
        return block[:-1].decode().split("\n")
    except UnicodeDecodeError as error:
        at = block.count(b"\n", 0, error.start)
        raise DataError(NOT_UTF_8, where=where(at), do=CONVERT) from None


def read_words(path: str | os.PathLike[str]) -> list[str]:
    """Read a file of one word a line, without blanks around them and blank lines at its end.
    Raises `DataError` for a file that is no text, and for a line that is not UTF-8.
    """
    words = [word for piece in word_pieces(path) for word in piece]
    while words and not words[-1]:
        words.pop()
    return words


def word_pieces(
    path: str | os.PathLike[str], begin: int = 0, end: int = sys.maxsize
) -> Iterator[list[str]]:
    """Yield the words of a file of one word a line, without blanks around them, piece by piece:
    those of the lines from number `begin`, counted from 0, to `end`, exclusive. Raises the errors
    of `read_words`, about these lines.
    """
    done = 0
    for block in text_blocks(path):
        lines = lines_ending(block)
        if begin < done + lines:
            words = decode_lines(block, lambda at: f"{path}:{done + 1 + at}")  # noqa: B023
            yield [*map(str.strip, words[max(begin - done, 0) : end - done])]
        done += lines
        if done >= end:
            break


def note_bad_lines(bad: BadRows, lines: np.ndarray, block: bytes, number: int, fault: Any) -> None:
    """Note the 0-based `lines` of a block, whose first line is line `number`, as `bad`;
    ``fault(line)`` returns the fault of a line in words.
    """
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == 10)
    for line in lines.tolist():
        begin = int(ends[line - 1]) + 1 if line else 0
        why = (
            ""
            if bad.first
            else fault(block[begin : ends[line]].decode(errors="replace").removesuffix("\r"))
            or "cannot be read"
        )
        bad.note(number + line, why)


def cut_word(word: str) -> str:
    """Cut a long word of a file for a message."""
    return word if len(word) <= 40 else word[:40] + "..."


def is_plain_number(word: str, digits: int = 18) -> bool:
    """Return whether a word has digits alone, and at most so many: int() refuses very many."""
    return word.isascii() and word.isdigit() and len(word) <= digits


def quote_word(word: str) -> str:
    """Cut a long word of a file for a message, and put it in quotes."""
    return repr(cut_word(word))


def not_number(word: str, *, whole: bool) -> str:
    """Return the words of a message about a word that is no number, or no `whole` one."""
    if whole:
        return f"{quote_word(word)}, not a whole number"
    if THOUSANDS.fullmatch(word) and "," in word:
        thousands, point = (cut_word(word.replace(",", instead)) for instead in ("", "."))
        return (
            f"{quote_word(word)}: write it as {thousands}, or as {point} if the comma is a "
            "decimal one"
        )
    if DECIMAL.fullmatch(word):
        return (
            f"{quote_word(word)}, with a decimal comma: write it as "
            f"{cut_word(word.replace(',', '.'))}"
        )
    return f"{quote_word(word)}, not a number"
