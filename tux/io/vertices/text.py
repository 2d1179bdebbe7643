"""Tables of vertices as text: a line of names, and a line for each vertex, cut by any separator,
packed or not.

`tux.io.source.table_text` says how text is parsed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.base.errors import DataError
from tux.io.edges.columns import plain_name
from tux.io.source.cells import DECIMAL, THOUSANDS, TextLayout, lines_of
from tux.io.source.first_lines import first_lines
from tux.io.source.input_files import pieces_of
from tux.io.source.row_one import GAPS, has_names, may_be_names
from tux.io.source.table_lines import JUDGED, FirstRows, LineCounts, TableLines, first_rows
from tux.io.source.table_text import TableText
from tux.io.source.text import (
    EMPTY,
    NUMBER,
    BadRows,
    Tell,
    doubt_of_row,
    quote_word,
    text_blocks,
)

F8 = np.dtype("f8")
NO_LINES = np.empty(0, np.int64)


class TableHead(NamedTuple):
    """The names of the columns, empty if the first row is none of names; the first rows of so many
    cells; and their `width`.
    """

    names: list[str]
    rows: list[list[str]]
    width: int

    def numeric(self, at: int) -> bool:
        """Return whether column `at` seems to hold numbers, of which some may be missing."""
        cells = [row[at] for row in self.rows if row[at] not in GAPS]
        return bool(cells or not self.rows) and all(map(NUMBER.fullmatch, cells))


class TextColumns(NamedTuple):
    """The columns of good rows, by name, the line of each row, counts of lines that were passed
    over, and a sentence where the first row may be one of names.
    """

    columns: dict[str, arrow.Column]
    lines: np.ndarray  # (n,) int64
    passed: LineCounts
    doubt: tuple[str, ...]


def columns_without_names(width: int) -> list[str]:
    """Return names for the columns of a table that has no line of names."""
    return [f"column {at + 1}" for at in range(width)]


Kinds = dict[str, np.dtype | None]
"""The columns to read, by name: the dtype of numbers, or None for ids and words."""


def read_text(
    bad: BadRows,
    choose: Callable[[TableHead], Kinds],
    known: Collection[str],
    row: str = "row",
    whole: str = "",
    tell: Tell | None = None,
) -> TextColumns:
    """Read the columns of a file of text that `choose` names. `known` are names that the line of
    names may have; messages call a row `row`. A row is bad if it has another width, an empty cell
    in one of these columns, or a number that is none or is not finite.

    `bad.path` may be a share of the `whole` file, whose first lines show the table. `tell` is
    called with the amount read.
    """
    first = first_lines(whole or bad.path, JUDGED)
    if (seen := first_rows(first, 2)) is None:
        what = "has comments alone" if first.text.strip() else "is empty"
        raise DataError(f"{bad.path} {what}", do="A table has a line of names.")
    names = {plain_name(name) for name in known}
    titled = has_names(seen.table, names)
    if not titled and (title := seen.title_of(names)):
        text = _begin_table(seen._replace(table=[title, *seen.table]), True, bad, choose)
    else:
        text = _begin_table(seen, titled, bad, choose)
    passed = _read_blocks(text, seen.title_line(first) if titled else b"", tell)
    doubt: tuple[str, ...] = ()
    if not titled and may_be_names(seen.table):
        doubt = (doubt_of_row(1, ", ".join(seen.table[0]), row, "is one of names"),)
    columns = dict(zip(text.kinds, text.pieces.columns(), strict=True))
    return TextColumns(columns, np.concatenate([NO_LINES, *text.lines]), passed, doubt)


def _read_blocks(text: _VertexText, title: bytes, tell: Tell | None) -> LineCounts:
    """Read the rows of a table, whose line of names is `title`, if it has one. Return counts of
    lines that were passed over.
    """
    lines = TableLines(text.layout, title)
    number, size = 1, 0  # of the block's first line; what is read
    begins = any(piece.begin == 0 != piece.end for piece in pieces_of(text.bad.path))
    blocks = text_blocks(text.bad.path, text.bad.places)
    for block in lines.of_file(blocks) if begins else lines.blocks(blocks):
        text.add(block, number)
        number += block.count(b"\n")
        size += len(block)
        if tell:
            tell(size, text.bad.places.pieces - 1)
    lines.repeated -= bool(title) and begins
    return lines.line_counts


def _begin_table(
    seen: FirstRows, titled: bool, bad: BadRows, choose: Callable[[TableHead], Kinds]
) -> _VertexText:
    """Begin the table that the first rows show."""
    names = seen.table[0] if titled else []
    width = len(names) or seen.width
    rows = [row for row in seen.table[titled:] if len(row) == width]
    head = TableHead(names, rows, width)
    kinds = choose(head)
    places = names or columns_without_names(width)
    picks = [places.index(name) for name in kinds]
    for at, (name, kind) in zip(picks, kinds.items(), strict=True):
        if kind is not None and head.rows and not any(NUMBER.fullmatch(r[at]) for r in head.rows):
            cells = [row[at] for row in head.rows]
            commas = all(DECIMAL.fullmatch(cell) or THOUSANDS.fullmatch(cell) for cell in cells)
            raise DataError(
                f"column {name!r} holds words, such as {quote_word(cells[0])}, not numbers",
                where=bad.path,
                do="Write numbers with a decimal point, and without commas between thousands."
                if commas
                else 'Declare the field as whole numbers, as in data("i4"), to number the words.',
            )
    return _VertexText(bad, seen.layout(picks)._replace(width=width), kinds)


class _VertexText(TableText):
    """A table of text of vertices."""

    def __init__(self, bad: BadRows, layout: TextLayout, kinds: Kinds) -> None:
        super().__init__(bad, layout, kinds.values())
        self.kinds, self.pieces = kinds, arrow.Pieces([*kinds.values()])
        self.lines: list[np.ndarray] = []

    def append(self, text: bytes, block: bytes, number: int, kept: np.ndarray | None = None) -> int:
        """Append rows, and the numbers of their lines."""
        if kept is None and not EMPTY.search(text):
            lines = np.arange(number, number + block.count(b"\n"))
        else:
            there = enumerate(lines_of(block), number)
            lines = np.array([at for at, line in there if not self.layout.is_blank(line)], np.int64)
            lines = lines if kept is None else lines[kept]
        table = self.parse(text, [*self.kinds.values()])
        if table.num_rows != len(lines):
            raise arrow.UnreadableText("a quoted value runs over several lines")
        self.pieces.add(table)
        self.lines.append(lines)
        return len(lines)

    def cell_fault(self, cells: Sequence[str]) -> str:
        """Return the fault of a row, "" if it has none."""
        for cell, (name, kind) in zip(cells, self.kinds.items(), strict=True):
            if not cell.strip():
                return f"{name} is missing"
            cell = cell.strip(" \t")
            if kind is not None and not NUMBER.fullmatch(cell):
                return f"{name} is {quote_word(cell)}, not a number"
            if kind is not None and not np.isfinite(float(cell)):
                return f"{name} is {cell}, not finite"
        return ""
