"""The file and the line that a line of text comes from, if several files, or a part of one, are
read as one text.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from tux.io.source.input_files import FilePiece
from tux.io.source.piece_text import PieceText

STEP = 1 << 20  # bytes that are read at a time


class _Start(NamedTuple):
    """A piece begins in the text: its `number` is that of the first line or row in the text, `line`
    that in the piece.
    """

    number: int
    piece: FilePiece
    line: int


class Places:
    """The places of the lines or rows of a text in its files, by their numbers from 1. As long as
    `begin` is not called, they are those of one file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._starts: list[_Start] = []
        self.pieces = 0  # number of pieces that have begun

    def begin(self, number: int, piece: FilePiece, line: int = 1) -> None:
        """Note that line `number` of the text is line `line` of a piece. Call it with ascending
        numbers; of equal ones the last counts.
        """
        self.pieces += not self._starts or self._starts[-1].piece != piece
        self._starts.append(_Start(number, piece, line))

    def of(self, number: int, unit: str = "") -> str:
        """Return the place of a line, as file:line, or of a row of a table without lines. The part
        of the file before the piece is read for that.
        """
        at = bisect_right(self._starts, number, key=lambda start: start.number) - 1
        if at < 0:
            return f"{self.path}:{unit}{number}"
        start = self._starts[at]
        path, begin, _ = start.piece
        before = lines_before(path, begin) if begin and not unit else 0
        return f"{path}:{unit}{number - start.number + start.line + before}"


def lines_before(path: str, begin: int) -> int:
    """Count the lines of a file that end in its first `begin` bytes."""
    lines = 0
    with PieceText(FilePiece(path, 0, begin)) as file:
        while data := file.read(STEP):
            lines += data.count(b"\n")
    return lines


class MemoryRows(Places):
    """The places of rows of data in memory, which are counted from 0, as in Python. Readers number
    them from 1, as those of files.
    """

    def of(self, number: int, unit: str = "") -> str:
        """Return the place of a row."""
        return f"{self.path}, row {number - 1}"
