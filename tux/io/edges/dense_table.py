"""Tables of points, a row of numbers each, told apart from tables of edges."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tux.arrays.frames import SMALLEST
from tux.base.errors import DataError
from tux.io.edges.bare_pairs import members_advice
from tux.io.edges.columns import LEFT, WantedColumns, matrix_error
from tux.io.source.text import NUMBER, WHOLE

QUOTED = re.compile("['\u201c\u2018`].*['\u201d\u2019`]", re.DOTALL)  # but not by double ones
FORMULA = re.compile('="[^"]*"')  # ="007", as Excel keeps zeros
NAMED = re.compile(r"\w+=.")  # src=1


def check_edges(
    rows: Sequence[Sequence[str]],
    picks: Sequence[int],
    wanted: WantedColumns,
    where: str,
    *,
    named: bool = False,
) -> None:
    """Raise DataError if the first rows of a table look like points or a matrix rather than edges:
    if there are decimal numbers in place of ids, or more columns of numbers without names than
    edges have, or as many as rows.

    `picks`: the places of the columns that are taken, those of the two ids first.
    """
    widths = {len(row) for row in rows}
    if len(widths) != 1 or min(widths) <= max(picks[:2]):  # shorter than their header
        return
    columns = [list(column) for column in zip(*rows, strict=True)]
    numeric = [all(map(NUMBER.fullmatch, column)) for column in columns]
    ids = [cell for at in picks[:2] if numeric[at] for cell in columns[at]]
    if decimal := next(filter(_decimal, ids), ""):
        raise DataError(
            f"ids of vertices would be decimal numbers, such as {decimal}"
            + ": this seems to be a table of points, not of edges" * (wanted.bare != "members"),
            where=where,
            do=members_advice(wanted.ends)
            if wanted.bare == "members"
            else "A program with input = Points() reads points. If these are edges, name the "
            "columns of their ends with --columns.",
        )
    width = len(columns)
    square = len(rows) == width >= SMALLEST
    if not named and all(numeric) and (square or width > len(picks) + LEFT):
        raise matrix_error(wanted, width, where)


def check_written(rows: Sequence[Sequence[str]], picks: Sequence[int], where: str) -> None:
    """Raise DataError if the ids of all first rows carry signs of another kind of file: brackets,
    as Python prints tuples; a colon after the first, as in lists of neighbours; single quotes; the
    equals sign of Excel, or one after the name of a column.
    """
    if len(rows) < 2 or any(len(row) <= max(picks) for row in rows):
        return
    first = [row[0] for row in rows]
    last = [next((cell for cell in reversed(row) if cell), "") for row in rows]
    ids = [[row[at] for row in rows] for at in picks[:2]]
    why = ""
    if all(cell.startswith(("(", "[", "{")) for cell in first) and all(
        cell.rstrip(",").endswith((")", "]", "}")) for cell in last
    ):
        why = "all rows stand in brackets, as Python prints them"
    elif all(cell[:1] == "<" and ">" not in cell for cell in first) and all(
        cell[-1:] == ">" for cell in last
    ):
        why = "all rows stand in brackets"
    elif all(cell[:1] == "[" and "]" not in cell for cell in first):
        why = "all first ids begin with a bracket that is closed in another cell"
    elif 0 in picks[:2] and all(cell.endswith(":") and cell.strip(":") for cell in first):
        why = "all first ids end in a colon, as in lists of neighbours"
    elif all(all(map(QUOTED.fullmatch, column)) for column in ids):
        why = "all ids stand in quotes that are not double ones"
    elif any(all(map(FORMULA.fullmatch, column)) for column in ids):
        why = 'all ids of a column are formulas of Excel, as ="007"'
    elif all(len({cell.partition("=")[:2] for cell in column}) == 1 for column in ids) and all(
        NAMED.match(cell) for column in ids for cell in column
    ):
        why = f"all ids begin with the name of their column, as {ids[0][0]}"
    if why:
        raise DataError(
            f"{why}, which would be a part of the ids",
            where=where,
            do="Write a row for each edge: ids alone, cut by commas, in double quotes or none.",
        )


def _decimal(cell: str) -> bool:
    """Return whether a cell is a number with a fraction; 3.0 has none."""
    return not WHOLE.fullmatch(cell) and bool(re.search(r"\.\d*[1-9]", cell))
