"""Exchange: run a UDF along edges; it may change both ends, the edge and the context in place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.base.text import did_you_mean
from tux.engine.partition import Partition
from tux.graph import layout
from tux.program.base_program import AnyProgram, BaseProgram, along, first_edge
from tux.program.stage import Batch
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.calls import BESIDE, Call, on_edge, on_vertex, slice_of
from tux.stages.analysis.edge_rules import refuse_equal_draws, refuse_remote_edges
from tux.stages.analysis.former_words import refuse_former_words
from tux.stages.analysis.plan import ThreadPlan, plan_cells, plan_racing, plan_tiles, plan_vertices
from tux.stages.analysis.promises import check_promises, check_shares
from tux.stages.analysis.replica_rules import may_be_cut
from tux.stages.blocks.exchange_step import ExchangeStep, FrontierStep
from tux.stages.blocks.walk import Walk
from tux.stages.kernel.bind import Udf, names_role, parameters, udf_names
from tux.stages.kernel.loops import EdgeLoops
from tux.stages.kernel.tickets import EACH


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

    A UDF per edge, without `enter` and `leave`, may have the parameters `others` and `vertices`:
    some other edges and vertices of the block, `others[i].item` and `vertices[i].item`, of the end
    that `over` names, whose rows it may read and change as its own. In each pass the ranges of this
    end are paired (`tux.graph.layout`), and the edges of the two tiles that have them with one
    range of the other end are visited in turn. `others` are the edges of the other tile, which may
    be none, and `vertices` the other range. A lone range is its own other one. Which they are does
    not depend on the threads.

    Vertices without their edges are visited by a ForEach.

    `edge="tag"`: the edges of that type; left out, those of the first type of the program. Where
    both ends have one type they are called `src` and `dst`, and `over` is one of these; left out,
    it is the mini-batch's, or the end that a per-vertex, enter or leave UDF asks for, or the first.
    A self-loop passes one row twice. Nothing is kept between calls but what UDFs write into fields.
    `held_out=True` walks the held-out edges instead of the training edges; a vertex of
    training without any is passed over, one that was held out itself is not. Where nothing is held
    out, `f` is neither called nor compiled.

    On several workers a vertex is visited once a replica, with its local edges. A program may
    promise more than the engine can see:

        additive=True       what the visits of a vertex do adds up, so it is right on several
                            workers; without it, UDFs for which that matters are refused
                            (`tux.stages.analysis.replica_rules`)
        shares=8            additive, and a per-vertex UDF may be called up to so many times for a
                            vertex, each time with another share of its edges: so threads can work
                            on several vertices whose UDF changes the other ends
        stale_context=True  threads may change shared fields of the context on copies
                            (`tux.stages.kernel.lanes`), as several workers do
        racing=True         results may depend on the order of the calls, and on what others change
                            meanwhile (Hogwild: Recht et al., NIPS 2011). With ``--racing`` all
                            threads then run them in no order: two runs differ

    `active="changed"`: only vertices whose field of that name is True, a `value` of dtype b1, with
    their edges, in one form or the other: a frontier. What it costs grows with their edges alone.
    At any slack it sees the flags that all earlier stages have left, so none is missed.

    `cut=False`: only vertices that one worker alone holds, so each has all its edges; on one
    worker, all. `cut=True`: only the others. Where the edges of an end are declared `whole`, a
    vertex is visited where they are, or, without any, where its master is; of held-out edges, only
    where it has some.
    """

    once = False
    """Whether only masters are visited."""
    active = ""
    """The field of the vertices that are visited; "": all are."""

    def __init__(
        self,
        f: Udf,
        over: str = "",
        *,
        edge: str = "",
        enter: Udf | None = None,
        leave: Udf | None = None,
        held_out: bool = False,
        additive: bool = False,
        shares: int = 0,
        stale_context: bool = False,
        racing: bool = False,
        cut: bool | None = None,
        active: str = "",
        **former: Any,
    ) -> None:
        self.f: Udf | None = f
        self.over, self.enter, self.leave, self.held_out = over, enter, leave, held_out
        self.additive, self.shares, self.stale_context = additive, shares, stale_context
        self.cut, self.active, self.edge, self.racing = cut, active, edge, racing
        named = {"over": over, "edge": edge, "active": active}
        words = [udf_names(f), *(f"{name}={value}" for name, value in named.items() if value)]
        self.label = f"Exchange({', '.join(words)})"
        refuse_former_words(self.label, former)
        if f is None:
            visited = f"ForEach(TYPE, {udf_names(enter or leave) or 'f'})"
            raise ProgramError(
                "Exchange is given no function",
                do=f"name one without calling it: Exchange(f); vertices alone by {visited}",
            )
        if not isinstance(over, str):
            raise ProgramError(
                f"{self.label}: `over` is no text", do='e.g. Exchange(f, over="src")'
            )
        check_shares(self)
        check_promises(self)

    def seen_by(self, program: AnyProgram) -> AnyProgram:
        """Return the program along the type of the edges that are visited. Raise ProgramError where
        there is no such type, or the UDF asks for an edge of another.
        """
        types = [*program.edge_types]
        if self.edge and self.edge not in types:
            raise ProgramError(
                f"{self.label}: {type(program).__name__} has no edge type {self.edge!r}",
                do=f"{did_you_mean(self.edge, types)}edge types: {', '.join(types)}",
            )
        first = first_edge(program)
        seen = along(program, self.edge or first)
        asked = parameters(self.f, self.label) if self.f else []
        if other := [name for name in asked if name in types and name != seen.edge_name]:
            raise ProgramError(
                f"{self.label} visits edges of type {seen.edge_name}, and {udf_names(self.f)} has "
                f"the parameter {other[0]}, another edge type",
                do=f'write Exchange({udf_names(self.f)}, edge="{other[0]}")',
            )
        if self.held_out and seen.edge_name != first:
            raise ProgramError(
                f"{self.label} visits held-out edges, which are of the type {first} alone",
                do=f"leave held_out or edge out, or declare {self.edge} before {first}",
            )
        return seen

    def role(self, program: BaseProgram) -> str:
        """Return the enumerated end's name in UDFs; raise ProgramError where `over` names no
        end.
        """
        program = self.seen_by(program)
        edge = program.edge
        if names_role(program, self.over, self.label):
            return self.over
        on_vertex = [udf for udf in (self.enter, self.leave) if udf]
        on_vertex += [self.f] if self.f and self.per_vertex else []
        asked = [
            name for udf in on_vertex for name in parameters(udf, self.label) if name in edge.roles
        ]
        return asked[0] if asked else edge.roles[0]

    @property
    def per_vertex(self) -> bool:
        """True if the UDF is called for each vertex, with its edges."""
        return self.f is not None and "edges" in parameters(self.f, self.label)

    @property
    def by_tile(self) -> bool:
        """True if the edges of a block can be walked share by share of the other end: if the UDF is
        called per edge, in any order.
        """
        by_vertex = self.per_vertex or self.enter or self.leave or self.active
        return self.f is not None and not by_vertex

    def _others_end(self, program: BaseProgram) -> str:
        """Return the end that `others` and `vertices` lead to, "" if the UDF asks for neither."""
        asked = parameters(self.f, self.label) if self.f and self.by_tile else []
        return self.role(program) if {*asked} & {*BESIDE} else ""

    def walk(self, partition: Partition, batch: Batch | None, role: str, plan: ThreadPlan) -> Walk:
        """Return the edges in the order in which they are walked; `role`: the enumerated end."""
        edges = partition.graph.held_out if self.held_out else partition.graph.edges
        if self.by_tile:
            least = layout.ROWS_BESIDE if self._others_end(partition.program) else 1
            return Walk.by_tile(partition, edges, role, batch, least)
        vertices = partition.graph.of_role(role)
        parts = 1
        if plan.form == "cells":
            parts = self.shares
            if not partition.cuts_few:
                rows = len(vertices) + vertices.left_out
                parts = _shares(len(edges) + edges.left_out, rows, self.shares)
        return Walk.by_vertex(partition, edges, role, along_edges=self.f is not None, parts=parts)

    def prepare(self, partition: Partition, batch: Batch | None = None) -> ExchangeStep:
        """Lay out the edges and compile the loop."""
        partition = partition.along(self.seen_by(partition.program).edge_name)
        step = self._step(partition, batch)
        self._check_edges(partition.program)  # what is wrong with a function is told before
        if batch is None and partition.workers > 1:
            calls = self.calls(partition.program, "")
            step.measures = frozenset().union(*(call.measures() for call in calls))
        return step

    def _check_edges(self, program: BaseProgram) -> None:
        """Raise ProgramError for edges that this Exchange cannot visit."""
        if self.f is None:
            return
        if not self.held_out:
            refuse_remote_edges(program, self.label)
        if not self.per_vertex:
            refuse_equal_draws(program, self.f, self.label)

    def _step(self, partition: Partition, batch: Batch | None) -> ExchangeStep:
        if self.active and batch:
            raise ProgramError(
                f"{self.label} stands in a MiniBatch",
                do="put it outside: its vertices are chosen by `active`, not block by block",
            )
        role = batch.role if batch else self.role(partition.program)
        races = partition.racing and partition.threads.count > 1
        program = partition.program
        key = self, program.edge_name, role
        plan = partition.make_once(key, lambda: self.plan(program, role, racing=races))
        walk = self.walk(partition, batch, role, plan)
        nothing = not len(walk.edges) and (walk.tiled or walk.rows == walk.n_train)
        if self.held_out and nothing and not (self.enter or self.leave):
            partition.kernels += 1  # random numbers are those of a run with held-out edges
            return ExchangeStep(partition, walk, plan, lambda *_: None)
        if walk.tiled:
            assert self.f is not None
            loops = EdgeLoops(partition, self.label, walk.edges, walk.layout, walk.role, plan)
            others = self._others_end(partition.program)
            return ExchangeStep(partition, walk, plan, loops.per_edge(self.f, others), others)
        loops, lines = self.loops(partition, walk, plan)
        if self.active:
            flags = self._flags(partition, role)
            step = FrontierStep(partition, walk, plan, loops.over_frontier(lines), flags)
            step.in_order = True
            return step
        return ExchangeStep(partition, walk, plan, loops.over_rows(lines))

    def _flags(self, partition: Partition, role: str) -> np.ndarray:
        """Return the field (n,) that says which vertices are visited."""
        vertex = dict(zip(partition.program.edge.roles, partition.program.edge.ends, strict=True))[
            role
        ]
        fields = partition.program.vertices[vertex].fields
        flags = [n for n, f in fields.items() if (f.kind, f.dtype, f.shape) == ("value", "b1", ())]
        if self.active not in flags:
            raise ProgramError(
                f"{self.label}: {vertex} has no value {self.active} of dtype b1",
                do=f'declare it: {vertex} = Vertex({self.active}=value("b1")); there are: '
                f"{', '.join(flags) or 'none'}",
            )
        return partition.tables[vertex].arrays[self.active]

    def plan(self, program: BaseProgram, role: str, *, racing: bool = False) -> ThreadPlan:
        """Return the plan by which threads share the kernel; `role`: the end that is enumerated;
        `racing`: the user lets threads race. Raise ProgramError where that would lose changes of
        the context.
        """
        program = self.seen_by(program)
        calls = self.calls(program, role)
        ordered = self._plan_in_order(program, calls, role)
        if not self.racing:
            return ordered
        return plan_racing(program, calls, ordered, shared=self.stale_context, racing=racing)

    def _plan_in_order(self, program: BaseProgram, calls: list[Call], role: str) -> ThreadPlan:
        """Return the plan by which results do not depend on the threads."""
        if self.by_tile:
            return plan_tiles(program, calls[0], role)
        if self.shares and not self.held_out:
            return plan_cells(program, calls, role, lanes=self.stale_context)
        own = role if self.active else ""
        plan = plan_vertices(program, calls, lanes=self.stale_context, own=own)
        if self.active and plan.why:
            return replace(plan, do="leave out `active` to visit all edges on all threads")
        return plan

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plan of the one kernel."""
        return {"": self.plan(program, role or self.role(program), racing=racing)}

    def loops(
        self, partition: Partition, walk: Walk, plan: ThreadPlan, prefix: str = ""
    ) -> tuple[EdgeLoops, list[str]]:
        """Return the loop over rows lo..hi of the enumerated end, as what it refers to and its
        lines. Not for edges in tiles.
        """
        loops = EdgeLoops(
            partition, self.label, walk.edges, walk.layout, walk.role, plan, prefix=prefix
        )
        head, *body = self._visit_lines(loops)
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

    def _visit_lines(self, loops: EdgeLoops) -> list[str]:
        """Return the lines that visit rows lo..hi."""
        assert self.f is not None
        if self.per_vertex:
            return loops.per_vertex(self.f)
        return loops.by_vertex(self.f, self.enter, self.leave)

    def _visited_mask(self, partition: Partition, walk: Walk) -> np.ndarray | None:
        """Return a mask (n_train,) of the rows that are visited on this worker; None: all."""
        vertices = partition.graph.of_role(walk.role)
        if self.cut is not None:
            return vertices.replicated_mask() == self.cut
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
        program = self.seen_by(program)
        edge, role = program.edge, role or self.role(program)
        types = dict(zip(edge.roles, edge.ends, strict=True))
        assert self.f is not None
        at_one, may_cut = edge.whole == role, may_be_cut(program, types[role])
        of_each = self.additive or self.shares or self.cut is False
        of_each = of_each or at_one or (self.held_out and edge.held_out == role)
        visits, alone = "" if of_each or not may_cut else role, role if at_one and may_cut else ""
        own = on_vertex(program, (role,), types[role])
        calls = [
            Call(udf, program, "Exchange", own, {role: types[role]}, visits, alone=alone)
            for udf in (self.enter, self.leave)
            if udf is not None
        ]
        if not self.per_vertex:
            shapes, rows = on_edge(program), types
            if end := self._others_end(program):
                for name, fields in (("others", edge.fields), ("vertices", {})):
                    shapes = shapes | {name: slice_of(program, end, types[end], fields)}
                    rows = rows | {f"{name}.{end}": types[end]}
            return [Call(self.f, program, "Exchange", shapes, rows), *calls]
        other = next(end for end in edge.roles if end != role)
        shapes = own | {"edges": slice_of(program, other, types[other], edge.fields)}
        rows = {role: types[role], f"edges.{other}": types[other]}
        f = Call(self.f, program, "Exchange", shapes, rows, visits, bool(visits), alone)
        return [f, *calls]


def _shares(edges: int, vertices: int, most: int) -> int:
    """Return the number of shares into which the edges of a vertex are cut."""
    return max(2, min(most, edges // max(vertices, 1) // EACH))
