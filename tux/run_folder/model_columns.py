"""The model of a run, as columns: those of a vertex type are its ids and its fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tux.arrays.given import to_given_type
from tux.arrays.ragged import Lists
from tux.engine.model import MemoryModel, RunModel, rows_of_table
from tux.messages.edge_rows import EdgeRows
from tux.program.report import Model
from tux.rows.table import RowTable
from tux.run_folder.model_files import OF_EDGES, group_ranges

Categories = Mapping[str, Mapping[str, Sequence[str]]]
"""By vertex type and data field: the words that its numbers from 0 stand for."""

NO_TYPES: Mapping[str, str] = {}
"""All ids are given back as they are held."""


class LazyColumns(Mapping[str, Any]):
    """Columns of these names, each of which is read when it is first asked for."""

    def __init__(self, names: Iterable[str], read: Callable[[str], Any]) -> None:
        self._read, self._columns = read, dict[str, Any].fromkeys(names)

    def __getitem__(self, name: str) -> Any:
        if self._columns[name] is None:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


def columns_of(
    model: RunModel, id_types: Mapping[str, str] = NO_TYPES
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of a model by vertex type, those of edges with results, and those of the
    context, as "tau". Ids are of the types in which they were given (`Run.id_types`).
    """
    for name in model.sizes:
        ids = to_given_type(model.ids(name), id_types.get(name, ""))
        yield name, {"id": ids, **_flat(model.rows(name))}
    yield from edge_columns(model.edges(), model, id_types)
    yield "tau", context_columns(model.tau)


def column_pieces(
    model: RunModel, id_types: Mapping[str, str] = NO_TYPES
) -> Iterator[tuple[str, Iterator[dict[str, Any]]]]:
    """Yield the columns of `columns_of` in pieces, as `write_columns` takes them: no more than a
    piece of a vertex type is in memory.
    """
    for name in model.sizes:
        given = _type_of_all(model, name, id_types.get(name, ""))
        yield name, map(partial(_piece, model, name, given), model_ranges(model, name))
    for name, columns in (
        *edge_columns(model.edges(), model, id_types),
        ("tau", context_columns(model.tau)),
    ):
        yield name, pieces_of(columns)


def copy_in_memory(model: RunModel) -> MemoryModel:
    """Copy a model into arrays of this process."""
    return MemoryModel(model, {name: model_ranges(model, name) for name in model.sizes})


def model_ranges(model: RunModel, name: str) -> list[tuple[int, int]]:
    """Return the ranges of the vertices of a type that are in memory at a time."""
    return group_ranges(model.sizes[name], _flat(model.rows(name, 0, 0)))


def pieces_of(columns: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut columns that are in memory into pieces, as `column_pieces` does."""
    rows = min((len(column) for column in columns.values()), default=0)
    fields = {name: column for name, column in columns.items() if name != "id"}
    for first, end in group_ranges(rows, fields):
        yield {name: column[first:end] for name, column in columns.items()}


def edge_columns(
    results: Iterable[tuple[str, EdgeRows]], model: RunModel, given: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of results on edges of a model, as `columns_of` does; `given`: the types of
    ids.
    """
    for name, rows in results:
        edge, columns = model.program.edge_types[name], _flat(rows.fields)
        for role, kind, codes in zip(edge.roles, edge.ends, rows[:2], strict=True):
            columns[role] = to_given_type(model.ids(kind)[codes], given.get(kind, ""))
        order = [each for each in (*edge.roles, *rows.fields) if each in columns]
        yield f"{name}{OF_EDGES}", {each: columns[each] for each in order}


def model_of(
    model: RunModel,
    edges: Iterable[tuple[np.ndarray, np.ndarray]] = (),
    categories: Categories | None = None,
) -> Model:
    """Return a model as reports get it: fields and ids of the vertices known in training, which are
    read when they are asked for, and all of the context.
    """

    def read(name: str, field: str) -> Any:
        return _flat(model.rows(name, only=[field]))[field]

    fields: dict[str, Mapping[str, Any]] = {
        name: LazyColumns(_flat(model.rows(name, 0, 0)), partial(read, name))
        for name in model.sizes
    }
    fields["tau"] = {name: model.tau.arrays[name] for name in model.tau.declared}
    return Model(fields, LazyColumns(model.sizes, model.ids), edges, categories or {})


def context_columns(tau: RowTable) -> dict[str, Any]:
    """Return the model's fields of the context; further dimensions are laid out flat, and fields of
    no width left out.
    """
    return _flat(rows_of_table(tau, np.zeros(1, np.int64)))


def _piece(model: RunModel, name: str, given: str, piece: tuple[int, int]) -> dict[str, Any]:
    """Read a range of the vertices of a type."""
    ids = to_given_type(model.ids(name, *piece), given)
    return {"id": ids, **_flat(model.rows(name, *piece))}


def _type_of_all(model: RunModel, name: str, given: str) -> str:
    """Return the type in which ids were given if it can hold all of them, as it may not where data
    of other types were added; else "".
    """
    dtype = np.dtype(given or "int64")
    for first, end in model_ranges(model, name) if given else ():
        if to_given_type(model.ids(name, first, end), given).dtype != dtype:
            return ""
    return given


def _flat(fields: Mapping[str, np.ndarray | Lists]) -> dict[str, Any]:
    """Return fields with at most one dimension beside the rows', those of no width left out."""
    columns = {
        f: array
        if isinstance(array, Lists) or array.ndim == 1
        else array.reshape(len(array), math.prod(array.shape[1:]))
        for f, array in fields.items()
    }
    return {
        f: array
        for f, array in columns.items()
        if isinstance(array, Lists) or array.ndim == 1 or array.shape[1]
    }
