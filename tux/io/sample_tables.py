"""Samples as the rows of a table with named columns: text with any separator, packed or not, or
Parquet.

What a column of text holds is seen in the first rows: numbers if all that is there are such, else
words. A later cell that does not fit is a bad row, never a column that changes its mind. As in
`tux.io.edge_table`, only a block that fails is halved and judged line by line.
"""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.base.errors import DataError
from tux.io.cells import TextLayout, cells_of, is_row, lines_of, separator_of, split
from tux.io.entries import BagSpec
from tux.io.sample_columns import (
    ABSENT,
    GAPS,
    TRUTHS,
    Heads,
    Role,
    Rows,
    SampleTable,
    Words,
    fault,
    faulty,
    roles_of,
)
from tux.io.sample_labels import SampleLabels, line_of
from tux.io.text import ADVICE, EMPTY, NUMBER, SAMPLE, SMALL, short, text_blocks

ROW = re.compile(rb"^[^\S\n]*[^\s#%]", re.MULTILINE)  # where a line begins that is a row
JUDGED = 1000  # rows that show what the columns hold
FEW = 0.5  # of the values of a column of words: where fewer are no numbers, the user is told
CELLS = 1 << 22  # cells of a Parquet file that are read at a time
F8 = np.dtype("f8")


def read_table(asked: BagSpec, heads: Heads, *, parquet: bool) -> Rows:
    """The rows of a table, numbered from 1, bad ones counted. See `tux.io.samples.read_samples`."""
    if not parquet:
        return _read_text(asked, heads)
    try:
        return _read_parquet(asked, heads)
    except UnicodeDecodeError:  # Parquet promises, but does not check
        raise DataError("a string is not UTF-8 text", where=asked.path) from None


# ---- text


def _read_text(asked: BagSpec, heads: Heads) -> Rows:
    text: _Text | None = None
    number = 1  # of the block's first line
    for block in text_blocks(asked.path):
        rows = block
        if text is None and (begun := ROW.search(block)):
            head = block.index(b"\n", begun.start()) + 1
            rows = block[head:]
            text = _Text.begun(asked, heads, block[begun.start() : head], rows)
        if text is not None:
            text.add(rows, number + block.count(b"\n") - rows.count(b"\n"))
        number += block.count(b"\n")
    if text is None:
        raise DataError(
            f"{asked.path} is empty" if number == 1 else f"{asked.path} holds no {asked.row}"
        )
    return text.table.whole(lambda row: f"{asked.path}:{line_of(asked.path, row + 1, ROW)[0]}")


class _Text:
    """A table of text, block by block."""

    def __init__(self, table: SampleTable, layout: TextLayout, gaps: set[int]) -> None:
        self.table, self.asked, self.layout = table, table.asked, layout
        self.gaps = gaps  # columns of numbers in which some may be missing
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
        roles = [what.get(at, _kind(column)) for at, column in enumerate(columns)]
        notes = [
            _doubt(names[at], column)
            for at, column in enumerate(columns)
            if at not in what and roles[at] == "word"
        ]
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
        return cls(known, TextLayout(separator, len(names), picks, 0), gaps)

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
                    f"cannot be read ({error})", where=f"{self.asked.path}:{number}", do=ADVICE
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
        numeric = [roles[at] in ("number", "weight") for at in picks]
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
            found = _words(column.combine_chunks())
            absent = GAPS if roles[at] == "number" else ABSENT
            found = Words(
                found.codes,
                ["" if text.strip() in absent else text.strip() for text in found.texts],
            )
            if not number:
                words[at] = found
            elif any(self._fault(at, text) for text in found.texts):
                raise arrow.Unreadable("a cell that is no number")
            else:
                numbers[at] = np.array([_value(text) for text in found.texts])[found.codes]
                missing[at] = int(
                    np.count_nonzero(np.array([not text for text in found.texts])[found.codes])
                )
        return numbers, words, table.num_rows, missing

    def _fault(self, place: int, cell: str) -> str:
        """What is wrong with a cell of a column of numbers, or nothing."""
        name, role = self.table.names[place], self.table.roles[place]
        if role == "number" and cell in ("", *TRUTHS):
            return ""
        if not cell:
            return f"weight {name} is missing"
        if not NUMBER.fullmatch(cell):
            return f"{name} is {short(cell)}, not a number as in the first rows"
        return fault(self.asked, name, role, float(cell), cell)

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
        numeric = [at for at in self.layout.picks if self.table.roles[at] in ("number", "weight")]
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


def _words(column: Any) -> Words:
    """A dictionary array of strings."""
    codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return Words(codes, [text or "" for text in column.dictionary.to_pylist()])


# ---- Parquet


def _read_parquet(asked: BagSpec, heads: Heads) -> Rows:
    with arrow.parquet_file(asked.path) as file:
        schema = file.schema_arrow
        names: list[str] = list(schema.names)
        what = roles_of(names, heads, asked.path)
        roles = [
            what.get(at) or _parquet_kind(schema.field(at), asked.path) for at in range(len(names))
        ]
        for at, role in enumerate(roles):
            if role == "weight" and _parquet_kind(schema.field(at), asked.path) != "number":
                raise DataError(f"weight {names[at]} is a column of words", where=asked.path)
        if not {"number", "word"} & set(roles):
            raise DataError(
                f"no column of {asked.column}s", where=asked.path, do=f"It has {', '.join(names)}."
            )
        table, done = SampleTable(asked, names, roles), 0
        picks = [at for at, role in enumerate(roles) if role != "none"]
        for batch in file.iter_batches(
            max(1, CELLS // len(picks)), columns=[names[at] for at in picks]
        ):
            done = _add_batch(table, [(at, batch.column(names[at])) for at in picks], done)
        if not done:
            raise DataError(f"{asked.path} holds no {asked.row}")
    return table.whole(lambda row: f"{asked.path}:row {row}")


def _parquet_kind(field: Any, path: str) -> Role:
    """What a column holds, by its type."""
    kind = str(field.type)
    if found := re.match(r"dictionary<values=([^,]+),", kind):
        kind = found[1]
    if kind in ("string", "large_string", "string_view"):
        return "word"
    if kind in ("bool", "float", "double", "halffloat") or re.match(r"u?int\d+$|decimal", kind):
        return "number"
    if kind == "null":
        return "none"
    what = f"column {field.name!r} holds {field.type}, not numbers, truth values or strings"
    raise DataError(what, where=path, do="Convert it, or leave it out.")


def _add_batch(table: SampleTable, columns: list[tuple[int, Any]], done: int) -> int:
    """Append the rows of a batch but for bad ones, after `done` others; returns the number of
    rows so far.
    """
    numbers, words, rows = {}, {}, 0
    for at, column in columns:
        role = table.roles[at]
        texts = _parquet_texts(column)
        rows = len(column)
        if texts is not None:
            words[at] = texts
            continue
        if str(column.type).startswith("dictionary"):
            column = column.dictionary_decode()
        there = column.is_valid().to_numpy(zero_copy_only=False)
        if role == "label":
            labels = SampleLabels.of(
                column.fill_null(False if str(column.type) == "bool" else 0).to_numpy(
                    zero_copy_only=False
                )
            )
            words[at] = Words(np.where(there, labels.codes, -1).astype(np.int32), labels.texts)
            continue
        if role == "number":
            table.missing[table.names[at]] = table.missing.get(table.names[at], 0) + int(
                np.count_nonzero(~there)
            )
        values = column.cast("float64", safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
        numbers[at] = np.where(there, values, np.nan if role == "weight" else 0.0)
    bad = {at: faulty(table.asked, table.roles[at], values) for at, values in numbers.items()}
    keep = ~np.logical_or.reduce([np.zeros(rows, np.bool_), *bad.values()])
    for row in np.flatnonzero(~keep).tolist():
        place = next(at for at, rows_ in bad.items() if rows_[row])
        why = fault(table.asked, table.names[place], table.roles[place], float(numbers[place][row]))
        table.asked.bad.note(done + row + 1, why, "row ")
    ids = np.arange(done + 1, done + rows + 1)[keep]
    kept = {at: Words(codes[keep], texts) for at, (codes, texts) in words.items()}
    table.add(ids, {at: values[keep] for at, values in numbers.items()}, kept)
    return done + rows


def _parquet_texts(column: Any) -> Words | None:
    """The words of a column of strings; None if it has none."""
    kind = str(column.type)
    if not kind.startswith("dictionary") and "string" in kind:
        return _words(column.cast("large_string").dictionary_encode())
    return (
        _words(column)
        if kind.startswith("dictionary<values=") and "string" in kind.split(",")[0]
        else None
    )
