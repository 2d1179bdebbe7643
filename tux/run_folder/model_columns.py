"""The model that a worker holds, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tux.arrays.given import to_given_type
from tux.arrays.ragged import Lists
from tux.engine.edge_results import edge_results
from tux.engine.model import model_fields
from tux.engine.worker import Worker
from tux.program.report import Model
from tux.run_folder.model_files import OF_EDGES

Categories = Mapping[str, Mapping[str, Sequence[str]]]
"""By vertex type and data field: the words that its numbers from 0 stand for."""


def columns_of(
    worker: Worker, id_types: Mapping[str, str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of the model that a worker holds, as `write_columns` takes them. Ids are of
    the types in which they were given (`Run.id_types`).
    """
    given = id_types or {}
    for name, vertices in worker.graph.vertices.items():
        ids = to_given_type(vertices.ids.values[: vertices.n_train], given.get(name, ""))
        yield name, {"id": ids, **vertex_columns(worker, name)}
    yield from edge_columns([worker], given)
    yield "tau", vertex_columns(worker, "tau")


def edge_columns(
    workers: Sequence[Worker], given: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the columns of results on the edges of `workers`, or that the first has of all, as
    `columns_of` does; `given`: the types of ids.
    """
    for name, rows in edge_results(workers):
        edge, columns = workers[0].program.edge_types[name], _flat(rows.fields)
        for role, kind, codes in zip(edge.roles, edge.ends, rows[:2], strict=True):
            ids = workers[0].graph.vertices[kind].ids.values[codes]
            columns[role] = to_given_type(ids, given.get(kind, ""))
        order = [each for each in (*edge.roles, *rows.fields) if each in columns]
        yield f"{name}{OF_EDGES}", {each: columns[each] for each in order}


def model_of(
    worker: Worker,
    edges: Iterable[tuple[np.ndarray, np.ndarray]] = (),
    categories: Categories | None = None,
) -> Model:
    """Return the model that a worker holds: fields and ids of the vertices known in training, and
    all of the context.
    """
    vertices, tau = worker.graph.vertices, worker.tables["tau"]
    fields = {name: vertex_columns(worker, name) for name in vertices}
    fields["tau"] = {name: tau.arrays[name] for name in tau.declared}
    ids = {name: v.ids.values[: v.n_train] for name, v in vertices.items()}
    return Model(fields, ids, edges, categories or {})


def vertex_columns(worker: Worker, name: str) -> dict[str, Any]:
    """Return the model's fields, (n,), (n, k) or lists, by vertex; further dimensions are laid out
    flat, and fields of no width left out.
    """
    return _flat(model_fields(worker, name))


def _flat(fields: Mapping[str, np.ndarray | Lists]) -> dict[str, Any]:
    """Return fields with at most one dimension beside the rows', those of no width left out."""
    columns = {
        f: array if isinstance(array, Lists) or array.ndim == 1 else array.reshape(len(array), -1)
        for f, array in fields.items()
    }
    return {f: array for f, array in columns.items() if isinstance(array, Lists) or array[:1].size}
