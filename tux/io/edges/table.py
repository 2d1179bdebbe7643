"""Tables of edges: text cut by almost any separator, or Parquet; with or without names; packed or
not.

A row is one edge: the ids of its two ends and the edge's numbers, in columns found by name if there
is a header, else by position. Text is parsed in large blocks by all cores: plain rows by
`tux.io.source.plain_rows`, all others by Arrow. Only a block that fails is halved until the bad
line is found, and only that small rest is judged line by line: a bad line among millions is named
without a slow path for the others.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.text import plural
from tux.io.edges.columns import WantedColumns, columns_by_label, find_columns, unused_notes
from tux.io.edges.layout import beginning, edge_layout
from tux.io.source.cells import TextLayout, split_line
from tux.io.source.first_lines import check_text, first_lines
from tux.io.source.input_files import pieces_of
from tux.io.source.odd_ids import odd_ids
from tux.io.source.plain_rows import count_lines, plain_rows
from tux.io.source.precision import coarse_notes
from tux.io.source.table_lines import JUDGED, LineCounts, TableLines
from tux.io.source.text import (
    ADVICE,
    EMPTY,
    NO_ROW,
    NOT_UTF_8,
    NUMBER,
    SMALL,
    TEXT,
    WHOLE,
    BadRows,
    OnBadRow,
    blocks,
    cut_word,
    not_number,
)

Tell = Callable[[int, float], None]
"""A function that is called with the amount read: unpacked bytes of text, and pieces of files."""

BYTES = re.compile(r"[\udc80-\udcff]")  # bytes that are not UTF-8, decoded by "surrogateescape"
MARKED_ROWS = (
    "Its lines begin with # or %, as comments do; below a line of names, such as source,target, "
    "they are rows."
)
BESIDE = " \t"  # blanks that Arrow passes over beside a number
DIGITS = 1000  # of a whole number, zeros before it too, at most: int() refuses very many


def read_edge_table(
    path: str | os.PathLike[str],
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    columns: str | None,
    on_bad_row: OnBadRow,
    against: Mapping[str, Ids] | None,
    *,
    parquet: bool,
) -> EdgeData:
    """Read the edges of a table, Parquet or text. See `tux.io.edges.read.read_edges`."""
    wanted = WantedColumns(ends, {name: np.dtype(dtype) for name, dtype in fields.items()}, columns)
    bad = BadRows(os.fspath(path), stop=on_bad_row == "stop")
    read = (parquet_pieces if parquet else text_pieces)(bad, wanted, bad.path)
    pieces = read.pieces
    if pieces.rows == 0:
        raise DataError(
            f"{path} holds no edge"
            if not bad.count
            else f"no row of {path} is usable; the first: {bad.first}",
            do="" if bad.count else MARKED_ROWS if read.passed.comments else NO_ROW,
        )
    src, dst, *numbers = pieces.columns()
    values = dict(zip(fields, numbers, strict=True))
    edges = EdgeData.of(
        ends,
        src,
        dst,
        values,
        against=against,
        columns=read.names,
        skipped=bad.count,
        first_skipped=bad.first,
    )
    odd = () if against else odd_ids(edges.ids)
    notes = (*read.notes, *read.passed.notes("edge"), *odd, *coarse_notes(values))
    return replace(edges, notes=notes)


class EdgeTableRows(NamedTuple):
    """The rows of a table of edges: their columns, the names of these
    (`tux.arrays.edges.EdgeData.columns`), sentences that the user should know, and counts of lines
    that were passed over.
    """

    pieces: arrow.Pieces
    names: Mapping[str, str]
    notes: tuple[str, ...] = ()
    passed: LineCounts = LineCounts()


def text_pieces(
    bad: BadRows, wanted: WantedColumns, whole: str, tell: Tell | None = None
) -> EdgeTableRows:
    """Read the columns of files of text. `bad.path` is the `whole` input or a share of it; the
    first lines of the `whole` show the layout.
    """
    pieces = arrow.Pieces(wanted.kinds)
    first = first_lines(whole, JUDGED)
    if (table := edge_layout(first, wanted)) is None:
        return EdgeTableRows(pieces, {}, passed=LineCounts(comments=first.text.count(b"\n")))
    lines = TableLines(table.layout)
    lines.title = table.title.encode(errors="replace")
    number, size = 1, 0  # of the block's first line; of what is read
    texts = blocks(bad.path, bad.places, beginning(lines, wanted, first.path))
    for block in lines.blocks(texts):
        if number == 1:
            _check_beginning(block, pieces_of(bad.path)[0].path, whole)
        _add(pieces, block, number, table.layout, wanted, bad)
        number += count_lines(block)
        size += len(block)
        if tell:
            tell(size, bad.places.pieces - 1)
    src, dst, *_ = pieces.padded
    passed = lines.line_counts._replace(rows=pieces.rows, padded_src=src, padded_dst=dst)
    return EdgeTableRows(pieces, table.layout.names, table.notes, passed)


def _check_beginning(block: bytes, path: str, whole: str) -> None:
    """Raise DataError if the first lines of a share, in the file `path` of the `whole` input, are
    no text.
    """
    if len(pieces_of(whole)) == 1:
        check_text(block, path)
    elif b"\0" in block:  # as `blocks` says it of each file
        raise DataError(f"{path} is not a text file", do=TEXT)


def _add(
    pieces: arrow.Pieces,
    block: bytes,
    number: int,
    layout: TextLayout,
    wanted: WantedColumns,
    bad: BadRows,
) -> None:
    """Append the rows of a block of lines, the first of them line `number`. A block that fails is
    appended by halves, and a small one by its good lines.
    """
    text = layout.cut(block)
    if layout.is_blank(text.decode(errors="replace")) if text.isspace() else not text:
        return
    if (plain := plain_rows(text, layout, wanted.kinds)) is not None:
        for columns in plain:
            pieces.append(columns)
        return
    separator = "\x1f" if layout.separator == "::" else layout.separator
    try:
        table = arrow.parse_text(
            text, layout.width, layout.picks, wanted.kinds, separator, quotes=layout.quotes
        )
        lines = text.count(b"\n")
        if table.num_rows != lines and table.num_rows != lines - len(EMPTY.findall(text)):
            raise arrow.UnreadableText("a quoted value runs over several lines")
        pieces.add(table)
    except arrow.UnreadableText as error:
        half = block.find(b"\n", len(block) // 2) + 1
        if len(block) > SMALL and half < len(block):
            _add(pieces, block[:half], number, layout, wanted, bad)
            _add(pieces, block[half:], number + block.count(b"\n", 0, half), layout, wanted, bad)
            return
        good = _good_lines(block, number, layout, wanted, bad)
        if len(good) == len(block):
            raise DataError(
                f"cannot be read ({error})", where=bad.places.of(number), do=ADVICE
            ) from None
        _add(pieces, good, number, layout, wanted, bad)


def _good_lines(
    block: bytes, number: int, layout: TextLayout, wanted: WantedColumns, bad: BadRows
) -> bytes:
    """Return the lines that are good rows; the others are noted as bad, unless they are blank."""
    good = []
    for at, line in enumerate(block[:-1].split(b"\n"), number):
        # columns that are not picked may hold anything, as for Arrow
        text = line.decode(errors="surrogateescape").removesuffix("\r")
        try:
            blank = layout.is_blank(text)
            why = "" if blank else _fault(split_line(text, layout.separator), layout, wanted)
        except csv.Error:
            why = "a quote is not closed, or not followed by a separator"
        if why:
            bad.note(at, why)
        elif not blank:
            good.append(line + b"\n")
    return b"".join(good)


def _fault(cells: list[str], layout: TextLayout, wanted: WantedColumns) -> str:
    """Return the fault of a row in words, "" if it has none."""
    if len(cells) != layout.width:
        return f"{plural(len(cells), 'column')} instead of {layout.width}"
    for place, kind, label in zip(layout.picks, wanted.kinds, wanted.labels, strict=True):
        cell = cells[place].strip()
        if not cell:
            return f"{label} is missing"
        if not cell.isascii() and BYTES.search(cell):
            return NOT_UTF_8
        if kind is None:
            continue
        cell = cells[place].strip(BESIDE)
        if not (NUMBER if kind.kind == "f" else WHOLE).fullmatch(cell):
            return f"{label} is {not_number(cell, whole=kind.kind != 'f')}"
        if kind.kind == "f" and not abs(float(cell)) <= float(np.finfo(kind).max):
            return f"{label} is {cut_word(cell)}, not finite"
        if kind.kind != "f" and not (
            len(cell) <= DIGITS and np.iinfo(kind).min <= int(cell) <= np.iinfo(kind).max
        ):
            return f"{label} is {cut_word(cell)}, beyond {kind}"
    return ""


def parquet_pieces(
    bad: BadRows, wanted: WantedColumns, whole: str, tell: Tell | None = None
) -> EdgeTableRows:
    """Read the columns of Parquet files. `bad.path` is the `whole` input or a share of it; the
    first file of the `whole` shows the columns.
    """
    pieces = arrow.Pieces(wanted.kinds)
    first = pieces_of(whole)[0].path
    types = arrow.parquet_types(first)
    names = [*types]
    picks = find_columns(names, wanted, first, lambda at: arrow.is_number(types[names[at]]))
    chosen = [names[place] for place in picks]
    for at, piece in enumerate(pieces_of(bad.path)):
        check_parquet(piece.path, chosen, first)
        before = arrow.parquet_rows(piece.path, 0, piece.begin) if piece.begin else 0
        rows = arrow.parquet_rows(piece.path, piece.begin, piece.end) if tell else 0
        begun = pieces.rows + bad.count
        bad.places.begin(begun + 1, piece, before + 1)
        for table, left_out in arrow.parquet_edges(
            piece.path, chosen, wanted.kinds, piece.begin, piece.end
        ):
            for row in left_out:
                bad.note(begun + int(row), "a value is null, empty or not finite", "row ")
            pieces.add(table)
            if tell:
                tell(0, at + (pieces.rows + bad.count - begun) / max(rows, 1))
    return EdgeTableRows(pieces, columns_by_label(names, picks, wanted), unused_notes(names, picks))


def check_parquet(path: str, chosen: Sequence[str], first: str) -> None:
    """Raise DataError if a file lacks one of the columns that were chosen in the `first` file."""
    if path == first:
        return
    names = arrow.parquet_names(path)
    if missing := [name for name in chosen if name not in names]:
        raise DataError(
            f"{path} has no column {missing[0]!r}, but {first} has",
            do=f"It has {', '.join(names)}; give all files the same columns.",
        )
