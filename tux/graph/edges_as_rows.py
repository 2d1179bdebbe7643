"""The edges of a worker, made of those of a graph or of a part: their ends become rows, and their
fields columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tux.arrays.byte_codes import Column, code_column
from tux.arrays.disk_columns import empty_column, map_again, store_column
from tux.arrays.lookup import look_up
from tux.arrays.pieced import pop_pieces
from tux.base.errors import DataError, ProgramError
from tux.graph.kept_order import KeptOrder
from tux.graph.local_edges import LocalEdges
from tux.graph.parts import EdgePart, Part
from tux.program.base_program import BaseProgram


def edges_as_rows(
    program: BaseProgram,
    row_of: Mapping[str, np.ndarray],
    ends: list[np.ndarray],
    fields: Mapping[str, np.ndarray],
) -> LocalEdges:
    """Turn edges (m,) into rows; `row_of`: the row of each vertex, by type. `ends`: dense indices
    of either end, which leave the list.
    """
    if not len(ends[0]):
        none = np.empty(0, np.int32)
        return LocalEdges(program.edge, [none, none], _fields(program, {}, 0))
    columns = pop_pieces(ends)
    src, dst = (look_up(row_of[kind], next(columns)) for kind in program.edge.ends)
    return repeat_edges(program, src, dst, fields)


def edges_of_part(
    program: BaseProgram, part: Part | EdgePart, kept: KeptOrder | None = None
) -> LocalEdges:
    """Return the edges of a part as rows: in the order that is `kept`, if there is one."""

    def anew() -> LocalEdges:
        fields = {name: map_again(each) for name, each in part.fields.items()}
        return repeat_edges(program, map_again(part.src), map_again(part.dst), fields)

    if kept is None or kept.found is None:
        return replace(anew(), kept=kept)
    layout, columns = kept.found.layout, kept.found.fields
    fields = _fields(program, {}, int(layout.bounds[-1]), columns)
    return LocalEdges(program.edge, layout.held_ends(), fields, kept=kept, anew=anew)


def repeat_edges(
    program: BaseProgram, src: np.ndarray, dst: np.ndarray, columns: Mapping[str, np.ndarray]
) -> LocalEdges:
    """Repeat edges (m,) as often as their field `repeats` says, if the program has one."""
    if (repeats := program.edge.repeats) and len(src):
        if repeats not in columns:
            raise DataError(
                f"these edges have no {repeats}, which says how often each is there",
                do=f"fields: {', '.join(columns) or 'none'}",
            )
        times = columns[repeats]
        if not np.array_equal(times, np.floor(times)):
            raise DataError(
                f"an edge is there {times[times != np.floor(times)][0]} times",
                do=f"{repeats} must be a whole number",
            )
        times = times.astype(np.int64)
        if times.min() < 0:
            raise DataError(
                f"an edge is there {times.min()} times", do=f"{repeats} must be 0 or more"
            )
        src, dst = np.repeat(src, times), np.repeat(dst, times)
        columns = {f: np.repeat(a, times, axis=0) for f, a in columns.items() if f != repeats}
    return LocalEdges(program.edge, [src, dst], _fields(program, columns, len(src)))


def _fields(
    program: BaseProgram,
    columns: Mapping[str, np.ndarray],
    m: int,
    known: Mapping[str, Column] | None = None,
) -> dict[str, Column]:
    """Make the fields of m edges: from `columns` where they are data, unless they are `known`, else
    from their constant.
    """
    fields: dict[str, Column] = {}
    for name, f in program.edge.fields.items():
        if known and name in known:
            fields[name] = known[name]
            continue
        if m and f.kind == "data":
            if name not in columns:
                what = f"these edges have no {name}, which {type(program).__name__} reads"
                raise DataError(what, do=f"fields: {', '.join(columns) or 'none'}")
            # Kernels read arrays row after row, whatever their strides.
            fields[name] = code_column(store_column(columns[name], f.dtype))
            continue
        f = f.resolve(program.parameters)
        if f.init.law != "constant":  # type: ignore[union-attr]
            raise ProgramError(
                f"edge field {name} starts with random numbers",
                do="start it with a constant, and draw in setup()",
            )
        fields[name] = empty_column((m, *f.lengths), f.dtype)
        fields[name][...] = f.init.a  # type: ignore[index, union-attr]
    return fields
