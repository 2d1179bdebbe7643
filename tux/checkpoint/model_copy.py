"""A copy of a worker's share of the model as it was at the end of an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tux.graph.local import LocalGraph
from tux.program.fields import Field

if TYPE_CHECKING:
    from tux.engine.worker import Worker


class ModelCopy:
    """A copy of a worker's share of the model: fields of its masters, the lengths of its lists, the
    context, and results on edges. Its memory is allocated once, when it is first made.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.arrays: list[np.ndarray] = []  # none as long as there is no copy

    def __bool__(self) -> bool:
        return bool(self.arrays)

    def make(self) -> None:
        """Copy the model as it is now."""
        self.allocate()
        for array, copy in zip(self._model(), self.arrays, strict=True):
            copy[...] = array

    def allocate(self) -> None:
        """Allocate the memory of a copy. The caller must fill it in."""
        self.arrays = self.arrays or [np.empty_like(array) for array in self._model()]

    def put_back(self) -> None:
        """Replace the model by the copy, if there is one."""
        if self.arrays:
            for array, copy in zip(self._model(), self.arrays, strict=True):
                array[...] = copy

    def drop(self) -> None:
        """Drop the copy and free its memory."""
        self.arrays = []

    def _model(self) -> list[np.ndarray]:
        worker = self._worker
        tables = [worker.tables["tau"], *map(worker.masters, worker.program.vertices)]
        of_rows = [
            table.arrays[f] for table in tables for f in fields_to_copy(table.name, table.declared)
        ]
        return of_rows + [array for _, array in kept_edge_arrays(worker.graph)]


def kept_edge_arrays(graph: LocalGraph) -> list[tuple[str, np.ndarray]]:
    """List the fields of edges that are part of the model, each with the name of its set of edges:
    "edges", or "edges.TYPE" of the types beside the first.
    """
    return [
        (name, edges.changing(f))
        for name, edges in graph.edge_sets.items()
        for f, declared in edges.declared.fields.items()
        if declared.kept and name != "held_out"
    ]


def fields_to_copy(name: str, declared: Mapping[str, Field]) -> list[str]:
    """List the fields of a table that a copy has, in its order: all of the context; of vertices
    those of the model, and the lengths of its lists.
    """
    if name == "tau":
        return [*declared]
    fields = [f for f, d in declared.items() if d.in_model]
    lengths = {declared[f].length for f in fields} - {"", *fields}
    return [*fields, *sorted(lengths)]
