"""Edges from data in memory: tables that other libraries hold, sparse matrices of scipy, and graphs
of networkx.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.frame_columns import cast_numbers, gather_columns, unfit_reason
from tux.arrays.frames import Frame
from tux.arrays.given import PLAIN, common_type
from tux.arrays.ids import Ids
from tux.arrays.networks import from_networkx
from tux.base.errors import DataError, UsageError
from tux.io.bags.numbering import ColumnNumbering
from tux.io.edges.bare_pairs import NumbersBeside, keep_held
from tux.io.edges.columns import (
    LEFT,
    Bare,
    WantedColumns,
    columns_by_label,
    find_beside_index,
    matrix_error,
    unused_notes,
)
from tux.io.edges.numbers import NumberedEnds, numbered_edges
from tux.io.edges.request import EdgeRequest
from tux.io.source.precision import coarse_notes
from tux.io.source.text import NO_ROW, BadRows, OnBadRow


def read_frame(
    frame: Frame,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    *,
    columns: str | None = None,
    on_bad_row: OnBadRow = "stop",
    against: Mapping[str, Ids] | None = None,
    bare: Bare = "",
) -> EdgeData:
    """Read the edges of a table in memory, as `tux.io.edges.read.read_edges` reads those of a file.
    Ids are not changed: strings keep their blanks, and are not read as numbers.

    Columns without names are taken from the left, or by their positions from 1. Raises `DataError`
    with the column or the row (from 0), and `UsageError` for `columns` that can mean nothing.
    """
    whole = WantedColumns(ends, {k: np.dtype(kind) for k, kind in fields.items()}, columns, bare)
    wanted = whole.of_table(len(frame.names) - frame.levels or frame.levels)
    picks = pick_columns(frame, wanted)
    bad = BadRows.of_memory(frame.what, on_bad_row)
    beside = NumbersBeside.of(frame.names, picks, wanted)
    pieces, types = gather_columns(
        beside.watch(frame),
        picks,
        wanted.labels,
        wanted.kinds,
        lambda row, why: bad.note(row + 1, why),
    )
    if pieces.rows == 0:
        raise no_row_error(bad, "edge")
    pieces.add_ones(whole.kinds[len(picks) :])
    src, dst, *others = pieces.each  # ids are given up piece by piece while they are numbered
    values = dict(zip(fields, [own.whole() for own in others], strict=True))
    return EdgeData.of(
        ends,
        src,
        dst,
        values,
        against=against,
        columns=columns_by_label(frame.names, picks, wanted)
        if _must_name_columns(frame, picks)
        else {},
        notes=(
            *unused_notes(frame.names, picks),
            *beside.notes(wanted, frame.what),
            *[whole.ones_note()] * (len(picks) < len(whole.kinds)),
            *coarse_notes(values),
        ),
        skipped=bad.count,
        first_skipped=bad.first,
        id_types=_id_types_by_end(ends, types),
    )


def pick_columns(frame: Frame, wanted: WantedColumns) -> list[int]:
    """Find the 0-based places of the wanted columns in a table. Raises `DataError` and `UsageError`
    as `read_frame` does.
    """
    if frame.square and not wanted.columns:
        raise matrix_error(wanted, len(frame.names) - frame.levels, frame.what)
    if frame.titled:
        try:
            left = 0 if frame.advice else LEFT  # an index without a name is that of a matrix
            return find_beside_index(
                frame.names, frame.levels, wanted, frame.what, frame.has_numbers, left
            )
        except DataError as error:
            error.do = f"{error.do} {frame.advice}".strip()
            raise
    needed, width, asked = len(wanted.kinds), len(frame.names), wanted.caller_columns()
    if other := next((name for name in asked if not name.isdecimal()), ""):
        raise UsageError(
            f"columns {wanted.columns!r} name {other!r}, but {frame.what} has no names",
            do="Give positions from 1, or columns by name.",
        )
    numbers = sum(map(frame.has_numbers, range(width)))
    if not asked and numbers == width > needed + LEFT:
        raise matrix_error(wanted, width, frame.what)
    picks = [int(name) - 1 for name in asked] or list(range(needed))
    if max(picks) >= width:
        raise DataError(
            f"{width} column{'s' * (width != 1)}, but {max(picks) + 1} are needed "
            f"({', '.join(wanted.labels)})",
            where=frame.what,
        )
    return picks


def _must_name_columns(frame: Frame, picks: list[int]) -> bool:
    """Return whether the user should be told the columns that were taken."""
    return frame.titled or frame.array or len(frame.names) > len(picks)


def _id_types_by_end(ends: tuple[str, str], types: list[str]) -> dict[str, str]:
    """Return the type in which ids were given, by vertex type, unless it is one of `PLAIN`."""
    given = dict(zip(ends, types, strict=False))
    if ends[0] == ends[1]:
        given = {ends[0]: common_type(*types[:2])}
    return {end: name for end, name in given.items() if name and name not in PLAIN}


def no_row_error(bad: BadRows, what: str) -> DataError:
    """Return the error about data of which no row is left."""
    if not bad.count:
        return DataError(
            f"{bad.path} holds no {what}",
            do=NO_ROW.replace("an edge", f"a {what}" if what == "row" else f"an {what}"),
        )
    return bad.no_usable_row()


def read_matrix_edges(
    matrix: Any,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    what: str,
    *,
    on_bad_row: OnBadRow = "stop",
    against: Mapping[str, Ids] | None = None,
    numbered: str = "",
    members: bool = False,
) -> EdgeData:
    """Read an edge for each entry that a sparse matrix of scipy stores, from its row to its column,
    with the entry as the number of the edge, if it has one. Ids are the numbers of rows and columns
    from 0; empty ones are vertices too. `members`: edges are there or not, as the
    entries say (`tux.io.edges.bare_pairs.held_entries`).

    Raises `DataError` if both ends are of one type and the matrix is not square. For an entry that
    does not fit it raises `DataError`, or leaves the entry out and counts it.
    """
    rows, columns = check_matrix(matrix, what)
    if ends[0] == ends[1] and rows != columns:
        raise DataError(
            f"{what} is {rows:,} x {columns:,}: it has no edges from {ends[0]} to {ends[1]}",
            do="Give a square matrix.",
        )
    if len(fields) > 1:
        raise DataError(f"{what} has one number an edge, but {', '.join(fields)} are needed")
    entries = matrix.tocoo()
    if members:
        entries = keep_held(entries, ends, what)
    src, dst = entries.row, entries.col
    bad, numbers = BadRows.of_memory(what, on_bad_row), {}
    for name, dtype in fields.items():
        kind = np.dtype(dtype)
        values, wrong = cast_numbers(entries.data, kind)
        if wrong is not None:
            for at in np.flatnonzero(wrong).tolist():
                why = f"{name} of column {dst[at]} is {unfit_reason(entries.data[at], kind)}"
                bad.note(int(src[at]) + 1, why)
            src, dst, values = src[~wrong], dst[~wrong], values[~wrong]
        numbers[name] = values
    if not len(src):
        raise no_row_error(bad, "edge")
    return numbered_edges(
        EdgeRequest(what, ends, against=against, numbered=numbered),
        NumberedEnds(ColumnNumbering("matrix", 0), src, dst, (rows, columns)),
        numbers,
        coarse_notes(numbers),
        skipped=bad.count,
        first_skipped=bad.first,
    )


def check_matrix(matrix: Any, what: str) -> tuple[int, int]:
    """Return the numbers of rows and columns of a sparse matrix. Raises DataError for one of other
    dimensions, or not of real numbers.
    """
    if len(matrix.shape) != 2 or matrix.dtype.kind not in "biuf":
        raise DataError(
            f"{what} holds {matrix.dtype} of shape {matrix.shape}",
            do="Give a matrix of real numbers with rows and columns.",
        )
    return int(matrix.shape[0]), int(matrix.shape[1])


def read_network(
    graph: Any,
    ends: tuple[str, str],
    fields: Mapping[str, Any],
    what: str,
    *,
    against: Mapping[str, Ids] | None = None,
) -> EdgeData:
    """Read the edges of a graph of networkx, as `tux.arrays.networks.from_networkx` does. If no
    edge has an attribute with the name of the only field, the field is read from the attribute
    `weight`.
    """
    names = {name: name for name in fields}
    if len(fields) == 1:
        (name,) = fields
        has = any(name in attributes for *_, attributes in graph.edges(data=True))
        names = {name: name if has else "weight"}
    edges = from_networkx(
        graph, ends, {names[name]: dtype for name, dtype in fields.items()}, against=against
    )
    if not len(edges):
        raise DataError(f"{what} holds no edge", do="One is needed at least.")
    values = {name: edges.fields[names[name]] for name in fields}
    said = {name: source for name, source in names.items() if name != source}
    return replace(edges, fields=values, columns=said) if said else edges
