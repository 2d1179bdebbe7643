"""Exchange: run a UDF along edges; it may change both ends, the edge and the context in place."""

from __future__ import annotations

import numpy as np

from tux.base.random import key
from tux.engine.worker import Worker
from tux.graph.layout import share, tile_order
from tux.program.stage import Batch, Stage
from tux.protocol.block import Block
from tux.protocol.steps import Step
from tux.stages.bind import Udf, named, names_role, parameters
from tux.stages.compile import Kernel
from tux.stages.loops import EdgeLoops
from tux.stages.walk import Walk


class Exchange(Stage):
    """For the vertices of type `over` in the block, their local edges, in one of two forms by the
    UDF's parameters:

        per edge:    for each local edge e of the block, in any order:
                         f(user, item, rating, tau, p, rng)
        per vertex:  for each vertex v of the block:
                         f(item, edges, tau, p, rng)        # edges[i].user, edges[i].value

    With `enter` or `leave`, edges come grouped by vertex:

        for each vertex v of the block:
            enter(item, tau, p, rng);  for each local edge e of v: f(user, item, rating, ...);
                                       leave(item, tau, p, rng)

    Without `f` (None) only the vertices are visited: ``Exchange(None, enter=look)``.

    Where both ends have one type they are called `src` and `dst`, and `over` is one of these; left
    out, it is the mini-batch's, or the end that a per-vertex, enter or leave UDF asks for, or the
    first. A self-loop passes one row twice. Nothing is kept between calls but what UDFs write into
    fields. A per-vertex UDF sees the vertex's local edges alone. `held_out=True` walks the held-out
    edges instead of the training edges; a vertex of training without any is passed over, one that
    was held out itself is not. Where nothing is held out, `f` is neither called nor compiled.
    """

    def __init__(
        self,
        f: Udf | None,
        over: str = "",
        *,
        enter: Udf | None = None,
        leave: Udf | None = None,
        held_out: bool = False,
    ) -> None:
        self.f, self.over, self.enter, self.leave, self.held_out = f, over, enter, leave, held_out
        self.label = f"Exchange({named(f or enter or leave)}{f', over={over}' if over else ''})"

    def role(self, worker: Worker) -> str:
        """The enumerated end's name in UDFs; ProgramError where `over` names no end."""
        edge = worker.program.edge
        if names_role(worker.program, self.over, self.label):
            return self.over
        on_vertex = [udf for udf in (self.enter, self.leave) if udf]
        on_vertex += [self.f] if self.f and self._per_vertex else []
        asked = [
            name for udf in on_vertex for name in parameters(udf, self.label) if name in edge.roles
        ]
        return asked[0] if asked else edge.roles[0]

    @property
    def _per_vertex(self) -> bool:
        return self.f is not None and "edges" in parameters(self.f, self.label)

    @property
    def by_tile(self) -> bool:
        """Whether the edges of a block can be walked share by share of the other end: per edge,
        in any order.
        """
        return self.f is not None and not (self._per_vertex or self.enter or self.leave)

    def walk(self, worker: Worker, batch: Batch | None) -> Walk:
        """The edges in the order in which they are walked; the mini-batch says which end is
        enumerated.
        """
        edges = worker.graph.held_out if self.held_out else worker.graph.edges
        role = batch.role if batch else self.role(worker)
        if self.by_tile:
            return Walk.by_tile(worker, edges, role, batch)
        return Walk.by_vertex(worker, edges, role, along_edges=self.f is not None)

    def prepare(self, worker: Worker, batch: Batch | None = None) -> ExchangeStep:
        """Lay out the edges and compile the loop."""
        walk = self.walk(worker, batch)
        nothing = not len(walk.edges) and (walk.tiled or walk.rows == walk.n_train)
        if self.held_out and nothing and not (self.enter or self.leave):
            worker.kernels += 1  # random numbers are those of a run with held-out edges
            return ExchangeStep(worker, walk, lambda *_: None)
        if walk.tiled:
            assert self.f is not None
            return ExchangeStep(
                worker,
                walk,
                EdgeLoops(worker, self.label, walk.edges, walk.layout, walk.role).per_edge(self.f),
            )
        loops, lines = self.loops(worker, walk)
        return ExchangeStep(worker, walk, loops.over_rows(lines))

    def loops(self, worker: Worker, walk: Walk, prefix: str = "") -> tuple[EdgeLoops, list[str]]:
        """The loop over rows lo..hi of the enumerated end, and what it refers to. Not for edges
        in tiles.
        """
        loops = EdgeLoops(worker, self.label, walk.edges, walk.layout, walk.role, prefix=prefix)
        per_vertex = self.f is not None and self._per_vertex
        head, *body = (
            loops.per_vertex(self.f)
            if self.f and per_vertex
            else loops.by_vertex(self.f, self.enter, self.leave)
        )
        if self.held_out and self.f:
            loops.varying[f"{prefix}n_train"] = walk.n_train
            body = [
                f"    if v < {prefix}n_train and {prefix}bounds[v] == {prefix}bounds[v + 1]:",
                "        continue",
                *body,
            ]
        return loops, [head, *body]


class ExchangeStep(Step):
    """An Exchange of one worker."""

    def __init__(self, worker: Worker, walk: Walk, kernel: Kernel) -> None:
        self._worker, self.walk, self._kernel = worker, walk, kernel

    def tiles(self, block: Block | None = None) -> np.ndarray:
        """The block's tiles, of its share of the other end if it has one, in a random order of this
        pass.

        The order is random so that no tile is favoured by always coming last.
        """
        worker, layout, row_bytes = self._worker, self.walk.layout, self.walk.row_bytes
        first, last = self.walk.groups(block)
        if block is None or block.rounds == 1:
            return tile_order(
                key(worker.seed, "tiles", worker.pass_number, first),
                first,
                last,
                layout.across,
                row_bytes,
            )
        columns = share(
            key(worker.seed, "rounds", worker.pass_number), layout.across, block.round, block.rounds
        )
        stream = key(worker.seed, "tiles", worker.pass_number, first, block.round)
        return tile_order(stream, first, last, layout.across, row_bytes, columns)

    def run(self, block: Block | None = None) -> None:
        """Walk the block's edges."""
        bounds = self.walk.layout.bounds
        with self._worker.timed("compute"):
            if self.walk.tiled:
                tiles = self.tiles(block)
                edges = (bounds[tiles + 1] - bounds[tiles]).sum()
                self._kernel(tiles)
            else:
                first, last = self.walk.groups(block)
                edges = bounds[last] - bounds[first]
                self._kernel(first, last)
        if self.walk.edges is self._worker.graph.edges:
            self._worker.edges_visited += int(edges)
