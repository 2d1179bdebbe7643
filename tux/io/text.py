"""Text that readers share: a file in blocks of lines, bad rows, numbers, and words of a file in
messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tux.arrays import arrow
from tux.base.errors import DataError
from tux.base.text import one_line
from tux.io.cells import DECIMAL, MARK

OnBadRow = Literal["stop", "skip"]
SAMPLE = 20  # lines that decide the layout
# bytes of text that are parsed at a time: enough for all cores, little beside the columns
BLOCK = 16 << 20
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
ADVICE = f"{CORRECT}, or leave such rows out with --on-bad-row skip."


def without_skipping(error: DataError) -> DataError:
    """The same error for a command that leaves no row out."""
    error.do = error.do.replace(ADVICE, f"{CORRECT}.")
    return error


@dataclass
class Bad:
    """The bad rows of a file: the first one stops the reading, or all are counted."""

    path: str
    stop: bool
    count: int = 0
    first: str = ""

    def note(self, number: int, why: str, unit: str = "") -> None:
        """Row or line `number` is bad."""
        where = f"{self.path}:{unit}{number}"
        if self.stop:
            raise DataError(why, where=where, do=ADVICE)
        self.count += 1
        self.first = self.first or one_line(f"{where}: {why}")


def blocks(path: str) -> Iterator[bytes]:
    """The unpacked text of a file in pieces of about `BLOCK` bytes, each of whole lines and closed
    by a newline; no byte order mark.

    One piece is unpacked ahead, beside the caller's work on the last. Raises `DataError` if the
    file is damaged.
    """
    pieces = _line_blocks(path)
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, pieces, b"")
        while block := coming.result():
            coming = pool.submit(next, pieces, b"")
            yield block


def _line_blocks(path: str) -> Iterator[bytes]:
    with arrow.open_stream(path) as stream:
        begun: list[bytes] = []  # a line that no block has ended yet
        try:
            data = stream.read(BLOCK).removeprefix(MARK)
            while data:
                ahead = stream.read(BLOCK)
                data += b"" if ahead or data.endswith(b"\n") else b"\n"
                if cut := data.rfind(b"\n") + 1:
                    yield b"".join([*begun, data[:cut]])
                    begun = []
                begun.append(data[cut:])
                data = ahead
        except OSError as error:
            raise DataError(
                f"{path} is damaged or cut short ({error})", do="Fetch or write the file again."
            ) from None


def text_blocks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """As `blocks`. Raises `DataError` for what is no text."""
    for block in blocks(os.fspath(path)):
        if b"\0" in block:
            raise DataError(
                f"{path} is not a text file", do="Text in UTF-8, plain or packed, can be read."
            )
        yield block


def note(bad: Bad, lines: np.ndarray, block: bytes, number: int, fault: Any) -> None:
    """Tell `bad` of the 0-based `lines` of a block whose first line is line `number`;
    ``fault(line)`` says what is wrong with one.
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


def cut(word: str) -> str:
    """A word of a file, for a message."""
    return word if len(word) <= 40 else word[:40] + "..."


def short(word: str) -> str:
    """The same in quotes."""
    return repr(cut(word))


def not_number(word: str, *, whole: bool) -> str:
    """What a message says of a word that is no number, or no `whole` one."""
    if whole:
        return f"{short(word)}, not a whole number"
    if DECIMAL.fullmatch(word):
        return f"{short(word)}, with a decimal comma: write it as {cut(word.replace(',', '.'))}"
    return f"{short(word)}, not a number"
