"""Initial values of all fields of a worker's rows: those of a model with which it begins, and
functions of (seed, type, field, dense index), so that they do not depend on how the graph is cut.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tux.base.errors import DataError
from tux.base.random import key
from tux.base.text import plural_noun
from tux.engine.start_model import NOTHING, StartModel, Stored
from tux.rows.table import RowTable, in_model

if TYPE_CHECKING:
    from tux.engine.partition import Partition

CONTEXT = np.zeros(1, np.int64)
"""The dense index of the context's only row."""


def fill_rows(
    partition: Partition, start: StartModel = NOTHING, kept: Collection[str] = ()
) -> None:
    """Give every field of every replica and master its initial value: that of the model `start` for
    the vertices that it has, and for the context if it has any. DataError where a data field is
    missing, or the model has other fields. Tables that are `kept` have their values already.

    Lists are not taken from a model: a list has as many entries as the vertex has edges.
    """
    server, graph = partition.server, partition.graph
    held: dict[str, list[tuple[RowTable, np.ndarray]]] = {}
    for name, table in partition.tables.items():
        held[name] = [(table, CONTEXT if name == "tau" else graph.vertices[name].order)]
    for name, table in server.tables.items():
        held[name].append((table, partition.master_ids(name)))
    held["tau"] += [(table, CONTEXT) for table in (server.tau, server.special.table)]
    known = {**start.known, "tau": 1} if start.known else {}
    for name, tables in held.items():
        if name in kept:
            continue
        first = known.get(name, 0)
        stored = _copy_stored(partition, start.read, name, first, tables) if first else set[str]()
        for table, ids in tables:
            _fill(partition, table, ids, first, stored)
    for mirrors in partition.mirrors.values():
        mirrors.reset()


def check_data(partition: Partition) -> None:
    """Raise the DataError of `fill_rows` for a data field that is missing, and fill nothing."""
    for table in partition.tables.values():
        for field, declared in table.declared.items():
            if declared.kind == "data":
                _data(partition, table, field)


def _fill(
    partition: Partition, table: RowTable, ids: np.ndarray, first: int, stored: Collection[str]
) -> None:
    """Fill the rows of the vertices `ids`; those of `stored` fields from the vertex `first` on."""
    for field, declared in table.declared.items():
        array = table.arrays[field]
        if declared.kind == "data":
            array[...] = _data(partition, table, field)[ids]
            continue
        init: Any = declared.init
        stream = key(partition.seed, "initial", table.name, field)
        if field not in stored:
            init.fill(array, stream, ids)
        elif (new := np.flatnonzero(ids >= first)).size:
            rows = np.empty((len(new), *array.shape[1:]), array.dtype)
            init.fill(rows, stream, ids[new])
            array[new] = rows


def _stored_fields(table: RowTable) -> list[str]:
    """Return the names of the fields that a row takes from a model."""
    declared, arrays = table.declared, table.arrays
    return [
        name
        for name in in_model(table)
        if not declared[name].is_ragged
        and declared[name].kind != "data"
        and math.prod(arrays[name].shape[1:])
    ]


def _copy_stored(
    partition: Partition,
    read: Stored,
    name: str,
    known: int,
    tables: Sequence[tuple[RowTable, np.ndarray]],
) -> set[str]:
    """Copy the stored fields of a type into the rows, of each table, of vertices below `known`.
    Return the names of these fields.
    """
    copied = set[str]()
    for field in _stored_fields(tables[0][0]):
        columns, where = read(name, [field])
        if field not in columns:
            continue
        copied.add(field)
        stored = _resize(partition, tables[0][0], field, np.asarray(columns[field]))
        for table, ids in tables:
            array = table.arrays[field]
            shape = (known, *array.shape[1:])
            if not _fits(stored, shape, array.dtype):
                raise DataError(
                    f"{name}.{field} is {stored.dtype} {stored.shape}, but the program has "
                    f"{array.dtype} {shape}",
                    where=where,
                    do="use the program as it was when the model was trained",
                )
            rows = np.flatnonzero(ids < known)
            array[rows] = stored[ids[rows]].reshape(len(rows), *shape[1:])
    return copied


def _resize(partition: Partition, table: RowTable, field: str, stored: np.ndarray) -> np.ndarray:
    """Return the stored numbers of a field, (known, ...); of one that grows, with as many entries
    along the first dimension as the program has: those that are missing are initial.
    """
    declared, shape = table.declared[field], table.arrays[field].shape[1:]
    if not declared.grows or stored.size % (len(stored) * math.prod(shape[1:])):
        return stored
    held = stored.reshape(len(stored), -1, *shape[1:])
    whole = np.empty((len(stored), *shape), stored.dtype)
    init: Any = declared.init
    stream = key(partition.seed, "initial", table.name, field)
    init.fill(whole, stream, np.arange(len(stored)))
    both = min(held.shape[1], whole.shape[1])
    whole[:, :both] = held[:, :both]
    return whole


def _fits(stored: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> bool:
    """Return whether stored numbers have the rows and the size of a shape, and can be had in a
    type: real numbers in fewer bits, whole numbers as they are.
    """
    if stored.size != math.prod(shape) or len(stored) != shape[0]:
        return False
    if stored.dtype.kind in "iu" and dtype.kind in "iu":
        return stored.dtype == dtype or bool((stored.astype(dtype) == stored).all())
    return np.can_cast(stored.dtype, dtype, "same_kind")


def _data(partition: Partition, table: RowTable, field: str) -> np.ndarray:
    """Return a data field of all vertices of a type, (n, *shape)."""
    name, array, declared = table.name, table.arrays[field], table.declared[field]
    vertices, program = partition.graph.vertices[name], type(partition.program).__name__
    column, shape = vertices.data.get(field), array.shape[1:]
    if column is None and declared.default is not None:
        fixed = array.dtype.type(declared.default)
        return np.broadcast_to(fixed, (len(vertices.ids), *shape))
    if column is None:
        own = field in ("label", "weight") and name == partition.program.edge.ends[0]
        samples = (
            f"; or write input = Samples(), if the data have the {plural_noun(field)}"
            if own
            else ""
        )
        raise DataError(
            f"these data have no {name}.{field}, which {program} reads",
            do=f"name a table of the {plural_noun(name)}: --vertices {name}=FILE{samples}",
        )
    if declared.dtype.kind in "iub" and column.dtype.kind == "f" and (column % 1 != 0).any():
        raise DataError(
            f"{name}.{field} is {column[column % 1 != 0][0]}, not a whole number",
            do=f"declare it as real numbers in {program}",
        )
    if column.shape[1:] != shape:
        raise DataError(
            f"{name}.{field} has rows of shape {column.shape[1:]}, {program} wants {shape}",
            do="choose parameters, or declare the field, to fit the data",
        )
    return column
