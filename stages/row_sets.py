"""Which rows of a vertex type an Apply works on: all, those of a block, or those that a block's
edges touch.

A worker and a home name the rows of a message by the numbers of blocks: both know the routes. Of
touched rows, a message says which rows of the route are meant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.engine.worker import Worker
from tux.graph.routes import ALL, Routes
from tux.program.stage import Batch
from tux.protocol.block import Block
from tux.protocol.steps import Rows

EVERY = (ALL,)


class AllRows:
    """Every row of the type, whatever the block.

    `masked`: a message says which rows are meant. `numbers`: the numbers that a block may have;
    ALL is that of no block.
    """

    masked = False

    def __init__(
        self, worker: Worker, over: str, batch: Batch | None, cuts: np.ndarray | None = None
    ) -> None:
        self.numbers = range(len(batch.cuts) - 1) if batch is not None else range(ALL, ALL + 1)
        self.n_train = worker.graph.vertices[over].n_train
        part = worker.graph.vertices[over].part
        self._routes = Routes(part, cuts) if part is not None else None

    @property
    def routes(self) -> Routes:
        """Of a type that the partition cuts."""
        assert self._routes is not None
        return self._routes

    def here(self, block: Block | None) -> Rows:
        """Rows of this worker."""
        return slice(0, self.n_train)

    def up(self, home: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """This worker's rows in these blocks whose masters are on `home`."""
        return self.routes.up(home, EVERY)

    def down(self, worker: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Masters here, of which `worker` has replicas, in these blocks: its `up`."""
        return self.routes.down(worker, EVERY)

    def masters(self, number: int) -> tuple[int, int]:
        """First and last + 1 of the masters here in a block."""
        return self.routes.masters(ALL)


class BlockRows(AllRows):
    """The rows of the enumerated type that are in the block: a range."""

    def __init__(self, worker: Worker, over: str, batch: Batch) -> None:
        super().__init__(worker, over, batch, batch.cuts)

    def here(self, block: Block | None) -> Rows:
        """Rows of this worker."""
        assert block is not None
        return slice(*block.rows)

    def up(self, home: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """This worker's rows in these blocks whose masters are on `home`."""
        return self.routes.up(home, numbers)

    def down(self, worker: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Masters here, of which `worker` has replicas, in these blocks: its `up`."""
        return self.routes.down(worker, numbers)

    def masters(self, number: int) -> tuple[int, int]:
        """First and last + 1 of the masters here in a block."""
        return self.routes.masters(number)


class TouchedRows(AllRows):
    """Rows of the other end that have an edge into the block.

    ``rows[bounds[b]:bounds[b + 1]]`` are those of block b, ascending.
    """

    masked = True

    def __init__(self, worker: Worker, over: str, batch: Batch) -> None:
        super().__init__(worker, over, batch)
        edges, n = worker.graph.edges, max(len(worker.graph.vertices[over]), 1)
        block_of = np.repeat(np.arange(len(batch.local_cuts) - 1), np.diff(batch.local_cuts))[
            edges.end(batch.role)
        ]
        pairs, counts = np.unique(
            block_of * n + edges.end(edges.other(batch.role)), return_counts=True
        )
        self._edges = counts.astype(np.float32)
        self.bounds, self.rows = (
            np.searchsorted(pairs // n, np.arange(len(batch.local_cuts))),
            pairs % n,
        )

    def _span(self, block: Block | None) -> slice:
        assert block is not None
        return slice(self.bounds[block.number], self.bounds[block.number + 1])

    def here(self, block: Block | None) -> np.ndarray:
        """Rows of this worker."""
        return self.rows[self._span(block)]

    def edges_into(self, block: Block | None) -> np.ndarray:
        """(r,) float32: how many edges each row that is `here` has into the block."""
        return self._edges[self._span(block)]


def places(route: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of ascending `rows` those that an ascending route has: their places in it, and their places
    in `rows`.
    """
    at = np.searchsorted(route, rows.astype(route.dtype, copy=False))
    within = np.flatnonzero(at < len(route))
    which = within[route[at[within]] == rows[within]]
    return at[which], which


def row_set(worker: Worker, over: str, batch: Batch | None, *, by_block: bool = True) -> AllRows:
    """The rows of type `over` that an Apply in `batch` works on; all where it stands alone, there
    is one block, or it does not go `by_block`.
    """
    if batch is None or not batch.several or not by_block:
        return AllRows(worker, over, batch)
    declared = worker.program.edge
    enumerated = declared.ends[declared.roles.index(batch.role)]
    return (
        BlockRows(worker, over, batch) if enumerated == over else TouchedRows(worker, over, batch)
    )
