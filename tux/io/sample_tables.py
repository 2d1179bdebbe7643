"""Samples as the rows of a table with named columns: text with any separator, packed or not.

What a column of text holds is known from training, or seen in the first rows: numbers if all that
is there are such, else words. A cell that does not fit is a bad row, never a column that changes
its mind. As in
`tux.io.edge_table`, only a block that fails is halved and judged line by line.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from tux.arrays import arrow
from tux.base.errors import DataError
from tux.io.cells import DECIMAL, TextLayout, cells_of, is_row, lines_of, separator_of, split
from tux.io.entries import BagSpec
from tux.io.first_lines import first_lines, rows_of
from tux.io.sample_columns import (
    ABSENT,
    CALLED,
    GAPS,
    NUMBERS,
    TRUTHS,
    Heads,
    Role,
    Rows,
    SampleTable,
    Words,
    fault,
    faulty,
    kinds_before,
    roles_of,
)
from tux.io.sample_labels import line_of
from tux.io.text import (
    ADVICE,
    EMPTY,
    NUMBER,
    NUMERIC,
    SAMPLE,
    SMALL,
    Begin,
    cut,
    not_number,
    short,
    text_blocks,
)

ROW = re.compile(rb"^[^\S\n]*[^\s#%]", re.MULTILINE)  # where a line begins that is a row
JUDGED = 1000  # rows that show what the columns hold
FEW = 0.5  # of the values of a column of words: where fewer are no numbers, the user is told
F8 = np.dtype("f8")


def read_text_table(asked: BagSpec, heads: Heads) -> Rows:
    """The rows of a table of text, numbered from 1, bad ones counted. See
    `tux.io.samples.read_samples`.
    """
    lines = first_lines(asked.path, JUDGED + 1)
    if (begun := ROW.search(lines.text)) is None:
        raise DataError(
            f"{asked.path} holds no {asked.row}" if lines.text else f"{asked.path} is empty"
        )
    head = lines.text.index(b"\n", begun.start()) + 1
    title, rows = lines.text[begun.start() : head], lines.text[head:]
    text = _Text.begun(asked, heads, title, rows)
    begin = _beginning(text.table.names, text.layout.separator, text.table.roles, lines.path)
    number = 1  # of the block's first line
    for block in text_blocks(asked.path, asked.bad.places, begin):
        text.add(block, number)
        number += block.count(b"\n")
    return text.table.whole(lambda row: line_of(asked.path, row, ROW, begin).place)


def _beginning(
    names: Sequence[str], separator: str, roles: Sequence[Role] = (), first: str = ""
) -> Begin:
    """What is passed over where a file begins: the line of names.

    The function raises `DataError` for another such line than that of the file `first`, where
    `roles` tell that it is no row.
    """

    def begin(block: bytes, path: str) -> int | None:
        rows = rows_of(block, 1)
        cells = cells_of(rows[0].line, separator) if rows else []
        if not rows or cells == list(names):
            return rows[0].end if rows else None
        numbers = any(role in NUMBERS for role in roles)
        known = any(NUMBER.fullmatch(cell) or cell in (*GAPS, *TRUTHS) for cell in cells)
        if path != first and numbers and not known:
            raise DataError(
                f"the columns of {path} are {cut(','.join(cells))}, but {first} begins with "
                f"{cut(','.join(names))}",
                do="Give all files the same line of names, or the first one alone.",
            )
        return 0

    return begin


class _Text:
    """A table of text, block by block."""

    def __init__(
        self, table: SampleTable, layout: TextLayout, gaps: set[int], before: Mapping[int, Role]
    ) -> None:
        self.table, self.asked, self.layout = table, table.asked, layout
        self.gaps = gaps  # columns of numbers in which some may be missing
        self.before = before  # what columns held in training, if that is known
        self.rows = 0

    @classmethod
    def begun(cls, asked: BagSpec, heads: Heads, head: bytes, rows: bytes) -> _Text:
        """The table that the line of names and the first block of rows show."""
        try:
            title = head.decode().strip("\r\n")
        except UnicodeDecodeError:
            raise DataError(
                "the names of the columns are not UTF-8 text", where=asked.path
            ) from None
        lines = list(islice((line for line in lines_of(rows) if is_row(line)), JUDGED))
        separator, _ = separator_of([title, *lines[:SAMPLE]], 2)
        names = cells_of(title, separator)
        if len(names) < 2 or all(NUMBER.fullmatch(name) for name in names):
            rule = f"A table has a line of names, and one row for each {asked.row}."
            raise DataError(f"{short(title)} is no line of column names", where=asked.path, do=rule)
        what = roles_of(names, heads, asked.path)
        table = [cells for line in lines if len(cells := cells_of(line, separator)) == len(names)]
        columns = [
            [cell for cell in column if cell not in ABSENT] for column in zip(*table, strict=True)
        ] or [[] for _ in names]
        before = kinds_before(names, heads.known)
        told = before | what
        roles = [told.get(at) or _kind(column) for at, column in enumerate(columns)]
        notes = [
            _doubt(names[at], column)
            for at, column in enumerate(columns)
            if at not in told and roles[at] == "word"
        ]
        for at, column in enumerate(columns):
            if roles[at] == "word" and at not in before and _decimal(column):
                raise _decimal_comma(asked, names, at, lines, separator)
        if not {"number", "word"} & set(roles):
            raise DataError(
                f"no column of {asked.column}s", where=asked.path, do=f"It has {', '.join(names)}."
            )
        gaps = {
            at
            for at, column in enumerate(columns)
            if len(column) < len(table) or not all(map(NUMBER.fullmatch, column))
        }
        picks = [at for at, role in enumerate(roles) if role != "none"]
        known = SampleTable(asked, names, roles)
        known.notes = [note for note in notes if note]
        return cls(known, TextLayout(separator, len(names), picks), gaps, before)

    def add(self, block: bytes, number: int) -> None:
        """Append the rows of a block of lines, the first of them line `number`; if it fails by
        halves, a small one by its good lines.
        """
        text = self.layout.cut(block)
        if not text or text.isspace():
            return
        try:
            count = self._add(text)
        except arrow.Unreadable:
            half = block.find(b"\n", len(block) // 2) + 1
            if len(block) > SMALL and half < len(block):
                self.add(block[:half], number)
                self.add(block[half:], number + block.count(b"\n", 0, half))
                return
            good, ids = self._good(block, number)
            count = int(ids[-1]) - self.rows if len(ids) else 0
            try:
                if good:
                    self._add(self.layout.cut(good), ids[:-1])
            except arrow.Unreadable as error:
                raise DataError(
                    f"cannot be read ({error})", where=self.asked.bad.places.of(number), do=ADVICE
                ) from None
        self.rows += count

    def _add(self, text: bytes, ids: np.ndarray | None = None) -> int:
        """Append rows that are all good, else raise `Unreadable` and append none. Returns their
        number.
        """
        try:
            numbers, words, rows, missing = self._columns(text, self.gaps)
        except arrow.Unreadable:
            places = set(self.layout.picks)
            if places <= self.gaps:
                raise
            numbers, words, rows, missing = self._columns(text, places)
            self.gaps = places  # it was only that numbers are missing
        self.table.add(
            np.arange(self.rows + 1, self.rows + rows + 1) if ids is None else ids, numbers, words
        )
        for at, count in missing.items():
            name = self.table.names[at]
            self.table.missing[name] = self.table.missing.get(name, 0) + count
        return rows

    def _columns(
        self, text: bytes, gaps: set[int]
    ) -> tuple[dict[int, np.ndarray], dict[int, Words], int, dict[int, int]]:
        """The columns of numbers and of words, how many rows they have, and how many numbers are
        missing in each.

        Those in `gaps` are read with care.
        """
        picks, roles, separator = self.layout.picks, self.table.roles, self.layout.separator
        numeric = [roles[at] in NUMBERS for at in picks]
        kinds = [
            F8 if number and at not in gaps else None
            for at, number in zip(picks, numeric, strict=True)
        ]
        separator = "\x1f" if separator == "::" else separator
        table = arrow.parse_text(
            text, self.layout.width, picks, kinds, separator, quotes=self.layout.quotes
        )
        lines = text.count(b"\n")
        if table.num_rows != lines and table.num_rows != lines - len(EMPTY.findall(text)):
            raise arrow.Unreadable("a quoted value runs over several lines")
        numbers, words, missing = {}, {}, {}
        for at, kind, number, column in zip(picks, kinds, numeric, table.columns, strict=True):
            if kind is not None:
                numbers[at] = column.to_numpy()
                if faulty(self.asked, roles[at], numbers[at]).any():
                    raise arrow.Unreadable("a number that may not be")
                continue
            cells = Words.of(column.combine_chunks())
            absent = GAPS if roles[at] == "number" else ABSENT
            cells = Words(
                cells.codes,
                ["" if text.strip() in absent else text.strip() for text in cells.texts],
            )
            if not number:
                words[at] = cells
            elif any(self._fault(at, text) for text in cells.texts):
                raise arrow.Unreadable("a cell that is no number")
            else:
                numbers[at] = np.array([_value(text) for text in cells.texts])[cells.codes]
                missing[at] = int(
                    np.count_nonzero(np.array([not text for text in cells.texts])[cells.codes])
                )
        return numbers, words, table.num_rows, missing

    def _fault(self, place: int, cell: str) -> str:
        """What is wrong with a cell of a column of numbers, or nothing."""
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
        return fault(self.asked, name, role, number, cell)

    def _good(self, block: bytes, number: int) -> tuple[bytes, np.ndarray]:
        """The lines that are rows as they should be, and their ids, and after these that of the
        block's last row; bad rows are noted.
        """
        good, ids, row = [], [], self.rows
        for at, line in enumerate(block[:-1].split(b"\n"), number):
            why = ""
            try:
                text = line.decode().removesuffix("\r")
            except UnicodeDecodeError:
                text, why = "?", "the line is not UTF-8 text"
            if not is_row(text):
                continue
            row += 1
            if why := why or self._row_fault(text):
                self.asked.bad.note(at, why)
            else:
                good.append(line + b"\n")
                ids.append(row)
        return b"".join(good), np.array([*ids, row], np.int64)

    def _row_fault(self, line: str) -> str:
        """What is wrong with a row, or nothing."""
        try:
            cells = [cell.strip() for cell in split(line, self.layout.separator)]
        except csv.Error:
            return "a quote is not closed, or not followed by a separator"
        if len(cells) != self.layout.width:
            return f"{len(cells)} columns instead of {self.layout.width}"
        numeric = [at for at in self.layout.picks if self.table.roles[at] in NUMBERS]
        gaps = {at: GAPS if self.table.roles[at] == "number" else ABSENT for at in numeric}
        faults = (self._fault(at, "" if cells[at] in gaps[at] else cells[at]) for at in numeric)
        return next((why for why in faults if why), "")


def _kind(cells: list[str]) -> Role:
    """What a column holds, by those of its cells that are not empty."""
    known = [cell for cell in cells if cell not in GAPS]
    if not known and cells:
        return "word"  # such as "None" alone
    return (
        "number"
        if all(map(NUMBER.fullmatch, known)) or all(cell in TRUTHS for cell in known)
        else "word"
    )


def _decimal(cells: list[str]) -> bool:
    """Whether a column that is not one of numbers would be, if they had no decimal comma."""
    known = [cell for cell in cells if cell not in GAPS]
    return bool(known) and all(map(NUMERIC.fullmatch, known))


def _decimal_comma(
    asked: BagSpec, names: list[str], at: int, lines: list[str], separator: str
) -> DataError:
    """The error about the decimal commas of column `at`; `lines` are the first rows."""
    cells = [cells_of(line, separator) for line in lines]
    row, cell = next(
        (row, each[at])
        for row, each in enumerate(cells, 1)
        if len(each) > at and DECIMAL.fullmatch(each[at])
    )
    return DataError(
        f"{names[at]} is {not_number(cell, whole=False)}",
        where=line_of(asked.path, row, ROW, _beginning(names, separator)).place,
        do="Write all numbers with a point.",
    )


def _doubt(name: str, cells: list[str]) -> str:
    """What a user should know of a column of words that are mostly numbers, or nothing."""
    known = [cell for cell in cells if cell not in GAPS]
    others = [cell for cell in known if not NUMBER.fullmatch(cell)]
    if not others or len(others) >= FEW * len(known):
        return ""
    what = (
        f"column {name} is read as words, one feature each: {len(known) - len(others):,} of its "
        f"first {len(known):,} values are numbers"
    )
    return (
        f"{what}, but {short(others[0])} is not; leave the cell empty if it stands for a missing "
        "number"
    )


def _value(cell: str) -> float:
    return TRUTHS[cell] if cell in TRUTHS else float(cell) if cell else 0.0
