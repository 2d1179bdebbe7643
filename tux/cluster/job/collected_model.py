"""The model of a job, as its launcher reads it from the workers, range by range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tux.arrays.arrow import ParquetRows
from tux.cluster.job.job import Job
from tux.cluster.transport.control import SendModel
from tux.engine.model import Columns
from tux.engine.model_shares import ModelAnswer, ModelTables
from tux.messages.edge_rows import EdgeRows
from tux.messages.message import Message

Collect = Callable[[SendModel, Callable[[Message], bool]], None]
"""A function that asks all workers, and passes on each message of their answers until all is
there.
"""


class CollectedModel:
    """The model of a job, of which this process holds no more than is asked for: ids are read from
    the folder of the parts, and fields come from the workers.
    """

    def __init__(self, job: Job, tables: ModelTables, collect: Collect) -> None:
        self._workers, self._tables, self._collect = job.workers, tables, collect
        self.program, self.sizes, self.tau = tables.program, tables.sizes, tables.tau
        self._ids = {name: ParquetRows(job.ids_file(name), ["id"]) for name in self.sizes}
        for f, value in self._ask(len(self.sizes)).rows().items():
            self.tau.arrays[f][...] = value

    def ids(self, name: str, first: int = 0, end: int | None = None) -> np.ndarray:
        """Return ids as `tux.engine.model.RunModel.ids` does."""
        ids: np.ndarray = self._ids[name].read(first, self.sizes[name] if end is None else end)[
            "id"
        ]
        return ids

    def rows(
        self, name: str, first: int = 0, end: int | None = None, only: Sequence[str] | None = None
    ) -> Columns:
        """Return fields as `tux.engine.model.RunModel.rows` does."""
        columns, end = self._tables.empty_rows(name), self.sizes[name] if end is None else end
        if columns and end > first:
            columns = self._ask([*self.sizes].index(name), first, end).rows()
        return {f: columns[f] for f in (columns if only is None else only)}

    def edges(self) -> Iterator[tuple[str, EdgeRows]]:
        """Yield edges as `tux.engine.model.RunModel.edges` does."""
        for table, name in enumerate(self._tables.edges, len(self.sizes) + 1):
            yield name, self._ask(table).edges()

    def _ask(self, table: int, first: int = 0, end: int = 0) -> ModelAnswer:
        """Ask all workers for a range of a table; return their answers, put together."""
        rows = max(end, 1) if table == len(self.sizes) else end
        answer = ModelAnswer(self._tables, table, first, rows, self._workers)
        self._collect(SendModel(table, first, end), answer.install)
        return answer
