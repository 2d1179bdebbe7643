"""Exchange: run a UDF along edges; it may change both ends, the edge and the context in place."""

from __future__ import annotations

import numpy as np

from tux.errors import ProgramError
from tux.graph import Edges
from tux.layout import Layout, share, tile_order
from tux.random import key
from tux.stages.bind import Udf, named, parameters
from tux.stages.block import Block
from tux.stages.compile import Kernel
from tux.stages.loops import EdgeLoops
from tux.worker import Worker


class Exchange:
    """For the vertices of type `over` in the block, their local edges, in one of two forms by the UDF's parameters:

        per edge:    for each local edge e of the block, in any order:
                         f(user, item, rating, tau, p, rng)
        per vertex:  for each vertex v of the block:
                         f(item, edges, tau, p, rng)        # edges[i].user, edges[i].value

    With `enter` or `leave`, edges come grouped by vertex:

        for each vertex v of the block:
            enter(item, tau, p, rng);  for each local edge e of v: f(user, item, rating, ...);  leave(item, tau, p, rng)

    Without `f` (None) only the vertices are visited: ``Exchange(None, enter=look)``.

    Where both ends have one type they are called `src` and `dst`, and `over` is one of these; left out, it is the mini-batch's,
    or the end that a per-vertex, enter or leave UDF asks for, or the first. A self-loop passes one row twice. Nothing is kept
    between calls but what UDFs write into fields. A per-vertex UDF sees the vertex's local edges alone. `held_out=True` walks the
    held-out edges instead of the training edges; a vertex of training without any is passed over, one that was held out itself is not.
    Where nothing is held out, `f` is neither called nor compiled.
    """

    def __init__(
        self, f: Udf | None, over: str = "", *, enter: Udf | None = None, leave: Udf | None = None, held_out: bool = False
    ) -> None:
        self.f, self.over, self.enter, self.leave, self.held_out = f, over, enter, leave, held_out
        self.label = f"Exchange({named(f or enter or leave)}{f', over={over}' if over else ''})"
        self.cuts: np.ndarray | None = None
        self.columns: np.ndarray | None = None  # ranges of the other end's rows, where the mini-batch decides them
        self.layout: Layout
        self._kernel: Kernel

    def role(self, worker: Worker) -> str:
        """The enumerated end's name in UDFs; ProgramError where `over` names no end."""
        edge = worker.program.edge
        if self.over and self.over not in (*edge.ends, *edge.roles):
            raise ProgramError(f"{self.label}: '{self.over}' is no end of {worker.program.edge_name}", do=f"ends: {', '.join(edge.roles)}")
        if self.over in edge.roles:
            return self.over
        on_vertex = [udf for udf in (self.enter, self.leave) if udf]
        on_vertex += [self.f] if self.f and self._per_vertex else []
        asked = [name for udf in on_vertex for name in parameters(udf, self.label) if name in edge.roles]
        return asked[0] if asked else edge.roles[0]

    @property
    def _per_vertex(self) -> bool:
        return self.f is not None and "edges" in parameters(self.f, self.label)

    def prepare(self, worker: Worker) -> None:
        """Lay out the edges and compile the loop."""
        self.lay_out(worker)
        nothing = not len(self._edges(worker)) and (self._tiles or self._rows == self._known)
        if self.held_out and nothing and not (self.enter or self.leave):
            worker.kernels += 1  # random numbers are those of a run with held-out edges
            self._kernel = lambda *_: None
        elif self._tiles:
            assert self.f is not None
            self._kernel = EdgeLoops(worker, self.label, self._edges(worker), self.layout, self.role(worker)).per_edge(self.f)
        else:
            loops, lines = self.loops(worker)
            self._kernel = loops.over_rows(lines)

    def lay_out(self, worker: Worker) -> None:
        """Bring the edges into the order in which they are walked."""
        role, graph, declared = self.role(worker), worker.graph, worker.program.edge
        types = dict(zip(declared.roles, declared.ends, strict=True))
        edges = self._edges(worker)
        other = types[edges.other(role)]
        n = len(graph.vertices[types[role]])
        self._tiles = self.by_tile
        if self._tiles:
            cuts = self.cuts if self.cuts is not None else np.array([0, n])
            n_other, row_bytes = len(graph.vertices[other]), (worker.tables[types[role]].row_bytes(), worker.tables[other].row_bytes())
            self.layout = edges.walk_tiled(role, cuts, n_other, row_bytes, self.columns)
            self._bytes = (n * row_bytes[0], n_other * row_bytes[1])
        else:
            self.layout = edges.walk_grouped(role, n) if self.f else Layout.of_vertices(n)
            self._known = graph.vertices[types[role]].known
            self._rows = n if self.held_out else self._known

    def _edges(self, worker: Worker) -> Edges:
        return worker.graph.held_out if self.held_out else worker.graph.edges

    def loops(self, worker: Worker, prefix: str = "") -> tuple[EdgeLoops, list[str]]:
        """The loop over rows lo..hi of the enumerated end, and what it refers to. Not for edges in tiles."""
        loops = EdgeLoops(worker, self.label, self._edges(worker), self.layout, self.role(worker), prefix=prefix)
        per_vertex = self.f is not None and self._per_vertex
        head, *body = loops.per_vertex(self.f) if self.f and per_vertex else loops.by_vertex(self.f, self.enter, self.leave)
        if self.held_out and self.f:
            loops.varying[f"{prefix}known"] = self._known
            body = [f"    if v < {prefix}known and {prefix}bounds[v] == {prefix}bounds[v + 1]:", "        continue", *body]
        return loops, [head, *body]

    def _groups(self, block: Block | None) -> tuple[int, int]:
        """The block's groups of the layout: its tiles, or its rows. Without a block, all."""
        if self._tiles:
            number = block.number if block else 0
            return int(self.layout.blocks[number]), int(self.layout.blocks[number + 1])
        return block.rows if block else (0, self._rows)

    def tiles(self, worker: Worker, block: Block | None = None) -> np.ndarray:
        """The block's tiles, of its share of the other end if it has one, in a random order of this epoch.

        The order is random so that no tile is favoured by always coming last.
        """
        first, last = self._groups(block)
        if block is None or block.rounds == 1:
            stream = key(worker.seed, "tiles", worker.epoch, first)
            return tile_order(stream, first, last, self.layout.across, self._bytes)
        shares = key(worker.seed, "rounds", worker.epoch)
        columns = share(shares, self.layout.across, block.round, block.rounds)
        stream = key(worker.seed, "tiles", worker.epoch, first, block.round)
        return tile_order(stream, first, last, self.layout.across, self._bytes, columns)

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """Walk the block's edges."""
        bounds = self.layout.bounds
        with worker.timed("compute"):
            if self._tiles:
                tiles = self.tiles(worker, block)
                edges = (bounds[tiles + 1] - bounds[tiles]).sum()
                self._kernel(tiles)
            else:
                first, last = self._groups(block)
                edges = bounds[last] - bounds[first]
                self._kernel(first, last)
        if not self.held_out:
            worker.edges_visited += int(edges)

    @property
    def by_tile(self) -> bool:
        """Whether the edges of a block can be walked share by share of the other end: per edge, in any order."""
        return self.f is not None and not (self._per_vertex or self.enter or self.leave)
