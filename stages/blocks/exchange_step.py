"""The step of an Exchange: the edges of a block in their order, as items that threads share."""

from __future__ import annotations

import numpy as np

from tux.base.random import key
from tux.clock.block import Block
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.graph.layout import columns_of_round, tile_order
from tux.rows.turns import PART, PART_END
from tux.stages.analysis.plan import ThreadPlan
from tux.stages.blocks.walk import Walk
from tux.stages.kernel.loops import Loop
from tux.stages.kernel.tickets import (
    EDGES_PER_ITEM,
    Items,
    cells,
    even_items,
    pair_ranges,
    ranges,
    with_tickets,
)


class ExchangeStep(Step):
    """An Exchange of one worker. `others`: the end that `others` lead to, if its UDF asks for them:
    an item is a pair of tiles then, as either may be changed with the other.
    """

    def __init__(
        self, partition: Partition, walk: Walk, plan: ThreadPlan, kernel: Loop, others: str = ""
    ) -> None:
        self._partition, self.walk, self._plan, self._kernel = partition, walk, plan, kernel
        self._others = others
        self._ranges: dict[tuple[int, int], Items] = {}  # of blocks, the same in every pass

    def tiles(self, block: Block | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the block's tiles, of its share of the other end if it has one, in a random order
        of this pass, and the boundaries of their runs.

        The order is random so that no tile is favoured by always coming last.
        """
        partition, layout, row_bytes = self._partition, self.walk.layout, self.walk.row_bytes
        first, last = self.walk.groups(block)
        if block is None or block.rounds == 1:
            return tile_order(
                key(partition.seed, "tiles", partition.pass_number, first),
                first,
                last,
                layout.across,
                row_bytes,
            )
        columns = columns_of_round(
            key(partition.seed, "rounds", partition.pass_number),
            layout.across,
            block.round,
            block.rounds,
        )
        stream = key(partition.seed, "tiles", partition.pass_number, first, block.round)
        return tile_order(stream, first, last, layout.across, row_bytes, columns)

    def items(self, block: Block | None = None) -> Items:
        """Return the items of a block that threads share: its tiles in their order, or ranges of
        its rows.
        """
        bounds, plan, span = self.walk.layout.bounds, self._plan, self.walk.groups(block)
        alone = span[1] - span[0] <= 1 and (block is None or block.rounds == 1)
        if self.walk.tiled and not alone:
            return self._in_order(*self.tiles(block))
        if self.walk.tiled:  # of one tile there is one order
            if span not in self._ranges:
                self._ranges[span] = self._in_order(
                    np.arange(*span), np.array([0, span[1] - span[0]])
                )
            return self._ranges[span]
        if plan.form == "cells":
            stream = key(self._partition.seed, "cells", self._partition.pass_number, span[0])
            across = self.walk.layout.across
            least = 0 if self._partition.cuts_few else EDGES_PER_ITEM
            parts = cells(*span, bounds, across, stream, columns=plan.columns, least=least)
            return Items(*parts, edges=self._count_edges(span))
        if span not in self._ranges:
            self._ranges[span] = Items(even_items(*span, bounds), edges=self._count_edges(span))
        return self._ranges[span]

    def _count_edges(self, span: tuple[int, int]) -> int:
        """Return the number of edges of the groups of a block."""
        first, last = (at * self.walk.layout.across for at in span)
        return int(self.walk.layout.bounds[last] - self.walk.layout.bounds[first])

    def _in_order(self, tiles: np.ndarray, runs: np.ndarray) -> Items:
        """Return tiles as items, with tickets of their rows and columns in the grid, in `runs`."""
        bounds, plan, first = self.walk.layout.bounds, self._plan, self.walk.layout.first
        beside = None
        if self._others:
            tiles, runs, beside = self._pair_tiles(tiles, runs)
        row, column = np.divmod(tiles, max(self.walk.layout.across, 1))
        items = ranges(bounds[tiles], bounds[tiles + 1])
        if first is not None:
            items[:, PART], items[:, PART_END] = (rows[tiles] for rows in first)
        held = row if plan.rows else None, column if plan.columns else None
        return Items(*with_tickets(items, *held), runs, of_edges=True, beside=beside)

    def _pair_tiles(
        self, tiles: np.ndarray, runs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pair the ranges of the end that `others` lead to, and so the tiles that have them with
        one range of the other end. Return one tile of each pair, the runs of these, and
        `Items.beside`: the other one.
        """
        at = np.divmod(tiles, max(self.walk.layout.across, 1))
        own = at[0] if self._others == self.walk.role else at[1]
        paired = pair_ranges(own)
        stays = own <= paired
        runs = np.unique(np.append(0, np.cumsum(stays))[runs])
        return tiles[stays], runs, self._beside(tiles[stays], own[stays], paired[stays])

    def _beside(self, tiles: np.ndarray, own: np.ndarray, paired: np.ndarray) -> np.ndarray:
        """Return `Items.beside` of tiles, of their `own` ranges and of those `paired` with them."""
        layout, by_row = self.walk.layout, self._others == self.walk.role
        there = tiles + (paired - own) * (layout.across if by_row else 1)
        lo, hi = layout.bounds[there], layout.bounds[there + 1]
        side = self.walk.edges.declared.roles.index(self._others)
        first = layout.first[side][there] if layout.first else np.zeros(len(there), np.int64)
        cuts = self.walk.tile_cuts[0 if by_row else 1]
        rows = [cuts[own], cuts[own + 1], cuts[paired], cuts[paired + 1]]
        return np.stack([lo, hi, first, (hi - lo) * (own != paired), *rows], axis=1)

    def run(self, block: Block | None = None) -> None:
        """Run the UDF along the block's edges."""
        items = self.items(block)
        with self._partition.timing("compute"):
            self._kernel(items, *([] if items.beside is None else [items.beside]))
        if self.walk.edges is self._partition.graph.edges:
            self._partition.edges_visited += items.edges


class FrontierStep(ExchangeStep):
    """An Exchange that visits the vertices of which `flags` (n,) is True."""

    def __init__(
        self, partition: Partition, walk: Walk, plan: ThreadPlan, kernel: Loop, flags: np.ndarray
    ) -> None:
        super().__init__(partition, walk, plan, kernel)
        self._flags = flags

    def run(self, block: Block | None = None) -> None:
        """Run the UDF along the edges of the block's vertices that are active."""
        first, last = self.walk.groups(block)
        bounds = self.walk.layout.bounds
        with self._partition.timing("compute"):
            frontier = np.flatnonzero(self._flags[first:last])
            frontier += first
            edges = np.zeros(len(frontier) + 1, np.int64)
            np.cumsum(bounds[frontier + 1] - bounds[frontier], out=edges[1:])
            if len(frontier):
                shared = even_items(0, len(frontier), edges)
                self._kernel(Items(shared, edges=int(edges[-1])), frontier)
        self._partition.edges_visited += int(edges[-1])
