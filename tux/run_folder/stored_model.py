"""The model in the folder of a run, read from its files when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tux.arrays.arrow import ParquetRows, parquet_names
from tux.arrays.given import to_id_type
from tux.arrays.ids import Ids
from tux.engine.edge_results import kept_edge_fields
from tux.engine.model import Columns, RunModel
from tux.engine.start_model import model_file
from tux.messages.edge_rows import EdgeRows
from tux.run_folder.model_files import OF_EDGES


class StoredModel:
    """A model that has been written into the folder of a run (`tux.engine.model.RunModel`). Fields
    have at most one dimension beside the rows'.
    """

    def __init__(self, folder: Path, model: RunModel) -> None:
        """Read the `model` from where it was written; its context stays in memory."""
        self._folder = folder
        self.program, self.sizes, self.tau = model.program, model.sizes, model.tau

    def ids(self, name: str, first: int = 0, end: int | None = None) -> np.ndarray:
        """Return ids as `RunModel.ids` does."""
        return np.asarray(to_id_type(self._read(name, ["id"], first, end)["id"]))

    def rows(
        self, name: str, first: int = 0, end: int | None = None, only: Sequence[str] | None = None
    ) -> Columns:
        """Return fields as `RunModel.rows` does."""
        if only is None:
            only = [f for f in parquet_names(model_file(self._folder, name)) if f != "id"]
        return self._read(name, only, first, end)

    def edges(self) -> Iterator[tuple[str, EdgeRows]]:
        """Yield edges as `RunModel.edges` does."""
        for name in kept_edge_fields(self.program):
            edge, stored = self.program.edge_types[name], f"{name}{OF_EDGES}"
            names = parquet_names(model_file(self._folder, stored))
            columns: dict[str, Any] = {**self._read(stored, names, 0, None)}
            src, dst = (
                Ids(self.ids(kind)).encode(to_id_type(columns.pop(role)))
                for role, kind in zip(edge.roles, edge.ends, strict=True)
            )
            yield name, EdgeRows(src, dst, columns)

    def _read(self, name: str, fields: Sequence[str], first: int, end: int | None) -> Columns:
        rows = ParquetRows(model_file(self._folder, name), fields)
        return rows.read(first, len(rows) if end is None else end)
