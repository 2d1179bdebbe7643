"""Tables of vertices, and of points, that loaders read in shares: which can be, what loaders are
asked for, and what is told of the tables afterwards.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tux.arrays import stores
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.piped import STANDARD
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name
from tux.inputs.vertices import alone_note, check_types, skipped_note, wanted_fields
from tux.io.formats.detect import Format
from tux.io.source.input_files import FilePiece, Files, list_files
from tux.io.source.odd_ids import odd_ids
from tux.io.vertices.arrays import table_format
from tux.io.vertices.columns import WantedField
from tux.io.vertices.shares import read_table_share
from tux.parallel_load.algorithm.plan import LoadingPlan
from tux.parallel_load.process.loading import LoadedGraph
from tux.parallel_load.process.table_rounds import FieldAsked, TableInput
from tux.program.input import Points, Samples
from tux.program.program import Program


class FoundTables(NamedTuple):
    """The tables of vertices of a run before their rows are read: what loaders are asked for, by
    vertex type, and the bytes of all; or `why` they are read whole.
    """

    inputs: Mapping[str, TableInput] = {}
    size: int = 0
    why: str = ""


def find_tables(program: Program, data: Any, tables: Mapping[str, Any] | None) -> FoundTables:
    """Find the tables that give data to vertices: points are one themselves."""
    points = isinstance(program.input, Points)
    given = {program.edge.ends[0]: data} if points else dict(tables or {})
    inputs, size = {}, 0
    for kind, source in given.items():
        try:
            found = _find_table(program, kind, source, points=points)
        except DataError as error:
            return FoundTables(why=f"reading the whole tells: {error.what}")
        if isinstance(found, str):
            return FoundTables(why=found)
        inputs[kind] = found
        size += 0 if points else list_files(source)[0].size
    return FoundTables(inputs, size)


def _find_table(program: Program, kind: str, source: Any, *, points: bool) -> TableInput | str:
    """Return what loaders are asked for of a table; or why it is read whole. Raises the errors of
    `tux.io.vertices.table.read_vertices` about columns.
    """
    if not isinstance(source, str | os.PathLike):
        return "tables in memory are in no file"
    path = list_files(source)[0].path if points else os.fspath(source)
    if path == STANDARD or not (stores.is_uri(path) or os.path.isfile(path)):
        return "a table of vertices is a file, which can be read again"
    if kind not in program.vertices:
        return f"there is no vertex type {kind}"
    of_samples = isinstance(program.input, Samples) and kind == program.edge.ends[0]
    given = {name: None for name in ("label", "weight") if of_samples}
    wanted = wanted_fields(program, kind, given)
    head = _read_head(path, kind, wanted, points=points)
    if head is None:
        return "arrays of a .npz file are read whole"
    fields = [_field_asked(program, kind, field) for field in wanted if field in head.fields]
    return TableInput(path, head.format.value, fields, points)


class _TableBeginning(NamedTuple):
    """The format of a table, and the fields for which it has columns."""

    format: Format
    fields: list[WantedField]


def _read_head(
    path: str, kind: str, wanted: Sequence[WantedField] | None, *, points: bool = False
) -> _TableBeginning | None:
    """Read the beginning of a table; None if it cannot be read in shares."""
    if (format := table_format(path)) is Format.NPZ:
        return None
    format = format if format in (Format.PARQUET, Format.NPY) else Format.TEXT
    nothing = Files.of(path, [FilePiece(path, 0, 0)])
    read = read_table_share(nothing, path, format, kind, wanted, points=points)
    return _TableBeginning(format, [*read.fields])


def whole_tables(tables: Mapping[str, str], plan: LoadingPlan) -> dict[str, TableInput]:
    """Return what loaders are asked for of tables with all their columns, by vertex type of a plan,
    where no program says which it reads. Raises UsageError for a table that is read whole, or of
    another type, and the errors of `tux.io.vertices.table.read_vertices` about columns.
    """
    check_types(tables, dict.fromkeys(plan.types), "this graph has")
    found = {}
    for kind, path in tables.items():
        again = path != STANDARD and (os.path.isfile(path) or not os.path.exists(path))
        head = _read_head(path, kind, None) if again else None
        names = [field.name for field in head.fields] if head else []
        if head is None or not {*names}.isdisjoint(plan.data.get(kind, [])):
            raise UsageError(f"{path} is read whole", do="leave --workers out")
        asked = [FieldAsked(name, "") for name in names]
        found[kind] = TableInput(path, head.format.value, asked, all_columns=True)
    return found


def _field_asked(program: Program, kind: str, wanted: WantedField) -> FieldAsked:
    """Return what loaders are asked for of a field."""
    declared = program.vertices[kind].fields[wanted.name]
    lengths = declared.resolve(program.parameters).lengths
    shape = [*lengths] if math.prod(lengths) else []
    default = None if declared.default is None else np.asarray(declared.default).item()
    given = wanted.width, wanted.parameter, shape, default
    return FieldAsked(wanted.name, declared.dtype.str, *given)


def table_lines(graph: LoadedGraph, tables: Mapping[str, TableInput]) -> Iterator[str]:
    """Yield the lines that reading the whole says of tables that loaders have joined with edges."""
    for kind, read in graph.ended[0].tables.items():
        name = data_name(tables[kind].data)
        if read.skipped:
            yield skipped_note(read.skipped, name, read.first_skipped)
        loaded = graph.ended[0].loaded.types[kind]
        if 0 < loaded.alone < loaded.ids:
            yield alone_note(loaded.alone, kind, name)


def points_read(graph: LoadedGraph, bare: EdgeData) -> EdgeData:
    """Return the ids of points, as loaders have read them, with the facts about their rows."""
    ((kind, read),) = graph.ended[0].tables.items()
    ids = Ids(bare.ids[kind].values)
    return replace(
        bare,
        ids={kind: ids},
        columns=read.columns,
        notes=(*read.notes, *odd_ids({kind: ids})),
        rows=len(ids),
        skipped=read.skipped,
        first_skipped=read.first_skipped,
    )
