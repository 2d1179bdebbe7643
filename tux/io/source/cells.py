"""Lines of text, cut into the cells of a table by whatever separates them."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

BLANKS = " "  # stands for runs of blanks and tabs
SEPARATORS = ("\t", ",", ";", "::", "|", BLANKS)  # in order of preference
UNIT = "\x1f"  # stands for "::", as Arrow takes separators of one byte alone
MARK = b"\xef\xbb\xbf"  # of byte order, with which some programs begin a text
DECIMAL = re.compile(r"[+-]?\d+,\d+", re.ASCII)  # a number with a decimal comma
DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ]\d.*)?", re.ASCII)
THOUSANDS = re.compile(r"[+-]?(\d{1,3}(,\d{3})+(\.\d*)?|\d{1,3})", re.ASCII)  # such as 1,000
MAX_QUOTED_LINE = (
    1 << 16
)  # characters of a line, beyond which quotes between blanks are not looked for
BLANK_CELL = re.compile(r'"((?:[^"]|"")*)"(?=[ \t]|$)|([^ \t]+)')  # cut by blanks; quoted, or not
ADDRESSES = re.compile(r"\S\s+\w+://")  # one behind a blank, and what stands before it
RETURNS = re.compile(rb"(?<!\r)\r++\n")
APART = re.compile(r"[#%]+")  # marks of comments that belong to no word


class TextLayout(NamedTuple):
    """The layout of the lines of one file: their separator and their columns."""

    separator: str
    width: int  # columns of every line
    picks: list[int]  # 0-based places of the wanted columns
    header: Sequence[str] = ()  # the names in the first row, if it is one of names
    names: Mapping[str, str] = {}  # see `tux.arrays.edges.EdgeData.columns`
    numbered: bool = False  # the first column holds numbers: # and % are no parts of its cells
    leading: bool = False  # rows that begin with # or % stand before all others
    quoted: bool = False  # cells that blanks cut stand in double quotes, as R writes words

    @property
    def mark(self) -> str:
        """The separator that stands between the cells of what `cut` returns."""
        return UNIT if self.separator == "::" else self.separator

    @property
    def quotes(self) -> bool:
        """True if a column may stand in double quotes."""
        return has_quotes(self.separator) or self.quoted

    def is_blank(self, line: str) -> bool:
        """Return whether a line is blank. A line of tabs that separate cells is none: its cells are
        missing.
        """
        return not line.strip() and not (self.separator == "\t" and "\t" in line)

    def fits(self, line: str) -> bool:
        """Return whether a line that begins with # or % has the cells of a row: see
        `tux.io.source.table_lines`.
        """
        if self.numbered:
            return False
        cells = cells_of(line, self.separator)
        apart = self.separator == BLANKS and APART.fullmatch(cells[0])
        return len(cells) == self.width and not apart

    def cut(self, text: bytes) -> bytes:
        """Cut whole lines of the file into cells. Returns the same lines with separators of one
        byte between the cells, and without runs of blanks.
        """
        if self.separator == BLANKS:
            text = text.replace(b"\t", b" ").replace(b"\r\n", b"\n")
            text = RETURNS.sub(b"\n", text) if b"\r\n" in text else text
            while b"  " in text:
                text = text.replace(b"  ", b" ")
            return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
        if self.separator == "::":
            return text.replace(b"::", UNIT.encode())
        if b'"' in text and (b' "' in text or b'\t"' in text):  # Arrow trims blanks behind quotes
            return without_padding(text, self.separator)
        return text


def has_quotes(separator: str) -> bool:
    """Return whether cells that are cut by a separator may stand in double quotes, whatever the
    rows are.
    """
    return len(separator) == 1 and separator != BLANKS


def split_line(line: str, separator: str) -> list[str]:
    """Split a line into its cells as they stand there. Raises `csv.Error` if a quote is not
    closed.
    """
    if separator == BLANKS:
        if '"' not in line or len(line) > MAX_QUOTED_LINE:
            return re.findall(r"[^ \t]+", line)
        return [bare or inner.replace('""', '"') for inner, bare in BLANK_CELL.findall(line)]
    if len(separator) > 1 or '"' not in line:
        return line.split(separator) if line else []
    plain = without_padding(line.encode(errors="surrogateescape"), separator)
    line = plain.decode(errors="surrogateescape")
    return next(csv.reader([line], delimiter=separator, strict=True), [])


def without_padding(text: bytes, separator: str) -> bytes:
    """Remove the blanks between a separator and the quotes of a cell from whole lines, as in ``ann,
    "tea, green", 4``. A quote that does not close the cell is one of its letters.
    """
    return _quoted_cell_pattern(separator).sub(rb"\1\2", text)


@cache
def _quoted_cell_pattern(separator: str) -> re.Pattern[bytes]:
    """Return the pattern of cells in quotes, with the separator before them and blanks around them.
    Cells without such blanks match too, as within their quotes there may be text that looks like a
    cell with blanks.
    """
    mark, blanks = re.escape(separator.encode()), b" " if separator == "\t" else b" \t"
    cell = rb"(^|%b)[%b]*(\"(?:[^\"\n]|\"\")*\")[%b]*(?=%b|\r?$)" % (mark, blanks, blanks, mark)
    return re.compile(cell, re.MULTILINE)


def lines_of(block: bytes) -> Iterator[str]:
    """Yield the lines of a block that ends in a newline, without their ends."""
    start = 0
    while end := block.find(b"\n", start) + 1:
        yield block[start : end - 1].decode(errors="replace").removesuffix("\r")
        start = end


def is_marked(line: str) -> bool:
    """Return whether a line begins with # or %, as comments do. A mark after a tab is in the second
    cell, and counts only if a blank follows it.
    """
    text, behind = line.lstrip(" "), line.lstrip(" \t")
    if text.startswith("\t") and behind[1:2].isspace():  # "# words" behind a tab are no cell
        text = behind
    return text[:1] in ("#", "%") and not text.startswith("#N/A")


def separator_of(
    lines: list[str], needed: int, among: Sequence[str] = SEPARATORS
) -> tuple[str, int]:
    """Find the separator that cuts most lines into one number of columns, at least `needed` if any
    separator does, and return it and that number. A comma is not taken where it is a decimal comma
    between semicolons, if these are `among` the separators too.
    """
    best = ((0, False, 0), BLANKS, 1)
    for rank, separator in enumerate(among):
        widths = Counter(len(_whole_cells(line, separator)) for line in lines)
        width, times = widths.most_common(1)[0]
        if separator == "::" and width == 2:  # it stands within words, as in std::map
            rank = len(SEPARATORS)
        best = max(best, ((times if width >= needed else 0, width > 1, -rank), separator, width))
    if best[1] == "\t" and (other := _before_tabs(lines, best[2], among)):
        return other, best[2]
    others = [other for other in (";", "\t", BLANKS) if other in among]
    for separator in others if best[1] == "," else ():
        if (width := _decimal_width(lines, best[0][0], separator)) >= needed:
            return separator, width
    if best[2] == 1 and any(len(cells_of(line, BLANKS)) > 1 for line in lines):
        return ",", 1  # a name with a blank above one column
    return best[1], best[2]


def _whole_cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line; none if the separator cuts words, as a comma inside an address
    before another address does.
    """
    cells = cells_of(line, separator)
    cuts = separator != BLANKS and "://" in line and any(map(ADDRESSES.search, cells))
    return [] if cuts else cells


def _before_tabs(lines: list[str], width: int, among: Sequence[str]) -> str:
    """Return the separator that stands before all tabs of lines of `width` cells; "" if none
    does.
    """
    rows = [row for row in (cells_of(line, "\t") for line in lines) if len(row) == width]
    before = {cell[-1:] for row in rows for cell in row[:-1]}
    return next((other for other in (",", ";", "|") if before == {other} and other in among), "")


def _decimal_width(lines: list[str], times: int, separator: str) -> int:
    """Return the number of columns that `separator` makes of at least as many lines as commas do,
    if all commas of its cells, but for a header, are decimal commas; else 0.
    """
    rows = [cells_of(line, separator) for line in lines]
    width, same = Counter(map(len, rows)).most_common(1)[0]
    commas = [cell for row in rows[len(rows) > 1 :] for cell in row if "," in cell]
    decimal = commas and all(DECIMAL.fullmatch(cell) for cell in commas)
    return width if width > 1 and same >= times and decimal else 0


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of a line, without blanks around them; none if a quote is not closed."""
    try:
        return [cell.strip() for cell in split_line(line, separator)]
    except csv.Error:
        return []
