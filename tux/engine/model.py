"""The model of a run: its fields by vertex, from whoever holds them.

Vertices are known by their dense index, and read in ranges of it, so that whoever writes a model
need not hold it: one worker has all rows in its tables (`WorkerModel`), and several send ranges to
their launcher (`tux.engine.model_shares`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tux.arrays.ragged import Lists
from tux.engine.edge_results import edge_results
from tux.messages.edge_rows import EdgeRows
from tux.program.program import Program
from tux.rows.table import RowTable, in_model, lists_of_rows

if TYPE_CHECKING:
    from tux.engine.worker import Worker

Columns = dict[str, np.ndarray | Lists]
"""Fields of some vertices by name: (r, ...), and lists."""


class RunModel(Protocol):
    """The model of a run."""

    @property
    def program(self) -> Program:
        """The program that was trained."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The vertices of each type that training knows."""

    @property
    def tau(self) -> RowTable:
        """The context, with all of its fields."""

    def ids(self, name: str, first: int = 0, end: int | None = None) -> np.ndarray:
        """Return the ids of the vertices `first` up to `end` of a type, or of all."""

    def rows(
        self, name: str, first: int = 0, end: int | None = None, only: Sequence[str] | None = None
    ) -> Columns:
        """Return the model's fields, or `only` some, of the vertices `first` up to `end` of a type,
        or of all.
        """

    def edges(self) -> Iterator[tuple[str, EdgeRows]]:
        """Yield the edges with results, by type, as `tux.engine.edge_results.edge_results` does."""


class WorkerModel:
    """The model of the one worker of a run, read from its tables."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.program, self.tau = worker.program, worker.tables["tau"]
        self.sizes = {name: each.n_train for name, each in worker.graph.vertices.items()}

    def ids(self, name: str, first: int = 0, end: int | None = None) -> np.ndarray:
        """Return ids as `RunModel.ids` does."""
        end = self.sizes[name] if end is None else end
        return self._worker.graph.vertices[name].ids.values[first:end]

    def rows(
        self, name: str, first: int = 0, end: int | None = None, only: Sequence[str] | None = None
    ) -> Columns:
        """Return fields as `RunModel.rows` does."""
        vertices, table = self._worker.graph.vertices[name], self._worker.tables[name]
        rows = vertices.row_of[first : self.sizes[name] if end is None else end]
        return rows_of_table(table, rows, only)

    def edges(self) -> Iterator[tuple[str, EdgeRows]]:
        """Yield edges as `RunModel.edges` does."""
        yield from edge_results([self._worker])


class MemoryModel:
    """A copy of another model, as arrays in memory."""

    def __init__(self, model: RunModel, ranges: Mapping[str, Sequence[tuple[int, int]]]) -> None:
        """Copy a model, of each type range by range."""
        self.program, self.sizes, self.tau = model.program, model.sizes, model.tau
        self._ids = {name: model.ids(name) for name in self.sizes}
        self._columns = {
            name: _join(model, name, size, ranges[name]) for name, size in self.sizes.items()
        }
        self._edges = list(model.edges())

    def ids(self, name: str, first: int = 0, end: int | None = None) -> np.ndarray:
        """Return ids as `RunModel.ids` does."""
        return self._ids[name][first:end]

    def rows(
        self, name: str, first: int = 0, end: int | None = None, only: Sequence[str] | None = None
    ) -> Columns:
        """Return fields as `RunModel.rows` does."""
        columns = self._columns[name]
        return {f: columns[f][first:end] for f in (columns if only is None else only)}

    def edges(self) -> Iterator[tuple[str, EdgeRows]]:
        """Yield edges as `RunModel.edges` does."""
        yield from self._edges


def model_fields(worker: Worker, name: str) -> Columns:
    """Return the model's fields of a vertex type, by vertex known in training, or of "tau": (n,
    ...), and ragged ones as lists.
    """
    if name == "tau":
        return rows_of_table(worker.tables["tau"], np.zeros(1, np.int64))
    return WorkerModel(worker).rows(name)


def rows_of_table(table: RowTable, rows: np.ndarray, only: Sequence[str] | None = None) -> Columns:
    """Return the model's fields, or `only` some, of `rows` of a table."""
    return {
        f: lists_of_rows(table, f, rows) if table.declared[f].is_ragged else table.arrays[f][rows]
        for f in (in_model(table) if only is None else only)
    }


def _join(model: RunModel, name: str, size: int, ranges: Sequence[tuple[int, int]]) -> Columns:
    """Read the fields of all vertices of a type, range by range; each array is made once."""
    whole: dict[str, np.ndarray] = {}
    lists: dict[str, list[Lists]] = {}
    for first, end in ranges:
        for f, part in model.rows(name, first, end).items():
            if isinstance(part, Lists):
                lists.setdefault(f, []).append(part)
                continue
            if f not in whole:
                whole[f] = np.empty((size, *part.shape[1:]), part.dtype)
            whole[f][first:end] = part
    names = model.rows(name, 0, 0)
    return {f: whole[f] if f in whole else Lists.join(lists[f]) for f in names}
