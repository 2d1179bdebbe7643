"""Tables of edges: text cut by almost any separator, or Parquet; with or without names; packed or
not.

A row is one edge: the ids of its two ends and the edge's numbers, in columns found by name if there
is a header, else by position. Of text (`tux.io.source.table_text`), plain rows are parsed by
`tux.io.source.plain_rows`, all others by Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tux.arrays import arrow
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.io.bags.rare import leave_out_rare
from tux.io.edges.bare_pairs import NumbersBeside
from tux.io.edges.columns import WantedColumns, columns_by_label, find_columns, unused_notes
from tux.io.edges.layout import EdgeLayout, beginning, columns_in_text, edge_layout
from tux.io.edges.request import EdgeRequest
from tux.io.source.cells import TextLayout
from tux.io.source.first_lines import check_text, first_lines
from tux.io.source.input_files import pieces_of
from tux.io.source.odd_ids import odd_ids
from tux.io.source.plain_rows import count_lines, plain_rows
from tux.io.source.precision import coarse_notes
from tux.io.source.table_lines import JUDGED, LineCounts, TableLines
from tux.io.source.table_text import TableText
from tux.io.source.text import (
    NO_ROW,
    NUMBER,
    TEXT,
    WHOLE,
    BadRows,
    Tell,
    blocks,
    cut_word,
    not_number,
)

MARKED_ROWS = (
    "Its lines begin with # or %, as comments do; below a line of names, such as source,target, "
    "they are rows."
)
BESIDE = " \t"  # blanks that Arrow passes over beside a number
DIGITS = 1000  # of a whole number, zeros before it too, at most: int() refuses very many


def read_edge_table(asked: EdgeRequest, *, parquet: bool) -> EdgeData:
    """Read the edges of a table, Parquet or text. See `tux.io.edges.read.read_edges`."""
    path, ends, against = asked.path, asked.ends, asked.against
    fields = {name: np.dtype(dtype) for name, dtype in asked.fields.items()}
    wanted = WantedColumns(ends, fields, asked.columns, asked.bare)
    bad = BadRows(path, stop=asked.on_bad_row == "stop")
    read = (parquet_pieces if parquet else text_pieces)(bad, wanted, bad.path)
    pieces = read.pieces
    if pieces.rows == 0:
        if bad.count:
            raise bad.no_usable_row()
        raise DataError(f"{path} holds no edge", do=MARKED_ROWS if read.passed.comments else NO_ROW)
    src, dst, *others = pieces.each  # ids are given up piece by piece while they are numbered
    numbers = [own.whole() for own in others]
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
    edges = leave_out_rare(edges, asked.rare, path)
    odd = () if against else odd_ids(edges.ids)
    told = (*read.notes, *read.passed.notes("edge"), *edges.notes)
    return replace(edges, notes=(*told, *odd, *coarse_notes(values)))


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
    first = first_lines(whole, JUDGED)
    there = columns_in_text(first, wanted)
    if (table := edge_layout(first, there)) is None:
        passed = LineCounts(comments=first.text.count(b"\n"))
        return EdgeTableRows(arrow.Pieces(wanted.kinds), {}, passed=passed)
    return _with_ones(read_by_layout(bad, table, there, first.path, whole, tell), wanted, there)


def _with_ones(read: EdgeTableRows, wanted: WantedColumns, there: WantedColumns) -> EdgeTableRows:
    """Add ones for the fields that are wanted, if they are not `there`."""
    if len(there.fields) == len(wanted.fields):
        return read
    read.pieces.add_ones(wanted.kinds[2:])
    return read._replace(notes=(*read.notes, wanted.ones_note()))


def read_by_layout(
    bad: BadRows,
    table: EdgeLayout,
    wanted: WantedColumns,
    first: str,
    whole: str,
    tell: Tell | None = None,
) -> EdgeTableRows:
    """Read the columns that a layout picks, of files of text; see `text_pieces`. `first`: the file
    that has shown the layout.
    """
    rows = _EdgeText(bad, table.layout, wanted)
    lines = TableLines(table.layout, table.title)
    number, size = 1, 0  # of the block's first line; of what is read
    texts = blocks(bad.path, bad.places, beginning(lines, wanted, first))
    for block in lines.blocks(texts):
        if number == 1:
            _check_beginning(block, pieces_of(bad.path)[0].path, whole)
        rows.add(block, number)
        number += count_lines(block)
        size += len(block)
        if tell:
            tell(size, bad.places.pieces - 1)
    pieces = rows.pieces
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


class _EdgeText(TableText):
    """A table of text of edges."""

    def __init__(self, bad: BadRows, layout: TextLayout, wanted: WantedColumns) -> None:
        super().__init__(bad, layout, wanted.kinds)
        self.wanted, self.pieces = wanted, arrow.Pieces(wanted.kinds)

    def append(self, text: bytes, block: bytes, number: int, kept: np.ndarray | None = None) -> int:
        """Append rows: plain ones by compiled code, others by Arrow."""
        before = self.pieces.rows
        if (plain := plain_rows(text, self.layout, self.wanted.kinds)) is not None:
            for columns in plain:
                self.pieces.append(columns)
        else:
            self.pieces.add(self.parse(text, self.wanted.kinds))
        return self.pieces.rows - before

    def cell_fault(self, cells: Sequence[str]) -> str:
        """Return the fault of a row, "" if it has none."""
        for cell, kind, label in zip(cells, self.wanted.kinds, self.wanted.labels, strict=True):
            if not cell.strip():
                return f"{label} is missing"
            if kind is None:
                continue
            cell = cell.strip(BESIDE)
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
    first = pieces_of(whole)[0].path
    types = arrow.parquet_types(first)
    names = [*types]
    there = wanted.of_table(len(names))
    pieces = arrow.Pieces(there.kinds)
    picks = find_columns(names, there, first, lambda at: arrow.is_number(types[names[at]]))
    chosen = [names[place] for place in picks]
    for at, piece in enumerate(pieces_of(bad.path)):
        check_parquet(piece.path, chosen, first)
        before = arrow.parquet_rows(piece.path, 0, piece.begin) if piece.begin else 0
        rows = arrow.parquet_rows(piece.path, piece.begin, piece.end) if tell else 0
        begun = pieces.rows + bad.count
        bad.places.begin(begun + 1, piece, before + 1)
        for table, left_out in arrow.parquet_edges(
            piece.path, chosen, there.kinds, piece.begin, piece.end
        ):
            for row in left_out:
                bad.note(begun + int(row), "a value is null, empty or not finite", "row ")
            pieces.add(table)
            if tell:
                tell(0, at + (pieces.rows + bad.count - begun) / max(rows, 1))
    beside = NumbersBeside.of(names, picks, there)
    beside.add_parquet(first, types)
    notes = (*unused_notes(names, picks), *beside.notes(there, whole))
    told = columns_by_label(names, picks, there), notes
    return _with_ones(EdgeTableRows(pieces, *told), wanted, there)


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
