"""Samples as the rows of a table with named columns: text with any separator, packed or not.

The kind of a column of text is known from training, or shown by the first rows: numbers if all
cells there are numbers, else words. A later cell that does not fit makes its row a bad one; the
kind of the column does not change. `tux.io.source.table_text` says how text is parsed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tux.arrays import arrow
from tux.arrays.arrow_values import to_numpy
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.bags.entries import BagSpec
from tux.io.edges.columns import plain_name
from tux.io.samples.columns import SampleRows, SampleTable, TableRead
from tux.io.samples.crossed import Words
from tux.io.samples.doubts import column_doubt, gap_words_note
from tux.io.samples.labels import line_of
from tux.io.samples.options import SampleOptions
from tux.io.samples.roles import (
    CALLED,
    CODED,
    NUMBERS,
    TRUTHS,
    USUAL,
    Role,
    faulty_values,
    known_kinds,
    roles_of,
    value_fault,
)
from tux.io.source.cells import DECIMAL, THOUSANDS, TextLayout, cells_of
from tux.io.source.first_lines import FirstLines, first_lines, rows_of
from tux.io.source.row_one import GAPS, has_names
from tux.io.source.table_lines import JUDGED, FirstRows, TableLines, first_rows, with_row_names
from tux.io.source.table_text import TableText
from tux.io.source.text import (
    NUMBER,
    NUMERIC,
    Begin,
    Tell,
    cut_word,
    not_number,
    quote_word,
    text_blocks,
)

ROW = re.compile(rb"^[^\S\n]*\S", re.MULTILINE)  # the beginning of a line that is a row
TABS = re.compile(rb"^(?:[^\S\n]*\S| *\t)", re.MULTILINE)  # `ROW` if cells are cut by tabs
F8 = np.dtype("f8")
EMPTY_COLUMN = {"", "NA", "N/A", "null", "NULL"}
"""The cells of a column of numbers that are all missing."""


def read_text_table(asked: BagSpec, how: SampleOptions) -> SampleRows:
    """Read the rows of a table of text, numbered from 1, bad ones counted. See
    `tux.io.samples.samples.read_samples`.
    """
    found = text_table(asked, how, asked.path)
    return found.table.whole(found.where)


def text_table(
    asked: BagSpec, how: SampleOptions, whole: str, tell: Tell | None = None
) -> TableRead:
    """Read the rows of a table of text, of all files or of a share of the `whole`, whose first rows
    show the columns. `tell` is called with the amount read.
    """
    first = first_lines(whole, JUDGED + 1)
    if (seen := first_rows(first, 2)) is None:
        raise DataError(
            f"{asked.path} holds no {asked.row}" if first.text else f"{asked.path} is empty",
            do=f"Give a table with a line of names and a row for each {asked.row}.",
        )
    seen, title = _with_names(seen, how, first, asked)
    text = _SampleText.from_first_rows(asked, how, seen)
    lines = TableLines(text.layout, title)
    begin = _beginning(lines, text.table.names, text.table.roles, first.path)

    def place_in(path: str, row: int) -> str:
        again = TableLines(text.layout, title)
        rows = TABS if seen.separator == "\t" else ROW
        return line_of(path, row, rows, begin, again.blocks).place

    _check_decimals(text, seen, lambda row: place_in(whole, row))
    number, size = 1, 0  # of the block's first line; of what is read
    for block in lines.blocks(text_blocks(asked.path, asked.bad.places, begin)):
        text.add(block, number)
        number += block.count(b"\n")
        size += len(block)
        if tell:
            tell(size, asked.bad.places.pieces - 1)
    text.table.facts = text.table.facts._replace(passed=lines.line_counts)
    return TableRead(text.table, text.rows, lambda row: place_in(asked.path, row))


def _with_names(
    seen: FirstRows, how: SampleOptions, first: FirstLines, asked: BagSpec
) -> tuple[FirstRows, bytes]:
    """Return the first rows, with the names of columns before them, and the line of names: the
    first row, or the last comment before it. Raises DataError if neither is one of names.
    """
    cells = seen.table[0]
    known = {plain_name(name) for name in (*USUAL, how.label or "", how.weight or "") if name}
    said = how.label in cells and _is_new(how.label, seen)
    if len(cells) > 1 and (said or has_names(seen.table, known)):
        return seen, seen.title_line(first)
    if seen.width > 1 and (title := seen.title_of(known)):
        return seen._replace(table=[title, *seen.table]), b""
    rule = f"A table has a line of names, such as a,b,label, and one row for each {asked.row}."
    raise DataError(
        f"{quote_word(','.join(cells))} is no line of column names", where=first.place, do=rule
    )


def _is_new(label: str | None, seen: FirstRows) -> bool:
    """Return whether the name of the column of labels stands in no other row of that column."""
    at = seen.table[0].index(str(label))
    return all(row[at] != label for row in seen.table[1:] if len(row) == len(seen.table[0]))


def _beginning(lines: TableLines, names: Sequence[str], roles: Sequence[Role], first: str) -> Begin:
    """Make the function that finds the end of what is passed over at the beginning of a file:
    comments and the line of names.

    The function raises `DataError` for another such line than that of the file `first`, if `roles`
    show that it is no row.
    """

    def begin(block: bytes, path: str) -> int | None:
        if (start := lines.begin(block)) is None:
            return None
        row = rows_of(block[start:], 1, marked=True)[0]
        cells = cells_of(row.line, lines.layout.separator)
        if with_row_names([cells, names])[0] == list(names):
            return start + row.end
        numbers = any(role in NUMBERS for role in roles)
        known = any(NUMBER.fullmatch(cell) or cell in (*GAPS, *TRUTHS) for cell in cells)
        same = sorted(cells) == sorted(names)  # in another order
        if path != first and (same or (numbers and not known)):
            raise DataError(
                f"the columns of {path} are {cut_word(','.join(cells))}, but {first} begins with "
                f"{cut_word(','.join(names))}",
                do="Give all files the same line of names, or the first one alone.",
            )
        return start

    return begin


class _SampleText(TableText):
    """A table of text, block by block."""

    def __init__(
        self, table: SampleTable, layout: TextLayout, gaps: set[int], before: Mapping[int, Role]
    ) -> None:
        super().__init__(table.asked.bad, layout)
        self.table, self.asked = table, table.asked
        self.gaps = gaps  # columns of numbers in which some may be missing
        self.before = before  # the kinds of columns in training, if they are known
        self.absent = set[int]()  # columns in which words such as NA stand for missing values

    @classmethod
    def from_first_rows(cls, asked: BagSpec, how: SampleOptions, seen: FirstRows) -> _SampleText:
        """Begin the table that the line of names and the first rows show."""
        names, columns = seen.table[0], _columns(seen)
        what = roles_of(names, how, asked.path)
        before = known_kinds(names, how.known_features(asked.column))
        told = before | what
        roles = [told.get(at) or _kind(column) for at, column in enumerate(columns)]
        words = [at for at, role in enumerate(roles) if role == "word"]
        notes = [column_doubt(names[at], columns[at]) for at in words if at not in told]
        labels = [
            at for at, role in enumerate(roles) if role == "label" and _kind(columns[at]) == "word"
        ]
        notes += [gap_words_note(names[at], columns[at]) for at in (*words, *labels)]
        picks = [at for at, role in enumerate(roles) if role != "none"]
        layout = seen.layout(picks)._replace(width=len(names), header=names)
        if not {"number", "word"} & set(roles):
            raise DataError(
                f"no column of {plural_noun(asked.column)}",
                where=asked.path,
                do=f"It has {', '.join(names)}.",
            )
        gaps = {at for at, column in enumerate(columns) if not all(map(NUMBER.fullmatch, column))}
        known = SampleTable(asked, names, roles, how)
        known.facts.notes.extend(note for note in notes if note)
        text = cls(known, layout, gaps, before)
        text.absent = {
            at
            for at, role in enumerate(roles)
            if role in NUMBERS or (role in CODED and _kind(columns[at]) == "number")
        }
        return text

    def append(self, text: bytes, block: bytes, number: int, kept: np.ndarray | None = None) -> int:
        """Append rows, with their numbers as ids."""
        try:
            numbers, words, rows, missing = self._columns(text, self.gaps)
        except arrow.UnreadableText:
            places = set(self.layout.picks)
            if places <= self.gaps:
                raise
            numbers, words, rows, missing = self._columns(text, places)
            self.gaps = places  # it was only that numbers are missing
        ids = self.rows + 1 + (np.arange(rows) if kept is None else np.flatnonzero(kept))
        self.table.add(ids, numbers, words, missing)
        return rows

    def _columns(
        self, text: bytes, gaps: set[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, Words], int, dict[int, np.ndarray]]:
        """Parse the columns of numbers and of words. Returns them, the number of rows, and the
        missing numbers of each column (rows,) bool.

        Only columns in `gaps` may have missing numbers; they are read as words first.
        """
        picks, roles = self.layout.picks, self.table.roles
        numeric = [roles[at] in NUMBERS for at in picks]
        kinds = [
            F8 if number and at not in gaps else None
            for at, number in zip(picks, numeric, strict=True)
        ]
        table = self.parse(text, kinds)
        numbers, words, missing = {}, {}, {}
        for at, kind, number, column in zip(picks, kinds, numeric, table.columns, strict=True):
            if kind is not None:
                numbers[at] = to_numpy(column)
                if faulty_values(self.asked, roles[at], numbers[at], self.table.least).any():
                    raise arrow.UnreadableText("a number that may not be")
                continue
            cells = Words.of(column.combine_chunks())
            texts = [text.strip() for text in cells.texts]
            if at in self.absent:
                texts = ["" if text in GAPS else text for text in texts]
            cells = Words(cells.codes, texts)
            if not number:
                words[at] = cells
            elif any(self._fault(at, text) for text in cells.texts):
                raise arrow.UnreadableText("a cell that is no number")
            else:
                numbers[at] = np.array([_value(text) for text in cells.texts])[cells.codes]
                missing[at] = ~cells.mask_words()
        return numbers, words, table.num_rows, missing

    def _fault(self, place: int, cell: str) -> str:
        """Return the fault of a cell of a column of numbers in words, "" if it has none."""
        name, role = self.table.names[place], self.table.roles[place]
        if role == "number" and cell in ("", *TRUTHS):
            return ""
        if not cell:
            return f"{CALLED[role]}{name} is missing"
        if not NUMBER.fullmatch(cell) and role != "target":
            why = f"{name} is {not_number(cell, whole=False)}"
            others = "training" if place in self.before else "the first rows"
            return why if DECIMAL.fullmatch(cell) else f"{why} as in {others}"
        number = float(cell) if NUMBER.fullmatch(cell) else math.nan
        return value_fault(self.asked, name, role, number, self.table.least, cell)

    def cell_fault(self, cells: Sequence[str]) -> str:
        """Return the fault of a row, "" if it has none."""
        for at, cell in zip(self.layout.picks, map(str.strip, cells), strict=True):
            numeric = self.table.roles[at] in NUMBERS
            if numeric and (why := self._fault(at, "" if cell in GAPS else cell)):
                return why
        return ""


def _kind(cells: list[str]) -> Role:
    """Return the kind of a column, from its cells that are not empty."""
    known = [cell for cell in cells if cell not in GAPS]
    if not known and set(cells) - EMPTY_COLUMN:
        return "word"  # such as "None" alone
    return (
        "number"
        if all(map(NUMBER.fullmatch, known)) or all(cell in TRUTHS for cell in known)
        else "word"
    )


def _columns(seen: FirstRows) -> list[list[str]]:
    """Return the columns below the names, of rows that are as wide."""
    names, *rest = seen.table
    table = [row for row in rest if len(row) == len(names)]
    return [[*column] for column in zip(*table, strict=True)] or [[] for _ in names]


def _check_decimals(text: _SampleText, seen: FirstRows, place: Callable[[int], str]) -> None:
    """Raise DataError for a column of words that would be one of numbers without decimal commas or
    commas between thousands.
    """
    for at, column in enumerate(_columns(seen)):
        known = [cell for cell in column if cell not in GAPS]
        if text.table.roles[at] != "word" or at in text.before or not known:
            continue
        if all(map(THOUSANDS.fullmatch, known)) or all(map(NUMERIC.fullmatch, known)):
            rows = enumerate(seen.table[1:], 1)
            row, cell = next(
                (row, cells[at])
                for row, cells in rows
                if at < len(cells) and "," in cells[at] and cells[at] in known
            )
            name = text.table.names[at]
            raise DataError(
                f"{name} is {not_number(cell, whole=False)}",
                where=place(row),
                do="Write all numbers with a point, and without commas between thousands.",
            )


def _value(cell: str) -> float:
    return TRUTHS[cell] if cell in TRUTHS else float(cell) if cell else 0.0
