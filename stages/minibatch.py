"""MiniBatch: run stages block by block over one vertex type; each block is one clock."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tux.errors import ProgramError
from tux.layout import blocks_by_edges, blocks_by_vertices, tile_rows, without_cutting
from tux.program import Stage
from tux.random import key, permutation
from tux.stages import rotation
from tux.stages.apply import Apply
from tux.stages.block import Block
from tux.stages.exchange import Exchange
from tux.stages.fused import Fused, can_be_fused
from tux.stages.generate import Generate
from tux.worker import Worker

VISIT = 700
"""Edges of a vertex, on average, that a worker may walk at one visit where workers rotate: with thousands, vertices would follow the
last worker's edges so far that those of the others no longer fit (measured on 100 M ratings: a test error of .574 instead of .547)."""


def _run(blocks: int) -> int:
    """Small blocks that one kernel works through are shuffled in runs of neighbours: memory is read in streams, at twice the speed."""
    return max(1, min(64, blocks // 16))


class MiniBatch:
    """For each block b of the enumerated type, in an order shuffled by (seed, epoch):

        for each stage: run it for b          # one clock

    Blocks are ranges of the type's seeded order, of `vertices` vertices or of about `edges` edges each, or about `blocks` of them with
    equally many edges; otherwise there is one. The order of blocks changes from epoch to epoch (`shuffle=False`: never), their members
    don't. `over` is the enumerated end, by default that of the first Exchange inside. Every Exchange inside enumerates it; an Apply
    inside works on the block's rows of its type: the range itself, or the rows of the other end that the block's edges touch.

    `rotate=True`: workers are on different blocks at each clock, so that changes in place to a
    vertex are made by one worker after the other instead of by all at once: see
    `tux.stages.rotation`. What rotates is the end that is cut. Where the partition keeps the named
    end whole and cuts the other one, that one is enumerated; where both are cut, both rotate. This
    needs Exchanges that are called for each edge. With one that is called for each vertex, or has
    `enter` or `leave`, only the named end rotates. For programs that gather deltas instead,
    rotating would only cost messages.

    Sizes in edges are then lowered to give about slack + 2 blocks for each worker, so that a
    block's changes have arrived when the next worker comes to it; a size in vertices is kept. Where
    that makes too few blocks, because few vertices have most edges, empty blocks are added. Where
    vertices have many edges (VISIT), an epoch goes round several times, each with another share of
    the other end's vertices.

    `follow=True`: worker w goes through the blocks in the same order as the others, w turns behind the first. So it meets each block as
    the one before it has left it, and what the workers make of a blank start is one whole; for a first pass, since the last turns
    of one worker are idle for another.

    `together=True`: no block cuts a group of vertices that belong together (`tux.edges.TOGETHER`); a group larger than a block is one.

    With one worker, where nothing travels, the stages of all blocks are one compiled loop (`tux.stages.fused`), so that blocks may be as
    small as a vertex.
    """

    def __init__(
        self,
        *stages: Stage,
        vertices: int = 0,
        edges: int = 0,
        blocks: int = 0,
        over: str = "",
        shuffle: bool = True,
        rotate: bool = False,
        follow: bool = False,
        together: bool = False,
    ) -> None:
        self.stages, self.over, self.shuffle, self.rotate, self.follow, self.together = stages, over, shuffle, rotate, follow, together
        self.vertices, self.edges, self.count = vertices, edges, blocks
        if sum(size != 0 for size in (vertices, edges, blocks)) > 1:
            raise ProgramError("MiniBatch has more than one of vertices, edges and blocks", do="give one")
        if min(vertices, edges, blocks) < 0:
            raise ProgramError("MiniBatch has a negative size", do="give a number of vertices, edges or blocks; 0 is one block")

    def prepare(self, worker: Worker) -> None:
        """Cut the blocks and prepare the stages inside for them."""
        self._generate = next((stage for stage in self.stages if isinstance(stage, Generate)), None)
        if self._generate is not None:
            self._prepare_generated(worker, self._generate)
            return
        exchanges = [stage for stage in self.stages if isinstance(stage, Exchange)]
        if not exchanges and not self.over:
            raise ProgramError("MiniBatch has no Exchange inside and names no type", do='say over="..."')
        declared = worker.program.edge
        self.role = Exchange.role(exchanges[0], worker) if not self.over else self.over
        if self.role not in declared.roles:
            self.role = declared.roles[declared.ends.index(self.role)] if self.role in declared.ends else self.role
        for exchange in exchanges:
            exchange.over = exchange.over or self.role
            if exchange.role(worker) != self.role:
                raise ProgramError(
                    f"{exchange.label} enumerates {exchange.role(worker)} in a MiniBatch over {self.role}", do="enumerate one"
                )
            if exchange.held_out:
                raise ProgramError(
                    f"{exchange.label} walks held-out edges in a MiniBatch", do="put it into evaluate(), outside a MiniBatch"
                )
        if self.role not in declared.roles:
            raise ProgramError(f"MiniBatch: '{self.over}' is no end of {worker.program.edge_name}", do=f"ends: {', '.join(declared.roles)}")
        self._rotate_the_cut_end(worker, exchanges)
        self.cuts = self._cut(worker)
        vertices = worker.graph.of_role(self.role)
        self._local_cuts = vertices.local_cuts(self.cuts)
        for stage in self.stages:
            if isinstance(stage, Exchange):
                stage.cuts, stage.columns = self._local_cuts, self._columns(worker)
            if isinstance(stage, Apply):
                stage.cuts, stage.block_role = self.cuts, self.role
        self.fused = Fused(worker, self.stages) if len(self.cuts) > 2 and can_be_fused(worker, self.stages, self.role) else None
        if self.fused is None:
            for stage in self.stages:
                stage.prepare(worker)

    def _rotate_the_cut_end(self, worker: Worker, exchanges: list[Exchange]) -> None:
        """Enumerate the other end if it is cut, the named one is whole, and either will do."""
        other = worker.graph.edges.other(self.role)
        cut = [worker.graph.of_role(role).cut for role in (self.role, other)]
        if self._by_shares(worker) and cut == [False, True]:
            self.role = other
            for exchange in exchanges:
                exchange.over = other

    def _prepare_generated(self, worker: Worker, generate: Generate) -> None:
        """Blocks are ranges of the positions of one type; each worker makes the edges of those vertices that it masters."""
        if any(isinstance(stage, Exchange | Apply) for stage in self.stages) or self.edges:
            raise ProgramError(
                f"{generate.label} stands in a MiniBatch with Exchange, Apply or a size in edges", do="give it one of its own"
            )
        vertices = worker.graph.vertices[generate.over]
        n = vertices.part.vertices if vertices.part is not None else vertices.known
        size = -(-n // self.count) if self.count else self.vertices
        self.role, self.cuts, self.fused = generate.over, blocks_by_vertices(n, size), None
        self.shuffle = self.shuffle and generate.use is not None  # lists that are kept lie in the order of vertices
        generate.cuts = self._local_cuts = self.cuts
        for stage in self.stages:
            stage.prepare(worker)
        self.stages = tuple(each for stage in self.stages for each in (generate.expanded(worker) if stage is generate else [stage]))
        self.last = generate.last()

    def _cut(self, worker: Worker) -> np.ndarray:
        """Boundaries of the blocks in positions of the enumerated type: the same on all workers."""
        cuts = self._cut_in_use(worker)
        cuts = without_cutting(worker.graph.groups(self.role), cuts) if self.together else cuts
        if self.rotate and worker.graph.of_role(self.role).cut:
            least = rotation.least_blocks(worker.workers, worker.slack)
            most = len(cuts) if self._both_rotate(worker) else 0  # one of which is empty
            cuts = rotation.with_empty(cuts, max(least, most))
        return np.append(cuts, cuts[-1]) if self.follow and worker.workers > 1 else cuts

    def _cut_in_use(self, worker: Worker) -> np.ndarray:
        degrees = worker.graph.degrees(self.role)
        if self.vertices:
            return blocks_by_vertices(len(degrees), self.vertices)
        total = int(degrees.sum())
        size = -(-total // self.count) if self.count else self.edges
        if self.rotate and worker.workers > 1:
            size = max(1, min(size or total, total // ((worker.slack + 2) * worker.workers)))
        return blocks_by_edges(degrees, size)

    def blocks(self, worker: Worker) -> Iterator[Block]:
        """This worker's blocks of this epoch in their order."""
        count, order = len(self.cuts) - 1, self._order(worker)
        if self.rotate:
            order = rotation.start(order, worker.rank, worker.workers)
        if self.follow and worker.workers > 1:
            nothing = np.full(worker.workers - 1, count - 1)  # the last block is empty
            order = np.concatenate([nothing[: worker.rank], order[order < count - 1], nothing[worker.rank :]])
        rounds = self._generate.rounds if self._generate is not None else self._rounds(worker)
        if self._generate is None and self._both_rotate(worker):
            visits = list(rotation.both_ends(order, rounds, worker.rank, worker.workers, worker.slack))
        else:
            visits = [(r, int(number)) for r in range(rounds) for number in order]
        for i, (r, number) in enumerate(visits):
            yield Block(self.role, self._local_cuts, number, r, rounds, i % count / count)

    def _order(self, worker: Worker) -> np.ndarray:
        """The order of blocks in this epoch."""
        count = len(self.cuts) - 1
        if not self.shuffle:
            return np.arange(count)
        stream = key(worker.seed, "blocks", worker.epoch)
        if self.fused is None:
            return permutation(stream, count)
        runs = np.array_split(np.arange(count), -(-count // _run(count)))
        return np.concatenate([runs[i] for i in permutation(stream, len(runs))])

    def _by_shares(self, worker: Worker) -> bool:
        """Whether workers rotate and can walk a block share by share of the other end."""
        exchanges = [stage for stage in self.stages if isinstance(stage, Exchange)]
        possible = bool(exchanges) and all(exchange.by_tile for exchange in exchanges)
        return self.rotate and worker.workers > 1 and possible

    def _both_rotate(self, worker: Worker) -> bool:
        """Whether ends of two types are both cut, so that workers must be apart in both."""
        graph = worker.graph
        ends = [graph.of_role(role) for role in (self.role, graph.edges.other(self.role))]
        two = ends[0].name != ends[1].name
        return self._by_shares(worker) and two and all(end.cut for end in ends)

    def _rounds(self, worker: Worker) -> int:
        """How often a worker comes to each block in an epoch, with another share of the other end's vertices each time."""
        if not self._by_shares(worker):
            return 1
        degrees = worker.graph.degrees(self.role)
        visits = max(1, round(float(degrees.sum()) / max(len(degrees), 1) / worker.workers / VISIT))
        return max(visits, worker.workers) if self._both_rotate(worker) else visits

    def _columns(self, worker: Worker) -> np.ndarray | None:
        """Boundaries, in local rows, of the ranges of the other end that make up shares.

        None where the other end is whole: then each worker makes shares of its own vertices.
        """
        if not self._both_rotate(worker):
            return None
        other = worker.graph.edges.other(self.role)
        vertices, degrees = worker.graph.of_role(other), worker.graph.degrees(other)
        rounds, n = self._rounds(worker), len(degrees)
        tiles = -(-n // tile_rows(n, worker.tables[vertices.name].row_bytes()))
        count = rounds * -(-tiles // rounds)
        cuts = blocks_by_edges(degrees, max(1, int(degrees.sum()) // count))
        return vertices.local_cuts(cuts)

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """One pass over the blocks, with one worker."""
        if self.fused is None:
            worker.run([self])
            return
        order = self._order(worker)
        self.fused.run(worker, order, self._local_cuts)
        worker.clock += len(order) - 1
