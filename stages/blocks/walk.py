"""The order in which an Exchange walks edges: in tiles that fit the cache, or vertex by vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tux.clock.block import Block
from tux.engine.partition import Partition
from tux.graph.ends import OFFSETS
from tux.graph.layout import Layout, cut_tiles
from tux.graph.local_edges import LocalEdges
from tux.program.stage import Batch

NO_CUTS = np.zeros(1, np.int64)


@dataclass(frozen=True)
class Walk:
    """Edges laid out for one worker; `role` is the enumerated end.

    `n_train`: rows of the enumerated end that training has; `rows`: those that are visited.
    `row_bytes`: bytes of all rows of the enumerated end, and of the other, and `tile_cuts`: the
    boundaries of their ranges, for tiles.
    """

    role: str
    edges: LocalEdges
    layout: Layout
    tiled: bool
    n_train: int
    rows: int
    row_bytes: tuple[int, int] = (0, 0)
    tile_cuts: tuple[np.ndarray, np.ndarray] = (NO_CUTS, NO_CUTS)

    @staticmethod
    def by_tile(
        partition: Partition, edges: LocalEdges, role: str, batch: Batch | None, least: int = 1
    ) -> Walk:
        """Lay out edges in tiles; a block is what lies between two neighbouring cuts of the
        mini-batch. `least`: rows of a range, if there are so many.
        """
        vertices, other = partition.graph.of_role(role), partition.graph.of_role(edges.other(role))
        n, n_other = len(vertices), len(other)
        # the rows of a mini-batch of one block, so that edges are held in one order for both
        rows = vertices.n_train if edges is partition.graph.edges else n
        cuts = batch.local_cuts if batch else np.array([0, rows])
        row_bytes = (
            partition.tables[vertices.name].row_bytes(),
            partition.tables[other.name].row_bytes(),
        )
        how = cuts, n_other, row_bytes, batch.columns if batch else None, least
        layout = edges.walk_tiled(role, *how)
        return Walk(
            role,
            edges,
            layout,
            True,
            vertices.n_train,
            n,
            (n * row_bytes[0], n_other * row_bytes[1]),
            cut_tiles(*how),
        )

    @staticmethod
    def by_vertex(
        partition: Partition, edges: LocalEdges, role: str, *, along_edges: bool, parts: int = 1
    ) -> Walk:
        """Lay out edges grouped by vertex, and by so many `parts` of the other end, or the vertices
        alone; of held-out edges, those of vertices that only the test has too.
        """
        vertices = partition.graph.of_role(role)
        other = partition.graph.of_role(edges.other(role))
        n, narrow = len(vertices), len(other) + other.left_out <= OFFSETS
        if not along_edges:
            layout = Layout.of_vertices(n)
        elif parts > 1:
            layout = edges.walk_cells(role, n, len(other), parts, narrow=narrow)
        else:
            layout = edges.walk_grouped(role, n, narrow=narrow)
        return Walk(
            role,
            edges,
            layout,
            False,
            vertices.n_train,
            vertices.n_train if edges is partition.graph.edges else n,
        )

    def groups(self, block: Block | None) -> tuple[int, int]:
        """Return the first and last + 1 of the block's groups of the layout: its tiles, or its
        rows. Without a block, all.
        """
        if self.tiled:
            number = block.number if block else 0
            return int(self.layout.blocks[number]), int(self.layout.blocks[number + 1])
        return block.rows if block else (0, self.rows)
