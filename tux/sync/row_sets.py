"""Sets of rows of a vertex type on which an Apply works: all, those of a block, or those that a
block's edges touch.

A worker and a home name the rows of a message by the numbers of blocks: both know the routes. Of
touched rows, a message says which rows of the route are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tux.clock.block import Block
from tux.clock.steps import Rows
from tux.graph.routes import ALL, Routes
from tux.messages.touched import RowsByBlock
from tux.program.stage import Batch

if TYPE_CHECKING:
    from tux.engine.partition import Partition

EVERY = (ALL,)


class AllRows:
    """All rows of the type, whatever the block.

    `masked`: a message says which rows are meant. `numbers`: the numbers that a block may have;
    ALL is that of no block. `told`: what messages have said of these rows.
    """

    masked = False

    def __init__(
        self, partition: Partition, over: str, batch: Batch | None, cuts: np.ndarray | None = None
    ) -> None:
        self.numbers = range(len(batch.cuts) - 1) if batch is not None else range(ALL, ALL + 1)
        self.n_train = partition.graph.vertices[over].n_train
        part = partition.graph.vertices[over].part
        self._routes = Routes(part, cuts) if part is not None else None
        self.told = RowsByBlock()

    def count_edges(self, partition: Partition, over: str) -> np.ndarray:
        """Count the edges of each row here that stand behind what it sends: those of all types."""
        return partition.graph.counts(over)

    @property
    def routes(self) -> Routes:
        """The routes of a type that the partition cuts."""
        assert self._routes is not None
        return self._routes

    def here(self, block: Block | None) -> Rows:
        """Return the rows of this worker."""
        return slice(0, self.n_train)

    def up(self, home: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return this worker's rows in these blocks whose masters are on `home`."""
        return self.routes.up(home, EVERY)

    def down(self, worker: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the masters here of which `worker` has replicas in these blocks; they are the rows
        of its `up`.
        """
        return self.routes.down(worker, EVERY)

    def masters(self, number: int) -> tuple[int, int]:
        """Return the first and last + 1 of the masters here in a block."""
        return self.routes.masters(ALL)


class BlockRows(AllRows):
    """The rows of the enumerated type that are in the block: a range."""

    def __init__(self, partition: Partition, over: str, batch: Batch) -> None:
        super().__init__(partition, over, batch, batch.cuts)

    def count_edges(self, partition: Partition, over: str) -> np.ndarray:
        """Count the edges of each row here, of the type along which the blocks go."""
        return partition.graph.counts_along(over)

    def here(self, block: Block | None) -> Rows:
        """Return the rows of this worker."""
        assert block is not None
        return slice(*block.rows)

    def up(self, home: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return this worker's rows in these blocks whose masters are on `home`."""
        return self.routes.up(home, numbers)

    def down(self, worker: int, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Return the masters here of which `worker` has replicas in these blocks; they are the rows
        of its `up`.
        """
        return self.routes.down(worker, numbers)

    def masters(self, number: int) -> tuple[int, int]:
        """Return the first and last + 1 of the masters here in a block."""
        return self.routes.masters(number)


class TouchedRows(AllRows):
    """Rows of the other end that have an edge into the block.

    ``rows[bounds[b]:bounds[b + 1]]`` (int32) are those of block b, ascending; of a type that is
    cut, first those whose masters are on worker 0, and so on.
    """

    masked = True

    def __init__(self, partition: Partition, over: str, batch: Batch) -> None:
        super().__init__(partition, over, batch)
        vertices, edges = partition.graph.vertices[over], partition.graph.edges
        n, blocks = max(len(vertices), 1), len(batch.local_cuts) - 1
        ends = edges.end(edges.other(batch.role))
        groups = np.repeat(np.arange(blocks), np.diff(batch.local_cuts))[edges.end(batch.role)]
        homes = 1
        if vertices.is_cut:
            part, homes = partition.part(over), partition.workers
            groups = groups * homes + part.homes_of_rows[ends]
        pairs, counts = np.unique(groups * n + ends, return_counts=True)
        weighted = vertices.is_cut and partition.server.needs_weights(over)
        self._homes = homes
        self._edges = counts.astype(np.float32) if weighted else None
        # boundaries of the rows of each block, and of each home in it
        self._bounds = np.searchsorted(pairs // n, np.arange(blocks * homes + 1))
        self.bounds, self.rows = self._bounds[::homes].copy(), (pairs % n).astype(np.int32)

    def here(self, block: Block | None) -> np.ndarray:
        """Return the rows of this worker."""
        assert block is not None
        return self.rows[self.bounds[block.number] : self.bounds[block.number + 1]]

    def rows_to_send(self, home: int, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return this worker's rows in a block whose masters are on `home`; and how many edges each
        has into the block (r,) float32, where masters weigh by that.
        """
        at = number * self._homes + home
        span = slice(self._bounds[at], self._bounds[at + 1])
        return self.rows[span], self._edges[span] if self._edges is not None else None


def row_set(
    partition: Partition, over: str, batch: Batch | None, *, by_block: bool = True
) -> AllRows:
    """Return the rows of type `over` that an Apply in `batch` works on; all where it stands alone,
    there is one block, or it does not go `by_block`.
    """
    if batch is None or not batch.has_several_blocks or not by_block:
        return AllRows(partition, over, batch)
    declared = partition.program.edge
    enumerated = declared.ends[declared.roles.index(batch.role)]
    return (
        BlockRows(partition, over, batch)
        if enumerated == over
        else TouchedRows(partition, over, batch)
    )
