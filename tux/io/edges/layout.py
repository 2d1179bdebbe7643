"""The layout of the text of a table of edges, and the columns to take, as its first lines show
them.
"""

from __future__ import annotations

from typing import NamedTuple

from tux.base.errors import DataError
from tux.base.text import plural, plural_noun
from tux.io.edges.bare_pairs import NumbersBeside
from tux.io.edges.columns import (
    WantedColumns,
    columns_by_label,
    find_columns,
    plain_name,
    unused_notes,
)
from tux.io.edges.dense_table import check_edges, check_written
from tux.io.source.cells import DATE, TextLayout, cells_of
from tux.io.source.first_lines import FirstLines, rows_of
from tux.io.source.row_one import RowOne, has_sizes, is_in_use, row_one
from tux.io.source.table_lines import JUDGED, FirstRows, TableLines, first_rows
from tux.io.source.text import NUMERIC, SAMPLE, Begin, cut_word, doubt_of_row

SEPARATED = "Cells are cut by tabs, commas, semicolons, |, :: or blanks."
MAX_TITLES = 2  # lines of names below the first row
HEAD = 1 << 18  # bytes in which the first rows of a file are, but for a longer first one


class EdgeLayout(NamedTuple):
    """The layout of the lines that the first rows show, the line of names in it, and sentences that
    the user should know.
    """

    layout: TextLayout
    title: bytes = b""
    notes: tuple[str, ...] = ()


def edge_layout(lines: FirstLines, wanted: WantedColumns) -> EdgeLayout | None:
    """Find the layout that the first lines of text show; None if all are comments or blank."""
    asked = wanted.caller_columns()
    needed = max([len(wanted.kinds), *(int(name) for name in asked if name.isdecimal())])
    if (seen := first_rows(lines, needed)) is None:
        return None
    if seen.width < needed:
        raise _too_few(seen.width, needed, wanted, lines.place)
    first = seen.table[0]
    what = row_one(seen.table, known_names(wanted))
    if any(not name.isdecimal() for name in asked) or what is RowOne.NAMES:
        return _layout_by_names(seen, first, wanted, lines.path)._replace(
            title=seen.title_line(lines)
        )
    if asked:
        layout = seen.layout([int(name) - 1 for name in asked])
    elif title := _title(seen, wanted):
        return _layout_by_names(seen, title, wanted, lines.path)  # as numpy's savetxt writes names
    else:
        layout = seen.layout(list(range(len(wanted.kinds))))
        check_edges(seen.table, layout.picks, wanted, lines.path)
        check_written(seen.table, layout.picks, lines.path)
    places = [f"column {place + 1}" for place in range(seen.width)]
    names = columns_by_label(places, layout.picks, wanted) if seen.width > needed else {}
    notes = _beside_notes(places, layout.picks, seen.table, wanted, lines.path)
    notes = (*notes, *_odd_rows(seen.table, layout, wanted))
    text = ", ".join(first)
    if what is RowOne.UNSURE:
        numbers = any(map(NUMERIC.fullmatch, first))
        do = "remove it" if numbers else "name them with --columns"
        notes = (*notes, doubt_of_row(1, text, "edge", "is one of names", do))
    elif not asked and has_sizes(seen.table, JUDGED):
        other = "has the numbers of vertices and edges"
        notes = (*notes, doubt_of_row(1, text, "edge", other))
    return EdgeLayout(layout._replace(names=names), notes=notes)


def columns_in_text(lines: FirstLines, wanted: WantedColumns) -> WantedColumns:
    """Return the columns to look for in the text with these first lines; see
    `WantedColumns.of_table`.
    """
    seen = first_rows(lines, 2) if wanted.bare == "ones" else None
    return wanted.of_table(0 if seen is None else seen.width)


def _layout_by_names(
    seen: FirstRows, header: list[str], wanted: WantedColumns, path: str
) -> EdgeLayout:
    """Return the layout of rows whose columns have names."""
    rest = seen.table[header == seen.table[0] :]
    width = len(header)
    alike = [row for row in rest if len(row) == width]

    def numeric(at: int) -> bool:
        return bool(alike) and all(NUMERIC.fullmatch(row[at]) for row in alike if row[at])

    picks = find_columns(header, wanted, path, numeric)
    names = columns_by_label(header, picks, wanted)
    if wanted.columns is None and names:  # the columns are not called as the ends of the edges
        check_edges(rest, picks, wanted, path, named=True)
    check_written(rest, picks, path)
    layout = seen.layout(picks)._replace(width=width, header=header, names=names)
    odd = _odd_rows(rest, layout, wanted)
    return EdgeLayout(layout, notes=(*_beside_notes(header, picks, rest, wanted, path), *odd))


def _beside_notes(
    names: list[str],
    picks: list[int],
    rows: list[list[str]],
    wanted: WantedColumns,
    path: str,
) -> tuple[str, ...]:
    """Return sentences about the columns that are not taken. Raises what `NumbersBeside.notes`
    does.
    """
    beside = NumbersBeside.of(names, picks, wanted)
    beside.add_cells([row for row in rows if len(row) == len(names)])
    return (*unused_notes(names, picks), *beside.notes(wanted, path))


def _odd_rows(rows: list[list[str]], layout: TextLayout, wanted: WantedColumns) -> list[str]:
    """Return sentences about rows after the first one that may be names of columns, as of another
    table in the file, and about ids that are dates.
    """
    ends = [
        [row[at] for at in layout.picks[:2]]
        for row in rows
        if len(row) == layout.width and row != list(layout.header)
    ]
    known = known_names(wanted)
    names = [
        pair
        for pair in ends
        if all(len(cell) > 1 and (plain_name(cell) in known or is_in_use(cell)) for cell in pair)
    ]
    notes = []
    if 0 < len(names) <= MAX_TITLES and MAX_TITLES * len(names) < len(ends):
        shown = " and ".join(", ".join(pair) for pair in names)
        notes.append(f"{shown} is read as an edge; if these are names of columns, remove the line")
    for at, column in enumerate(zip(*ends, strict=True)):
        if len(column) > 1 and all(map(DATE.fullmatch, column)):
            notes.append(f"ids of {plural_noun(wanted.ends[at])} are dates, as {column[0]}")
    return notes


def _too_few(width: int, needed: int, wanted: WantedColumns, where: str) -> DataError:
    """Return the error about a table that lacks some of the wanted columns."""
    do = SEPARATED if width == 1 else ""
    if width == 2 and needed == 3 and len(wanted.fields) == 1:
        do = wanted.ones_advice(wanted.labels[-1])
    return DataError(
        f"{plural(width, 'column')}, but {needed} are needed ({', '.join(wanted.labels)})",
        where=where,
        do=do,
    )


def known_names(wanted: WantedColumns) -> set[str]:
    """Return all names of the wanted columns."""
    return set().union(
        *(
            wanted.names(at, alias=alias)
            for at in range(len(wanted.kinds))
            for alias in (False, True)
        )
    )


def _title(seen: FirstRows, wanted: WantedColumns) -> list[str] | None:
    """Return the cells of the comment before the rows that has the names of columns. It is a
    comment whose cells are all usual names, or the last one, if two of its cells are names of
    wanted columns.
    """
    known = known_names(wanted)
    for at, cells in enumerate(seen.titles):
        used = [plain_name(name) in known or is_in_use(name) for name in cells]
        if len(used) > 1 and all(used) or at == 0 and _count_known_names(cells, wanted) > 1:
            return cells
    return None


def _count_known_names(cells: list[str], wanted: WantedColumns) -> int:
    """Count the cells of a row that are names of wanted columns."""
    return sum(plain_name(name) in known_names(wanted) for name in cells)


def beginning(lines: TableLines, wanted: WantedColumns, first: str) -> Begin:
    """Make the function that finds the end of what is passed over at the beginning of a file:
    comments, and the first row, if it is the header of the layout.

    The function raises `DataError` for another header than that of the file `first`.
    """
    layout = lines.layout

    def begin(block: bytes, path: str) -> int | None:
        if (start := lines.begin(block)) is None:
            return None
        end = max(start + HEAD, block.find(b"\n", start) + 1)
        rows = rows_of(block[start:end], SAMPLE, marked=True)
        table = [_add_empty_cell(cells_of(row.line, layout.separator), layout) for row in rows]
        if layout.header and table[0] == list(layout.header):
            return start + rows[0].end
        names = _count_known_names(table[0], wanted) > 1
        alike = bool(layout.header) and len(table[0]) == layout.width
        if (
            path != first
            and (names or alike)
            and row_one(table, known_names(wanted)) is RowOne.NAMES
        ):
            header = ",".join(layout.header) or "no names of columns"
            raise DataError(
                f"the columns of {path} are {cut_word(','.join(table[0]))}, but {first} "
                "begins with "
                f"{cut_word(header)}",
                do="Give all files the same line of names, or none.",
            )
        return start

    return begin


def _add_empty_cell(cells: list[str], layout: TextLayout) -> list[str]:
    """Return the cells of a line of names; one with a cell less than a row gets an empty cell, as
    in `FirstRows`.
    """
    if len(cells) + 1 != len(layout.header):
        return cells
    return ["", *cells] if not layout.header[0] else [*cells, ""]
