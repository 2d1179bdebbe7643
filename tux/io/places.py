"""Which line of which file a line of text is, where several files, or a part of one, are read as
one text.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

from tux.arrays.piped import opened
from tux.base.errors import DataError
from tux.io.input_files import Piece

STEP = 1 << 20  # bytes that are read at a time


class _Start(NamedTuple):
    """From line or row `number` of the whole on, it is `line` and following of a piece."""

    number: int
    piece: Piece
    line: int


class Places:
    """Where the lines or rows of a text stand, by their numbers from 1. If nothing is said, they
    are those of one file.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._starts: list[_Start] = []
        self.pieces = 0  # that have begun

    def begin(self, number: int, piece: Piece, line: int = 1) -> None:
        """Line `number` of the text is line `line` of a piece. Numbers are told in ascending
        order; of equal ones the last counts.
        """
        self.pieces += not self._starts or self._starts[-1].piece != piece
        self._starts.append(_Start(number, piece, line))

    def of(self, number: int, unit: str = "") -> str:
        """The place of a line, as file:line, or of a row of a table without lines. Costs a pass
        over what stands before the piece in its file.
        """
        at = bisect_right(self._starts, number, key=lambda start: start.number) - 1
        if at < 0:
            return f"{self.path}:{unit}{number}"
        start = self._starts[at]
        path, begin, _ = start.piece
        before = lines_before(path, begin) if begin and not unit else 0
        return f"{path}:{unit}{number - start.number + start.line + before}"


def lines_before(path: str, begin: int) -> int:
    """How many lines of a file end in its first `begin` bytes."""
    lines = 0
    with Range(path, 0, begin) as file:
        while data := file.read(STEP):
            lines += data.count(b"\n")
    return lines


class Range:
    """The bytes of a plain file from `begin` up to `end`: a binary file to ``read(n)`` from and to
    close, as a context too.
    """

    def __init__(self, path: str, begin: int, end: int | None) -> None:
        """Raises `DataError` if the file cannot be opened."""
        try:
            self._file: Any = opened(path)
            self._file.seek(begin)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
        self._left = None if end is None else end - begin

    def __enter__(self) -> Range:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`, fewer only at the end."""
        if self._left is not None:
            size = min(size, self._left)
            self._left -= size
        return bytes(self._file.read(size)) if size else b""

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class MemoryRows(Places):
    """Where rows of data in memory stand: they are counted from 0, as Python does. Readers number
    them from 1, as those of files.
    """

    def of(self, number: int, unit: str = "") -> str:
        """The place of a row."""
        return f"{self.path}, row {number - 1}"
