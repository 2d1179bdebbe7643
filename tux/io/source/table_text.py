"""Rows of a table of text, block by block, whatever they are rows of.

A large block is parsed at once, by all cores. Only a block that fails is halved until the bad line
is found, and only that small rest is judged line by line: a bad line among millions is named
without a slow path for the others.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.base.errors import DataError
from tux.base.text import plural
from tux.io.source.cells import UNIT, TextLayout, split_line
from tux.io.source.text import ADVICE, EMPTY, NOT_UTF_8, SMALL, BadRows

HEXADECIMAL = re.compile(rb"0[xX]")
QUOTED = re.compile(rb'"[^"\n]*"')
LONE = re.compile(rb"(?<!\r)\r++(?!\n)")  # carriage returns that no newline follows
BYTES = re.compile(r"[\udc80-\udcff]")  # bytes that are not UTF-8, decoded by "surrogateescape"


class TableText:
    """Base class of the tables of text: a derived class says what becomes of rows (`append`), and
    which cells are faults (`cell_fault`).
    """

    def __init__(
        self, bad: BadRows, layout: TextLayout, kinds: Iterable[np.dtype | None] = ()
    ) -> None:
        """`kinds`: the types of columns of numbers."""
        self.bad, self.layout = bad, layout
        self.has_integers = any(kind is not None and kind.kind in "iu" for kind in kinds)
        self.rows = 0  # so far, bad ones too

    def append(self, text: bytes, block: bytes, number: int, kept: np.ndarray | None = None) -> int:
        """Append the rows of `text`, cut from a `block` of lines, the first of them line `number`,
        and return their number; or append none, and raise `UnreadableText`.

        Where bad rows of the block were left out, `kept` is a mask of all its rows.
        """
        raise NotImplementedError

    def cell_fault(self, cells: Sequence[str]) -> str:
        """Return the fault of a row, in words, from its cells in the columns that are picked; "" if
        it has none.
        """
        raise NotImplementedError

    def add(self, block: bytes, number: int) -> None:
        """Append the rows of a block of lines, the first of them line `number`. A block that fails
        is appended by halves, and a small one by its good lines.
        """
        text = self.layout.cut(block)
        if self.layout.is_blank(text.decode(errors="replace")) if text.isspace() else not text:
            return
        try:
            if self.has_integers and HEXADECIMAL.search(text):
                raise arrow.UnreadableText("Arrow reads such numbers as integers, not as floats")
            if self.layout.mark == UNIT and UNIT.encode() in block:
                raise arrow.UnreadableText("a cell holds what stands for the separator")
            self.rows += self.append(text, block, number)
        except arrow.UnreadableText:
            half = block.find(b"\n", len(block) // 2) + 1
            if len(block) > SMALL and half < len(block):
                self.add(block[:half], number)
                self.add(block[half:], number + block.count(b"\n", 0, half))
            else:
                self._add_good_lines(block, number)

    def parse(self, text: bytes, kinds: Sequence[np.dtype | None]) -> Any:
        """Parse the picked columns of `text`; see `tux.arrays.arrow.parse_text`."""
        layout = self.layout
        if _has_lone_return(text, layout.quotes):
            raise arrow.UnreadableText("Arrow takes a carriage return for the end of a row")
        table = arrow.parse_text(
            text, layout.width, layout.picks, kinds, layout.mark, quotes=layout.quotes
        )
        lines = text.count(b"\n")
        if table.num_rows != lines and table.num_rows != lines - len(EMPTY.findall(text)):
            raise arrow.UnreadableText("a quoted value runs over several lines")
        return table

    def _add_good_lines(self, block: bytes, number: int) -> None:
        """Append the lines of a block that are good rows. The others are noted as bad, unless they
        are blank.
        """
        good, kept = [], []
        for at, line in enumerate(block[:-1].split(b"\n"), number):
            # columns that are not picked may hold anything, as for Arrow
            text = line.decode(errors="surrogateescape").rstrip("\r")
            if self.layout.is_blank(text):
                continue
            if why := self._line_fault(text):
                self.bad.note(at, why)
            else:
                good.append(line + b"\n")
            kept.append(not why)
        try:
            if good:
                self.append(self.layout.cut(b"".join(good)), block, number, np.array(kept))
        except arrow.UnreadableText as error:
            raise DataError(
                f"cannot be read ({error})", where=self.bad.places.of(number), do=ADVICE
            ) from None
        self.rows += len(kept)

    def _line_fault(self, line: str) -> str:
        """Return the fault of a row in words, "" if it has none."""
        if self.layout.mark == UNIT and UNIT in line:
            return "a control character, 0x1F, is within the row"
        try:
            cells = split_line(line, self.layout.separator)
        except csv.Error:
            return "a quote is not closed, or not followed by a separator"
        if len(cells) != self.layout.width:
            return f"{plural(len(cells), 'column')} instead of {self.layout.width}"
        picked = [cells[at] for at in self.layout.picks]
        if not line.isascii() and any(map(BYTES.search, picked)):
            return NOT_UTF_8
        if why := self.cell_fault(picked):
            return why
        text = line.encode(errors="surrogateescape") + b"\n"
        lone = _has_lone_return(text, self.layout.quotes)
        return "a carriage return is within the row" if lone else ""


def _has_lone_return(text: bytes, quotes: bool) -> bool:
    """Return whether a carriage return is within a line of `text`, but not, with `quotes`, between
    double ones.
    """
    if text.count(b"\r") == text.count(b"\r\n"):
        return False
    return LONE.search(QUOTED.sub(b"", text) if quotes else text) is not None
