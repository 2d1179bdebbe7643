"""The bounds of the blocks of a mini-batch, and the shares into which the other end is dealt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.engine.partition import Partition
from tux.graph.layout import blocks_by_edges, blocks_by_vertices, move_to_group_ends, tile_rows
from tux.graph.stored_arrays import Indices
from tux.program.stage import Batch
from tux.stages.blocks import rotation

VISIT = 700
"""Edges of a vertex, on average, that a worker may walk at one visit where workers rotate: with
thousands, vertices would follow the last worker's edges so far that those of the others no longer
fit (measured on 100 M ratings: a test error of .574 instead of .547).
"""


class Size(NamedTuple):
    """The size of a block in vertices or in edges, or the number of blocks; all 0: one block."""

    vertices: int = 0
    edges: int = 0
    blocks: int = 0

    def cuts(self, degrees: Indices, most_edges: int = 0) -> np.ndarray:
        """Return the boundaries (blocks + 1,) of blocks of vertices with these degrees, of at most
        about `most_edges` each unless that is 0.
        """
        if self.vertices:
            return blocks_by_vertices(len(degrees), self.vertices)
        size = -(-int(degrees.sum()) // self.blocks) if self.blocks else self.edges
        return blocks_by_edges(
            degrees, max(1, min(size or most_edges, most_edges)) if most_edges else size
        )


class BlockPlan(NamedTuple):
    """The order in which the workers of a job go through the blocks of a mini-batch over the end
    called `role`.

    `order`: "shuffled", "fixed", "rotated" or "pipelined", see MiniBatch. `by_shares`: a visit
    walks one share of the other end, in `rounds` visits to each block. `both_ends`: ends of two
    types are both cut, so workers must be apart in both.
    """

    role: str
    order: str
    rounds: int = 1
    both_ends: bool = False

    @staticmethod
    def of(partition: Partition, role: str, order: str, *, by_tile: bool) -> BlockPlan:
        """Return the plan over an end; `by_tile`: blocks can be walked share by share."""
        if order != "rotated" or partition.workers == 1 or not by_tile:
            return BlockPlan(role, order)
        other = partition.graph.edges.other(role)
        cut = [partition.graph.of_role(each).is_cut for each in (role, other)]
        if cut == [False, True]:  # the end that is whole is changed by one worker alone
            role, cut = other, [True, False]
        degrees = partition.graph.degrees(role)
        visits = max(
            1, round(float(degrees.sum()) / max(len(degrees), 1) / partition.workers / VISIT)
        )
        two_types = partition.graph.of_role(role).name != partition.graph.of_role(other).name
        both_ends = two_types and all(cut)
        return BlockPlan(
            role, order, max(visits, partition.workers) if both_ends else visits, both_ends
        )

    def batch(self, partition: Partition, size: Size, *, keep_groups: bool) -> Batch:
        """Return the blocks in the form in which the stages inside get them."""
        cuts = self._cuts(partition, size, keep_groups=keep_groups)
        return Batch(
            self.role,
            cuts,
            partition.graph.of_role(self.role).local_cuts(cuts),
            self._columns(partition),
        )

    def _cuts(self, partition: Partition, size: Size, *, keep_groups: bool) -> np.ndarray:
        degrees, several = partition.graph.degrees(self.role), partition.workers > 1
        rotated = self.order == "rotated" and several
        cuts = size.cuts(
            degrees,
            max(1, int(degrees.sum()) // ((partition.slack + 2) * partition.workers))
            if rotated
            else 0,
        )
        cuts = move_to_group_ends(partition.graph.groups(self.role), cuts) if keep_groups else cuts
        if rotated and partition.graph.of_role(self.role).is_cut:
            least = rotation.least_blocks(partition.workers, partition.slack)
            most = len(cuts) if self.both_ends else 0  # one of which is empty
            cuts = rotation.with_empty(cuts, max(least, most))
        return np.append(cuts, cuts[-1]) if self.order == "pipelined" and several else cuts

    def _columns(self, partition: Partition) -> np.ndarray | None:
        """Return the boundaries, in local rows, of the ranges of the other end that make up shares.

        Return None where the other end is whole: then each worker makes shares of its own vertices.
        """
        if not self.both_ends:
            return None
        other = partition.graph.edges.other(self.role)
        vertices, degrees = partition.graph.of_role(other), partition.graph.degrees(other)
        n = len(degrees)
        tiles = -(-n // tile_rows(n, partition.tables[vertices.name].row_bytes()))
        count = self.rounds * -(-tiles // self.rounds)
        cuts = blocks_by_edges(degrees, max(1, int(degrees.sum()) // count))
        return vertices.local_cuts(cuts)
