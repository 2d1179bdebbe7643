"""Exchange: run a UDF along edges; it may change both ends, the edge and the context in place."""

from __future__ import annotations

import numpy as np

from tux.base.errors import ProgramError
from tux.base.random import key
from tux.clock.block import Block
from tux.clock.steps import Step
from tux.engine.partition import Partition
from tux.graph.layout import columns_of_round, tile_order
from tux.graph.local import LocalVertices
from tux.program.base_program import BaseProgram
from tux.program.stage import Batch
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.calls import Call, on_edge, on_vertex, slice_of
from tux.stages.analysis.plan import ThreadPlan, plan_cells, plan_tiles, plan_vertices
from tux.stages.analysis.replica_rules import may_be_cut
from tux.stages.blocks.walk import Walk
from tux.stages.kernel.bind import Udf, names_role, parameters, udf_names
from tux.stages.kernel.loops import EdgeLoops, Loop
from tux.stages.kernel.tickets import (
    EACH,
    EDGES_PER_ITEM,
    Items,
    cells,
    even_items,
    ranges,
    with_tickets,
)


class Exchange(CallingStage):
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
    fields. `held_out=True` walks the held-out edges instead of the training edges; a vertex of
    training without any is passed over, one that was held out itself is not. Where nothing is held
    out, `f` is neither called nor compiled.

    On several workers a vertex is visited once a replica, with its local edges. `split=True`: the
    program is right so, as the effects of the visits add up; without it, UDFs for which that
    matters are refused (`tux.stages.analysis.replica_rules`). A number, ``split=8``: it is also
    right if a per-vertex UDF is called up to so many times for a vertex, each time with another
    share of its edges; so threads can work on several vertices whose UDF changes the other ends.
    `lanes=True`: it is right if threads change shared fields of the context on copies
    (`tux.stages.kernel.lanes`), as several workers do. `once=True`, for vertices alone: only
    masters are visited. `cut=False`: only vertices that one worker alone holds, so each has all its
    edges; on one worker, all. `cut=True`: only the others. Where the edges of an end are declared
    `whole`, a vertex is visited where they are, or, without any, where its master is; of held-out
    edges, only where it has some.
    """

    def __init__(
        self,
        f: Udf | None,
        over: str = "",
        *,
        enter: Udf | None = None,
        leave: Udf | None = None,
        held_out: bool = False,
        split: int = False,
        once: bool = False,
        lanes: bool = False,
        cut: bool | None = None,
    ) -> None:
        self.f, self.over, self.enter, self.leave, self.held_out = f, over, enter, leave, held_out
        self.split, self.once, self.lanes, self.cut = split, once, lanes, cut
        self.label = f"Exchange({udf_names(f or enter or leave)}{f', over={over}' if over else ''})"
        if f is None and enter is None and leave is None:
            raise ProgramError(
                "Exchange is given no function",
                do="name one without calling it: Exchange(f), or Exchange(None, enter=f)",
            )
        if not isinstance(over, str):
            raise ProgramError(
                f"{self.label}: `over` is no text", do='e.g. Exchange(f, over="src")'
            )
        if once and (f is not None or held_out):
            raise ProgramError(
                f"{self.label} has once=True and walks edges",
                do="visit the vertices alone: Exchange(None, enter=look, once=True)",
            )
        self._check_words()

    def _check_words(self) -> None:
        """Raise ProgramError for values of `split`, `lanes` and `cut` that this Exchange cannot
        have.
        """
        split, number = self.split, not isinstance(self.split, bool | np.bool_)
        if number and not (isinstance(split, int | np.integer) and split > 1):
            raise ProgramError(
                f"{self.label} has split={split!r}",
                do="write split=True, or a whole number from 2: the most shares of a vertex's "
                "edges, as in split=8",
            )
        if number and (self.enter or self.leave or not self._per_vertex):
            raise ProgramError(
                f"{self.label} has split={split}, and only a function with `edges`, without enter "
                "and leave, is called for shares of a vertex's edges",
                do="leave the number out; split=True is for several workers",
            )
        if not isinstance(self.lanes, bool | np.bool_):
            raise ProgramError(
                f"{self.label} has lanes={self.lanes!r}", do="write lanes=True, or leave it out"
            )
        if self.cut is not None and (not isinstance(self.cut, bool) or self.held_out):
            raise ProgramError(
                f"{self.label} has cut={self.cut!r}{' and held_out' * self.held_out}",
                do="write cut=False or cut=True in an Exchange on training edges, or leave it out",
            )
        if self.cut is not None and self.by_tile:
            raise ProgramError(
                f"{self.label} has cut={self.cut}, and is called for each edge",
                do="leave cut out: it is for functions that are called for each vertex",
            )
        if self.lanes and self.by_tile:
            raise ProgramError(
                f"{self.label} has lanes=True, and is called for each edge",
                do="leave lanes out: it is for functions that are called for each vertex",
            )

    def role(self, program: BaseProgram) -> str:
        """Return the enumerated end's name in UDFs; raise ProgramError where `over` names no
        end.
        """
        edge = program.edge
        if names_role(program, self.over, self.label):
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
        """True if the edges of a block can be walked share by share of the other end: if the UDF is
        called per edge, in any order.
        """
        return self.f is not None and not (self._per_vertex or self.enter or self.leave)

    def walk(self, partition: Partition, batch: Batch | None, role: str, plan: ThreadPlan) -> Walk:
        """Return the edges in the order in which they are walked; `role`: the enumerated end."""
        edges = partition.graph.held_out if self.held_out else partition.graph.edges
        if self.by_tile:
            return Walk.by_tile(partition, edges, role, batch)
        vertices = partition.graph.of_role(role)
        parts = 1
        if plan.form == "cells":
            parts = self.split
            if not partition.cuts_few:
                parts = _shares(len(edges) + edges.left_out, len(vertices), self.split)
        return Walk.by_vertex(partition, edges, role, along_edges=self.f is not None, parts=parts)

    def prepare(self, partition: Partition, batch: Batch | None = None) -> ExchangeStep:
        """Lay out the edges and compile the loop."""
        step = self._step(partition, batch)
        if batch is None and partition.workers > 1:
            calls = self.calls(partition.program, "")
            step.measures = frozenset().union(*(call.measures() for call in calls))
        return step

    def _step(self, partition: Partition, batch: Batch | None) -> ExchangeStep:
        role = batch.role if batch else self.role(partition.program)
        plan = self.plan(partition.program, role)
        walk = self.walk(partition, batch, role, plan)
        nothing = not len(walk.edges) and (walk.tiled or walk.rows == walk.n_train)
        if self.held_out and nothing and not (self.enter or self.leave):
            partition.kernels += 1  # random numbers are those of a run with held-out edges
            return ExchangeStep(partition, walk, plan, lambda *_: None)
        if walk.tiled:
            assert self.f is not None
            loops = EdgeLoops(partition, self.label, walk.edges, walk.layout, walk.role, plan)
            return ExchangeStep(partition, walk, plan, loops.per_edge(self.f))
        loops, lines = self.loops(partition, walk, plan)
        return ExchangeStep(partition, walk, plan, loops.over_rows(lines))

    def plan(self, program: BaseProgram, role: str) -> ThreadPlan:
        """Return the plan by which threads share the kernel; `role`: the end that is enumerated."""
        calls = self.calls(program, role)
        if self.by_tile:
            return plan_tiles(program, calls[0], role)
        if self.split > 1 and not self.held_out:
            return plan_cells(program, calls, role, lanes=self.lanes)
        return plan_vertices(program, calls, lanes=self.lanes)

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plan of the one kernel."""
        return {"": self.plan(program, role or self.role(program))}

    def loops(
        self, partition: Partition, walk: Walk, plan: ThreadPlan, prefix: str = ""
    ) -> tuple[EdgeLoops, list[str]]:
        """Return the loop over rows lo..hi of the enumerated end, as what it refers to and its
        lines. Not for edges in tiles.
        """
        loops = EdgeLoops(
            partition, self.label, walk.edges, walk.layout, walk.role, plan, prefix=prefix
        )
        per_vertex = self.f is not None and self._per_vertex
        head, *body = (
            loops.per_vertex(self.f)
            if self.f and per_vertex
            else loops.by_vertex(self.f, self.enter, self.leave)
        )
        visited = self._visited_mask(partition, walk)
        if visited is not None:
            loops.varying[f"{prefix}visited"] = visited
            body = [f"    if not {prefix}visited[v]:", "        continue", *body]
        if self.held_out and self.f:
            whole = partition.program.edge.whole == walk.role
            loops.varying[f"{prefix}n_train"] = walk.rows if whole else walk.n_train
            body = [
                f"    if v < {prefix}n_train and {prefix}bounds[v] == {prefix}bounds[v + 1]:",
                "        continue",
                *body,
            ]
        return loops, [head, *body]

    def _visited_mask(self, partition: Partition, walk: Walk) -> np.ndarray | None:
        """Return a mask (n_train,) of the rows of the enumerated end that are visited on this
        worker; None: all.
        """
        vertices = partition.graph.of_role(walk.role)
        if self.cut is not None:
            return _replicated_mask(vertices) == self.cut
        if self.held_out or vertices.part is None or not vertices.is_cut:
            return None
        positions = vertices.part.rows[: vertices.n_train]
        mastered = np.isin(positions, vertices.part.masters)
        if self.once:
            return mastered
        if self.f is None or partition.program.edge.whole != walk.role:
            return None
        without = partition.graph.degrees(walk.role)[positions] == 0
        some = np.diff(walk.layout.bounds[:: walk.layout.across])[: len(positions)] > 0
        return some | (without & mastered)

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return how the UDFs are called. A vertex is visited once a replica, unless that is
        declared otherwise.
        """
        edge, role = program.edge, role or self.role(program)
        types = dict(zip(edge.roles, edge.ends, strict=True))
        own = on_vertex(program, (role,), types[role])
        of_each = self.once or self.split or self.cut is False
        visits = "" if of_each or not may_be_cut(program, types[role]) else role
        at_one = self.f is not None and edge.whole == role
        if self.held_out and self.f is not None and edge.held_out == role:
            visits = ""
        if at_one:
            visits = ""
        alone = role if (at_one or self.once) and may_be_cut(program, types[role]) else ""
        calls = [
            Call(udf, program, "Exchange", own, {role: types[role]}, visits, alone=alone)
            for udf in (self.enter, self.leave)
            if udf is not None
        ]
        if self.f is None:
            return calls
        if not self._per_vertex:
            return [Call(self.f, program, "Exchange", on_edge(program), types), *calls]
        other = next(end for end in edge.roles if end != role)
        shapes = own | {"edges": slice_of(program, other, types[other], edge.fields)}
        rows = {role: types[role], f"edges.{other}": types[other]}
        f = Call(self.f, program, "Exchange", shapes, rows, visits, bool(visits), alone)
        return [f, *calls]


def _shares(edges: int, vertices: int, most: int) -> int:
    """Return the number of shares into which the edges of a vertex are cut."""
    return max(2, min(most, edges // max(vertices, 1) // EACH))


def _replicated_mask(vertices: LocalVertices) -> np.ndarray:
    """Return a mask (n_train,) of the rows of a type that have replicas on other workers, or a
    master on another.
    """
    part = vertices.part
    if part is None:
        return np.zeros(vertices.n_train, bool)
    holders = np.zeros(len(part.masters), np.int32)
    for held in part.down:
        holders[held] += 1  # a worker holds a vertex once
    alone = part.masters[holders <= 1]
    return ~np.isin(part.rows[: vertices.n_train], alone)


class ExchangeStep(Step):
    """An Exchange of one worker."""

    def __init__(self, partition: Partition, walk: Walk, plan: ThreadPlan, kernel: Loop) -> None:
        self._partition, self.walk, self._plan, self._kernel = partition, walk, plan, kernel
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
        if self.walk.tiled and span[1] - span[0] > 1:
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
            return Items(*cells(*span, bounds, across, stream, columns=plan.columns, least=least))
        if span not in self._ranges:
            self._ranges[span] = Items(even_items(*span, bounds))
        return self._ranges[span]

    def _in_order(self, tiles: np.ndarray, runs: np.ndarray) -> Items:
        """Return tiles as items, with tickets of their rows and columns in the grid, in `runs`."""
        bounds, plan = self.walk.layout.bounds, self._plan
        row, column = np.divmod(tiles, max(self.walk.layout.across, 1))
        items = ranges(bounds[tiles], bounds[tiles + 1])
        held = row if plan.rows else None, column if plan.columns else None
        return Items(*with_tickets(items, *held), runs)

    def run(self, block: Block | None = None) -> None:
        """Run the UDF along the block's edges."""
        layout, items = self.walk.layout, self.items(block)
        with self._partition.timing("compute"):
            self._kernel(items)
        if self.walk.edges is self._partition.graph.edges:
            if self.walk.tiled:
                count = items.size
            else:
                first, last = self.walk.groups(block)
                count = layout.bounds[last * layout.across] - layout.bounds[first * layout.across]
            self._partition.edges_visited += int(count)
