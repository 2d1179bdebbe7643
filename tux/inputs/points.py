"""Points for programs: the rows of a table as vertices, without edges."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.points import KIND
from tux.base.errors import DataError, UsageError
from tux.inputs.vertices import reshape_rows, wanted_fields
from tux.io.source.input_files import pieces_of
from tux.io.vertices.table import read_vertices
from tux.options.options import Reading
from tux.program.program import Program


def retype_points(edges: EdgeData, program: Program) -> EdgeData:
    """Turn points of no special type into vertices of the program's only type; return other data
    unchanged.
    """
    kind, *others = program.vertices
    if edges.ends != (KIND, KIND) or len(edges) or others or kind == KIND:
        return edges
    fields = {kind: edges.vertex_fields[KIND]}
    return replace(edges, ends=(kind, kind), ids={kind: edges.ids[KIND]}, vertex_fields=fields)


def read_points(source: Any, program: Program, reading: Reading) -> EdgeData:
    """Read the points of a table, a file or one in memory, with the data fields that the program
    declares.

    Raises the errors of `tux.io.vertices.table.read_vertices`, and UsageError for options that mean
    nothing here.
    """
    if named := reading.given_options():
        raise UsageError(
            f"{type(program).__name__} reads points, for which --{next(iter(named))} has no use",
            do="leave it out: columns are found by the names of the fields",
        )
    if isinstance(source, str | os.PathLike) and len(pieces_of(source)) > 1:
        raise UsageError(
            f"{source} stands for several files, but points are read from one",
            do="join them to one file",
        )
    kind = program.edge.ends[0]
    table = read_vertices(
        source, kind, wanted_fields(program, kind, {}), on_bad_row=reading.on_bad_row, points=True
    )
    ids, place = Ids.of(table.ids)
    if not len(ids):
        raise DataError(f"{table.name} holds no {kind}", do="A table has a row for each.")
    order = np.argsort(place)
    fields = {
        name: reshape_rows(values, program.vertices[kind].fields[name], program)[order]
        for name, values in table.fields.items()
    }
    none = np.empty(0, np.int32)
    return replace(
        EdgeData((kind, kind), {kind: ids}, none, none, {}),
        columns=table.columns,
        notes=table.notes,
        rows=len(ids),
        skipped=table.skipped,
        first_skipped=table.first_skipped,
        vertex_fields={kind: fields},
        categories={kind: table.categories} if table.categories else {},
    )
