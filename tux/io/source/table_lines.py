"""The decision which lines of a table of text are its rows, for tables of edges, of samples and of
vertices alike.

- A blank line is none.
- A line that begins with # or % is a comment before the first row, and where it has another number
  of cells than a row, or a number should stand where it begins (as in most other rows), or the mark
  stands alone between blanks. Else it is a row: #rain is an id. Before the first row such lines are
  rows if their first cell stands in another row, too.
- ``sep=;`` before the first row names the separator, as Excel writes it.
- A line of dashes, equals signs, bars and crosses alone is none: programs draw tables with them.
- The line of names is no row where it stands again, as in files that were put together.
- A line break within quotes is part of a cell (RFC 4180).

Lines that are left out are counted, and `LineCounts.notes` makes sentences of the counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import BREAK
from tux.base.errors import DataError
from tux.base.text import plural
from tux.io.edges.columns import plain_name
from tux.io.source.cells import (
    BLANK_CELL,
    BLANKS,
    SEPARATORS,
    TextLayout,
    cells_of,
    has_quotes,
    is_marked,
    separator_of,
)
from tux.io.source.first_lines import (
    EXCEL,
    MAX_LINES_OF_ROW,
    RULED,
    FirstLines,
    begins_row,
    first_lines,
    rows_of,
)
from tux.io.source.text import NUMERIC, SAMPLE

DIGIT = re.compile(r"\d")
ESCAPED = re.compile(  # a quote behind a backslash, in a cell
    r'(?:^|[,;\t|]) *"[^"]*\\"[^,;\t|"\s]'
)
JUDGED = 1000  # rows that show the kinds of the columns
HELD = 1 << 20  # bytes of one row, at most, that runs over several lines
MARKED = re.compile(rb"^[ \t]*(?!#N/A)[#%].*\n", re.MULTILINE)
MARKED_CELL = re.compile(rb"^ *(?!#N/A)[#%].*\n", re.MULTILINE)  # `MARKED` if tabs cut cells


class FirstRows(NamedTuple):
    """The form of a table that its first lines show: the separator of cells, the number of columns,
    and the cells of the first rows.
    """

    separator: str
    width: int  # number of cells of most rows
    table: list[list[str]]
    numbered: bool  # see `TextLayout`
    leading: bool
    several: bool  # a row runs over several lines
    titles: list[list[str]]  # comments before them of as many cells, without marks, last first
    quoted: bool = False  # see `TextLayout`

    def title_of(self, known: Collection[str]) -> list[str] | None:
        """Return the last comment before the rows that has one of the `known` names, as
        `tux.io.edges.columns.plain_name` writes them.
        """
        return next(
            (each for each in self.titles if not {*known}.isdisjoint(map(plain_name, each))), None
        )

    def title_line(self, lines: FirstLines) -> bytes:
        """Return the line of the first row, where it is one of names."""
        return rows_of(lines.text, 1, marked=self.leading)[0].line.encode(errors="replace")

    def layout(self, picks: list[int]) -> TextLayout:
        """Return the layout of lines of which the columns at `picks` are wanted."""
        return TextLayout(
            self.separator,
            self.width,
            picks,
            numbered=self.numbered,
            leading=self.leading,
            quoted=self.quoted,
        )


def first_rows(lines: FirstLines, needed: int) -> FirstRows | None:
    """Find the first rows of a table that has at least `needed` columns; None if there is no
    row.
    """
    found = [row.line for row in rows_of(lines.text, JUDGED, marked=True)]
    plain = [line for line in found if not is_marked(line)]
    if not plain:
        return None
    named = _named_separator(lines.text)
    separator, width = separator_of(plain[:SAMPLE], needed, (named,) if named else SEPARATORS)
    table = [cells_of(line, separator) for line in plain]
    if {len(row) for row in table[1:]} == {len(table[0]) + 1}:  # see `with_row_names`
        width = len(table[0]) + 1
    _check_rows(plain, table, separator, lines.place)
    below = [row[0] for row in table[1:] if len(row) == width]
    begin = next(at for at, line in enumerate(found) if not is_marked(line))
    layout = TextLayout(separator, width, [])
    marked = [cells_of(x, separator)[0] for x in found[begin:] if is_marked(x) and layout.fits(x)]
    words = [cell for cell in marked if not _is_number(cell.lstrip("#% "))]  # no rows left out
    numbered = len(below) > len(words) and all(map(_is_number, below))
    layout = layout._replace(numbered=numbered)
    known = {cell for line in found[begin:] for cell in cells_of(line, separator)}
    leading = any(
        layout.fits(line) and cells_of(line, separator)[0] in known for line in found[:begin]
    )
    kept = found if leading else found[begin:]
    rows = [line for line in kept if not is_marked(line) or layout.fits(line)]
    comments = [] if leading else found[:begin]
    return FirstRows(
        separator,
        width,
        with_row_names([cells_of(line, separator) for line in rows]),
        numbered,
        leading,
        any(BREAK.decode() in line for line in found),
        _titles(comments, separator, width),
        separator == BLANKS and _in_quotes(plain),
    )


def _check_rows(
    lines: Sequence[str], table: Sequence[Sequence[str]], separator: str, place: str
) -> None:
    """Raise DataError for rows that cannot be read with certainty: with a backslash before a quote,
    or with one cell more than names, if commas may stand in a cell without quotes.
    """
    if any(map(ESCAPED.search, lines)):
        raise DataError(
            "quotes within cells stand behind backslashes",
            where=place,
            do='Write such quotes twice, as in "the ""best"" tea".',
        )
    more = with_row_names(table)[0][:1] == [""] != table[0][:1]
    plain = separator in (",", ";", "|") and '"' not in "".join(lines)
    if more and plain and not any(map(NUMERIC.fullmatch, table[0])):
        raise DataError(
            f"rows have {len(table[1])} cells, but row 1 has {plural(len(table[0]), 'name')}",
            where=place,
            do="Put cells that hold a separator in quotes, and write numbers with a point. If the "
            "first cells are names of rows, give them a name, too.",
        )


def _titles(comments: Sequence[str], separator: str, width: int) -> list[list[str]]:
    """Return the cells of comments that have `width` of them, the last one first; a word and a
    colon, such as "Format:", may stand before them.
    """
    titles = []
    for line in reversed(comments):
        text = line.strip().lstrip("#%").strip()
        for part in (re.sub(r"^\w+:\s+", "", text), text):
            if len(cells := cells_of(part, separator)) == width:
                titles.append(cells)
                break
    return titles


def _is_number(cell: str) -> bool:
    return NUMERIC.fullmatch(cell) is not None and DIGIT.search(cell) is not None


def _in_quotes(lines: Sequence[str]) -> bool:
    """Return whether lines that are cut by blanks have cells in double quotes, and no other
    quotes.
    """
    some = [line for line in lines if '"' in line]
    return bool(some) and all(
        inner or not bare or '"' not in bare
        for line in some
        for inner, bare in BLANK_CELL.findall(line)
    )


def several_lines(path: str | os.PathLike[str]) -> bool:
    """Return whether one of the first rows of the input runs over several lines."""
    seen = first_rows(first_lines(path, JUDGED), 2)
    return seen is not None and seen.several


def _named_separator(text: bytes) -> str:
    """Return the separator that Excel's first line names; "" if there is no such line."""
    match = EXCEL.match(text)
    return match[1].decode(errors="replace").replace("\\t", "\t") if match else ""


def with_row_names(table: Sequence[Sequence[str]]) -> list[list[str]]:
    """Add an empty cell to the first row if it has a cell less than all others, as R writes the
    names of columns beside those of rows: at the beginning, or at the end if all other rows end in
    an empty cell.
    """
    first, *rest = table
    if not rest or {len(row) for row in rest} != {len(first) + 1}:
        return [[*row] for row in table]
    ends = {row[-1] for row in rest}
    if ends != {""} and len({row[0] for row in rest}) < len(rest):  # no names of rows
        return [[*row] for row in table]
    return [[*first, ""] if not any(row[-1] for row in rest) else ["", *first], *map(list, rest)]


class LineCounts(NamedTuple):
    """Counts of lines: comments, rows that begin as comments do, repetitions of the line of names,
    and lines of dashes; and of the rows whose ids had blanks around them.
    """

    comments: int = 0
    marked: int = 0
    repeated: int = 0
    ruled: int = 0  # lines of dashes
    rows: int = 0
    padded_src: int = 0  # first ends with blanks around them
    padded_dst: int = 0

    def notes(self, row: str) -> tuple[str, ...]:
        """Return sentences for the user about these counts; they call a row `row`."""
        said = []
        if self.comments:
            said.append(f"{plural(self.comments, 'line')} of comments, which begin with # or %")
        if self.marked:
            what = f"{plural(self.marked, row)} that begin{'s' * (self.marked == 1)} with # or %"
            said.append(f"{what}, read as all others: no comments")
        if self.repeated:
            what = f"the line of names stands there {plural(self.repeated, 'more time')}"
            said.append(f"{what}; it is no {row}")
        if self.ruled:
            said.append(f"{plural(self.ruled, 'line')} of dashes")
        padded = [each for each in (self.padded_src, self.padded_dst) if 0 < each < self.rows]
        if padded:
            said.append(f"{plural(sum(padded), 'id')} had blanks around, which are no part of ids")
        return tuple(said)


class TableLines:
    """The lines of blocks of text that are rows. All others become blank lines, so that the numbers
    of lines stay. They are counted.
    """

    def __init__(self, layout: TextLayout, title: bytes = b"") -> None:
        self.layout, self.title = layout, title  # the line of names, if there is one
        self.comments = self.marked = self.repeated = self.ruled = 0

    def blocks(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """Yield blocks of lines that are rows or blank. A row that runs over several lines becomes
        one line and blank ones, in the block in which it begins.
        """
        begun: list[bytes] = []  # a row that is not ended, and lines in which no quote stands
        size = 0
        for text in texts:
            if begun and b'"' not in text and size + len(text) <= HELD:
                begun.append(text)
                size += len(text)
                continue
            block, rest = self._join_row_lines(b"".join([*begun, text]))
            begun, size = [rest] * bool(rest), len(rest)
            if block:
                yield self._rows(block)
        if begun:
            yield self._rows(self._join_row_lines(b"".join(begun), last=True)[0])

    def of_file(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """Do `blocks` for the text of one file: lines before its first row become blank."""
        return self.blocks(self._without_head(texts))

    def _without_head(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        start: int | None = None
        for block in texts:
            if start is None:
                start = self.begin(block)
                cut = len(block) if start is None else start
                block = b"\n" * block.count(b"\n", 0, cut) + block[cut:]
            yield block

    def begin(self, block: bytes) -> int | None:
        """Return the place of the first row of a file in this block, None if it is in a later one.
        Comments before it are counted.
        """
        start = 0
        while end := block.find(b"\n", start) + 1:
            line = block[start:end]
            if begins_row(line) or self._is_marked_row(line):
                return start
            self.comments += is_marked(line.decode(errors="replace"))
            start = end
        return None

    @property
    def line_counts(self) -> LineCounts:
        """The counts of lines so far."""
        return LineCounts(self.comments, self.marked, self.repeated, self.ruled)

    def _is_marked_row(self, line: bytes) -> bool:
        text = line[:-1].decode(errors="replace")
        return self.layout.leading and is_marked(text) and self.layout.fits(text)

    def _rows(self, block: bytes) -> bytes:
        """Make a blank line of each line that is no row."""
        if b"#" in block or b"%" in block:
            marked = MARKED_CELL if self.layout.separator == "\t" else MARKED
            block = marked.sub(self._blank_comment, block)
        if b"---" in block or b"===" in block:
            block, ruled = RULED.subn(b"\n", block)
            self.ruled += ruled
        if self.title and self.title in block:
            same = re.compile(rb"^" + re.escape(self.title) + rb"\r?\n", re.MULTILINE)
            block, repeated = same.subn(b"\n", block)
            self.repeated += repeated
        return block

    def _blank_comment(self, match: re.Match[bytes]) -> bytes:
        """Return a line that begins with # or % if it is a row, else a blank line."""
        line = match[0]
        if self.layout.fits(line.decode(errors="replace").rstrip("\r\n")):
            self.marked += 1
            return line
        self.comments += 1
        return b"\n"

    def _join_row_lines(self, block: bytes, *, last: bool = False) -> tuple[bytes, bytes]:
        """Join the lines of each row of several lines to one line and blank ones. Returns the
        block, and its end from a row on that is not complete there; with `last`, there is no such
        end.
        """
        if not has_quotes(self.layout.separator) or b'"' not in block:
            return block, b""
        text = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(text == 10) + 1
        begins = np.concatenate([[0], ends[:-1]])
        quotes = (text == 34).view(np.uint8)
        odd = np.flatnonzero(np.bitwise_xor.reduceat(quotes, begins)).tolist()
        if not odd:
            return block, b""
        pieces: list[bytes] = []
        done = at = 0
        while at < len(odd):
            first = int(begins[odd[at]])
            if self._is_whole(block[first : ends[odd[at]]]):  # the quote is one of a word
                at += 1
                continue
            if at + 1 == len(odd):
                if last or len(block) - first > HELD:
                    break
                return b"".join([*pieces, block[done:first]]), block[first:]
            end = int(ends[odd[at + 1]])
            row, lines = block[first:end], odd[at + 1] - odd[at]
            if lines < MAX_LINES_OF_ROW and self._is_whole(joined := _one_line(row, lines)):
                pieces += [block[done:first], joined]
                done = end
                at += 1
            at += 1
        return b"".join([*pieces, block[done:]]), b""

    def _is_whole(self, row: bytes) -> bool:
        """Return whether a line has all cells of a row."""
        line = row.split(b"\n", 1)[0].decode(errors="replace").removesuffix("\r")
        return len(cells_of(line, self.layout.separator)) == self.layout.width


def _one_line(row: bytes, breaks: int) -> bytes:
    """Join a row with `breaks` line breaks in it to one line, followed by as many blank ones."""
    return row[:-1].replace(b"\n", BREAK) + b"\n" * (breaks + 1)
