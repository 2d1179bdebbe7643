"""Initial values of all fields of a worker's rows: functions of (seed, type, field, dense index),
so that they do not depend on how the graph is cut.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tux.base.errors import DataError
from tux.base.random import key
from tux.base.text import plural_noun
from tux.rows.table import RowTable

if TYPE_CHECKING:
    from tux.engine.partition import Partition

CONTEXT = np.zeros(1, np.int64)
"""The dense index of the context's only row."""


def fill_rows(partition: Partition, *, trained: bool = False) -> None:
    """Give every field of every replica and master its initial value. DataError where a data field
    is missing. `trained`: the rows of one worker get those of a model later, so its fields of the
    vertices that training knows are left as they are.
    """
    for name, table in partition.tables.items():
        ids = CONTEXT if name == "tau" else partition.graph.vertices[name].order
        first = partition.graph.vertices[name].n_train if trained and name != "tau" else 0
        _fill(partition, table, ids, first)
    server = partition.server
    for name, table in server.tables.items():
        _fill(partition, table, partition.master_ids(name))
    for table in (server.tau, server.special.table):
        _fill(partition, table, CONTEXT)
    for mirrors in partition.mirrors.values():
        mirrors.reset()


def check_data(partition: Partition) -> None:
    """Raise the DataError of `fill_rows` for a data field that is missing, and fill nothing."""
    for table in partition.tables.values():
        for field, declared in table.declared.items():
            if declared.kind == "data":
                _data(partition, table, field)


def _fill(partition: Partition, table: RowTable, ids: np.ndarray, first: int = 0) -> None:
    """Fill the rows of the vertices `ids`; those of a model's fields from the vertex `first` on."""
    for field, declared in table.declared.items():
        array = table.arrays[field]
        if declared.kind == "data":
            array[...] = _data(partition, table, field)[ids]
            continue
        init: Any = declared.init
        stream = key(partition.seed, "initial", table.name, field)
        if not first or not declared.in_model or declared.is_ragged:
            init.fill(array, stream, ids)
        elif (new := np.flatnonzero(ids >= first)).size:
            rows = np.empty((len(new), *array.shape[1:]), array.dtype)
            init.fill(rows, stream, ids[new])
            array[new] = rows


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
        samples = f"; or write input = Samples(), if the data have the {field}s" if own else ""
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
