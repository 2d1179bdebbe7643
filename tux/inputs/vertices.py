"""Tables of vertices (`--vertices TYPE=FILE`): their fields and their vertices, beside the edges.

A vertex of the table that has no edge is a vertex too. One that has edges, but no row in the table,
is refused unless each field that is read has a default.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays.edges import TOGETHER, EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.base.text import data_name, did_you_mean, plural, plural_noun
from tux.io.source.text import OnBadRow, without_skipping
from tux.io.vertices.columns import WantedField
from tux.io.vertices.table import VertexTable, read_vertices
from tux.options.python_words import in_python
from tux.program.fields import Field
from tux.program.program import Program

Warn = Callable[[str], None]


def check_types(tables: Mapping[str, Any], kinds: Mapping[str, Any], whose: str) -> None:
    """Raise UsageError for a table of a vertex type that does not exist."""
    for kind in tables:
        if kind not in kinds:
            raise UsageError(
                f"--vertices {kind}=...: {whose} no vertex type {kind!r}",
                do=f"{did_you_mean(kind, kinds)}vertex types: {', '.join(kinds)}",
            )


def wanted_fields(program: Program, kind: str, given: Mapping[str, Any]) -> list[WantedField]:
    """Return the data fields of a vertex type that a table is to fill: those that are not `given`
    already.
    """
    wanted = []
    for name, declared in program.vertices[kind].fields.items():
        if declared.kind != "data" or name in given or name == TOGETHER:
            continue
        lengths = declared.resolve(program.parameters).lengths
        width = math.prod(lengths) if lengths else None
        parameter = declared.shape[0] if len(lengths) == 1 else ""
        optional = declared.default is not None
        told = parameter if isinstance(parameter, str) else ""
        wanted.append(WantedField(name, declared.dtype, width, told, optional))
    return wanted


def join_vertex_tables(
    edges: EdgeData,
    program: Program,
    tables: Mapping[str, Any] | None,
    warn: Warn,
    on_bad_row: OnBadRow = "stop",
) -> EdgeData:
    """Join `tables` with the vertices of edges, by type: fields, categories, and vertices without
    edges, behind those that have some.

    Raises the errors of `tux.io.vertices.table.read_vertices`, UsageError for a type that the
    program does not have, and DataError for vertices that a table does not have.
    """
    check_types(tables or {}, program.vertices, f"{type(program).__name__} has")
    for kind, source in (tables or {}).items():
        given = edges.vertex_fields.get(kind, {})
        wanted = wanted_fields(program, kind, given)
        with nullcontext() if isinstance(source, str | os.PathLike) else in_python():
            table = read_vertices(source, kind, wanted, on_bad_row=on_bad_row)
        defaults = {each.name: program.vertices[kind].fields[each.name].default for each in wanted}
        edges = join_table(edges, kind, table, warn, defaults)
        fields = edges.vertex_fields[kind]
        own = {
            name: reshape_rows(fields[name], program.vertices[kind].fields[name], program)
            for name in table.fields
        }
        edges = replace(edges, vertex_fields={**edges.vertex_fields, kind: {**fields, **own}})
    return edges


def join_table(
    edges: EdgeData,
    kind: str,
    table: VertexTable,
    warn: Warn,
    defaults: Mapping[str, float | None],
) -> EdgeData:
    """Join the fields of a table with the vertices of type `kind` of edges. Vertices that the table
    does not have get the `defaults`.
    """
    name, known = data_name(table.name), edges.ids[kind]
    if table.skipped:
        warn(skipped_note(table.skipped, name, table.first_skipped))
    ids, (codes,) = Ids.over([table.ids], known)
    if len(known) and not (codes < len(known)).any():
        raise DataError(
            f"no {kind} of {table.name} is one of the data",
            do=f"The first there is {ids.values[codes[0]]}; the data's first is {ids.values[0]}."
            if len(codes)
            else "The table has no rows.",
        )
    alone = len(ids) - len(known)
    given = edges.vertex_fields.get(kind, {})
    if alone and (short := [field for field in given if field != TOGETHER]):
        raise DataError(
            f"{plural(alone, kind)} of {table.name} are not in the data, which say the "
            f"{short[0]} of each; one is {ids.values[-1]}",
            do="Leave them out of the table.",
        )
    if alone and len(known):
        warn(alone_note(alone, kind, name))
    lacking = np.ones(len(ids), np.bool_)
    lacking[codes] = False
    fields = {}
    for field, values in table.fields.items():
        if lacking.any() and defaults.get(field) is None:
            raise missing_row_error(
                kind, field, ids.values[lacking], table.name, declared=field in defaults
            )
        whole = np.full((len(ids), *values.shape[1:]), defaults.get(field) or 0, values.dtype)
        whole[codes] = values
        fields[field] = whole
    return replace(
        edges,
        ids={**edges.ids, kind: ids},
        vertex_fields={**edges.vertex_fields, kind: {**given, **fields}},
        categories={**edges.categories, kind: table.categories}
        if table.categories
        else edges.categories,
    )


def skipped_note(count: int, name: str, first: str) -> str:
    """Return the sentence about so many bad rows of a table; `first`: why the first one is bad."""
    return f"{plural(count, 'bad row')} of {name} skipped; the first is {first}"


def alone_note(count: int, kind: str, name: str) -> str:
    """Return the sentence about so many vertices that only a table has."""
    return f"{plural(count, kind)} of {name} without edges"


def missing_row_error(
    kind: str, field: str, ids: np.ndarray, where: str, *, declared: bool = True
) -> DataError:
    """Return the error about vertices that have edges, but no value of a field. `declared`: by a
    program, which may give it a default.
    """
    default = f', or declare {kind}.{field} with a default, as in {field} = data("f4", default=0)'
    return DataError(
        f"{plural(len(ids), kind)} of the data {'has' if len(ids) == 1 else 'have'} no row in the "
        f"table of {plural_noun(kind)}, such as {ids[0]}",
        where=where,
        do=f"Add the rows{default * declared}.",
    )


def read_tables(
    sources: Mapping[str, Any] | None, kinds: Mapping[str, Ids]
) -> dict[str, VertexTable]:
    """Read tables of vertices by type, with all their columns: where no program says which it
    reads. UsageError for a type that is not among `kinds`.
    """
    check_types(sources or {}, kinds, "this graph has")
    try:
        return {kind: read_vertices(table, kind, None) for kind, table in (sources or {}).items()}
    except DataError as error:
        raise without_skipping(error) from None


def join_given_tables(edges: EdgeData, tables: Mapping[str, VertexTable], warn: Warn) -> EdgeData:
    """Join edges with tables that are read already. Fields that the vertices of the edges have
    already are not replaced. DataError for vertices that a table does not have.
    """
    for kind, table in tables.items():
        given = edges.vertex_fields.get(kind, {})
        fields = {name: values for name, values in table.fields.items() if name not in given}
        edges = join_table(edges, kind, replace(table, fields=fields), warn, {})
    return edges


def reshape_rows(values: np.ndarray, declared: Field, program: Program) -> np.ndarray:
    """Reshape the rows of a field to the shape that the program declares, if it declares one."""
    lengths = declared.resolve(program.parameters).lengths
    return values.reshape(len(values), *lengths) if math.prod(lengths) and lengths else values


def align_with_train(test: EdgeData, train: EdgeData) -> EdgeData:
    """Give held-out edges in memory the indices of the ids of training, to which tables may have
    added ids. Their own vertex data come before those of training. DataError for edges between
    other types, and for vertex data that training does not have.
    """
    if test.ends != train.ends:
        ends, others = (" to ".join(each.ends) for each in (test, train))
        raise DataError(f"held-out edges from {ends} do not fit edges from {others}")
    moved = test.against(train.ids)
    fields = dict(moved.vertex_fields)
    for kind in test.vertex_fields.keys() - fields.keys():
        place = moved.ids[kind].encode(test.ids[kind].values)
        told = {}
        for name, values in test.vertex_fields[kind].items():
            before = train.vertex_fields.get(kind, {}).get(name)
            if before is None or before.shape[1:] != values.shape[1:]:
                raise DataError(
                    f"held-out edges tell {kind}.{name}, of which training tells nothing of such a "
                    "shape"
                )
            whole = np.zeros((len(moved.ids[kind]), *values.shape[1:]), before.dtype)
            whole[: len(before)] = before
            whole[place] = values
            told[name] = whole
        fields[kind] = told
    return replace(moved, vertex_fields=fields)


def add_vertex_data(test: EdgeData, train: EdgeData, program: Program) -> EdgeData:
    """Add to held-out edges the data of vertices that training has, and defaults for vertices that
    only they have. DataError where there is no default.
    """
    fields = {kind: dict(given) for kind, given in test.vertex_fields.items()}
    for kind, given in train.vertex_fields.items():
        new = len(test.ids[kind]) - len(train.ids[kind])
        for name, values in given.items():
            declared = program.vertices[kind].fields.get(name)
            if not new or declared is None or name in fields.get(kind, {}):
                continue
            if declared.default is None:
                unseen = test.ids[kind].values[len(train.ids[kind]) :]
                raise missing_row_error(kind, name, unseen, "the held-out edges")
            more = np.full((new, *values.shape[1:]), declared.default, values.dtype)
            fields.setdefault(kind, {})[name] = np.concatenate([values, more])
    return replace(test, vertex_fields=fields)


def fit_parameters(program: Program, edges: EdgeData) -> Program:
    """Set the parameters of a program that are 0, and are the length of a data field of vertices,
    to the length that the data have.
    """
    found = {}
    for kind, vertex in program.vertices.items():
        for name, declared in vertex.fields.items():
            values = edges.vertex_fields.get(kind, {}).get(name)
            if declared.kind != "data" or values is None or len(declared.shape) != 1:
                continue
            (parameter,) = declared.shape
            if program.parameters.get(str(parameter)) == 0 and values.ndim == 2:
                found[str(parameter)] = values.shape[1]
    return program.replace_parameters(**found) if found else program
