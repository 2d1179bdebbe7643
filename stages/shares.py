"""Vertices with many edges in a fused mini-batch: threads work on one vertex together, each on a
share of its edges.

The other end is cut into SHARES ranges, and share k of a vertex has its edges to range k. So no two
threads touch one row of the other end. Each thread has a copy of the vertex's row. An Exchange is
called once a share. What it adds to deltas is written down share by share; when all threads have
done so, each of them adds it up in the order of the shares, and goes on with the same numbers. An
Apply runs on each copy. The order of sums depends on the shares, and not on the threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from tux.engine.worker import Worker
from tux.program.program import Program
from tux.program.stage import Batch, Stage
from tux.rows.table import Claim, Table, aligned
from tux.stages.apply import Apply
from tux.stages.bind import parameters
from tux.stages.calling import CallingStage
from tux.stages.calls import Call
from tux.stages.exchange import Exchange
from tux.stages.loops import EdgeLoops
from tux.stages.plan import CHANGES, Plan
from tux.stages.scope import Scope, indented
from tux.stages.waits import share_cuts

SHARES = 4
"""Into which the edges of a vertex are cut: a number that does not depend on the threads, so that
results do not either.
"""

MANY = 128
"""Edges of a vertex from which on it is cut: to hand sums over takes as long as 20 to 60 edges."""

APART = 64
"""Rows between the copies of two threads: no cache line has rows of both."""

COMBINED = {"sum": "{0} + {1}", "min": "min({0}, {1})", "max": "max({0}, {1})"}


def own_effects(calls: Sequence[Call]) -> dict[str, set[str]]:
    """The kinds of effects on each field of the vertex itself."""
    out: dict[str, set[str]] = {}
    for call in calls:
        rows = [row for row in call.rows if not row.startswith("edges.")]
        vertex = call.rows[rows[0]]
        for row in rows:
            for field in call.program.vertices[vertex].fields:
                out.setdefault(field, set()).update(call.effects.of(row, field))
    return out


def may_be_shared(program: Program, stages: Sequence[Stage], role: str) -> bool:
    """Whether each function may be called for shares of a vertex's edges: by the word of the
    program, and as it adds to deltas of numbers alone.
    """
    own = program.edge.ends[program.edge.roles.index(role)]
    fields = program.vertices[own].fields
    if any(field.ragged for field in fields.values()):
        return False
    for stage in stages:
        if not isinstance(stage, Exchange | Apply):
            return False
        calls = stage.calls(program, role)
        if any("rng" in parameters(call.udf, stage.label) for call in calls):
            return False
        if not isinstance(stage, Exchange) or stage.f is None:
            continue
        if stage.split < SHARES:
            return False
        for name, kinds in own_effects(calls).items():
            declared = fields[name]
            added = {"sum": "add"}.get(declared.combine, declared.combine)
            small = not declared.lengths and (declared.dtype.itemsize < 8 or declared.dtype == "f8")
            if kinds & CHANGES and not (
                declared.kind == "delta" and kinds == {added} and small and added in ADDED
            ):
                return False
    return True


ADDED = ("add", "min", "max")


class Shares:
    """What a fused kernel has for the vertices with many edges: arguments, and lines."""

    def __init__(
        self, worker: Worker, stages: Sequence[Stage], batch: Batch, plan: Plan, threads: int
    ) -> None:
        self._worker, self._stages, self._batch, self._plan = worker, stages, batch, plan
        self._threads = threads
        self.layout: dict[str, Any] = {}  # arguments that are the same in each call
        self.scopes: list[Scope] = []
        self.varying: list[dict[str, Any]] = []  # of each scope

    def find(self, bounds: np.ndarray, others: np.ndarray, rows: int) -> np.ndarray:
        """Find the vertices with many edges; returns which of the blocks they are (blocks,) bool.
        Row v has the edges bounds[v]..bounds[v + 1], to rows `others` (m,) of `rows`.
        """
        cuts = self._batch.local_cuts
        many = (np.diff(cuts) == 1) & (bounds[cuts[1:]] - bounds[cuts[:-1]] >= MANY)
        vertices = cuts[:-1][many].astype(np.int64)
        found = share_cuts(bounds[vertices], bounds[vertices + 1], others, rows, SHARES)
        if found is None:
            return np.zeros_like(many)
        self.layout |= {"many": vertices, "many_cuts": found}
        return many

    def lines(self, awake: str) -> list[str]:
        """All vertices with many edges, one after the other, on all threads."""
        role, room = self._batch.role, len(self.layout["many"]) + APART
        main = self._worker.tables[self._worker.graph.of_role(role).name]
        apart = Table.allocate(main.name, main.declared, self._threads * room, ids=self._ids)
        calls = [s.calls(self._worker.program, role) for s in self._stages if _calls(s)]
        effects = own_effects([call for each in calls for call in each])
        used = [name for name, kinds in effects.items() if kinds]
        changed = [name for name in used if effects[name] & CHANGES]
        for name in used:
            self.layout |= {f"main_{name}": main.arrays[name], f"own_{name}": apart.arrays[name]}
        body, handovers, width = list[str](), 0, 1
        for number, stage in enumerate(self._stages):
            body += self._stage(stage, f"m{number}_", apart)
            if isinstance(stage, Exchange) and (
                deltas := _deltas(self._worker.program, stage, role)
            ):
                handovers, width = handovers + 1, max(width, len(deltas))
        parts = aligned((2 * SHARES, -(-width // 8) * 8), np.dtype("f8"))
        self.layout |= {"parts": parts, "room": room}
        asleep = [f"if not {awake}[row]:", "    continue"] if awake else []
        visit = [
            "row, at = many[q], thread * room + q",
            *asleep,
            *(f"own_{name}[at] = main_{name}[row]" for name in used),
            *body,
        ]
        back = [
            "for q in range(len(many)):",
            "    row = many[q]",
            *indented(asleep),
            *(f"    main_{name}[row] = own_{name}[q]" for name in changed),
        ]
        return [
            "done = 0",
            f"ended = {handovers} * len(many) + 1",
            f"first_share = {SHARES} * thread // threads",
            f"last_share = {SHARES} * (thread + 1) // threads",
            "for i in range(len(many_order)):",
            "    for q in range(many_runs[many_order[i]], many_runs[many_order[i] + 1]):",
            *indented(indented(visit)),
            "tell(turns, thread, ended)",
            "if threads > 1 and not passed(turns, seen, thread, threads, ended):",
            "    return",
            "if thread == 0:",  # the others have read all rows
            *indented(back),
            "ended += 1",
            "tell(turns, thread, ended)",
        ]

    def _ids(self) -> np.ndarray:
        """The numbers of the vertices whose copies are the rows, thread after thread."""
        order, many = self._worker.graph.of_role(self._batch.role).order, self.layout["many"]
        return np.tile(np.append(order[many], np.zeros(APART, order.dtype)), self._threads)

    def _stage(self, stage: Stage, prefix: str, apart: Table) -> list[str]:
        """The lines of one stage for the vertex whose copy is row `at`."""
        worker, role = self._worker, self._batch.role
        everything = dict.fromkeys((role, apart.name, "v"), frozenset(apart.declared))
        claims = {
            name: Claim(claim.writes, everything.get(name, claim.changing))
            for name, claim in self._plan.claims.items()
        }
        plan = replace(self._plan, claims=claims)
        kernels, varying, lines = worker.kernels, dict[str, Any](), list[str]()
        if isinstance(stage, Exchange):
            walk = stage.walk(worker, self._batch, role, plan)
            loops = EdgeLoops(
                worker, stage.label, walk.edges, walk.layout, role, plan, prefix=prefix
            )
            scope = loops.scope
            scope.apart[apart.name] = apart
            if stage.f is None:
                lines = ["lo, hi = at, at + 1", *loops.by_vertex(None, stage.enter, stage.leave)]
            else:
                lines = self._along(stage, loops, apart)
            varying = loops.varying
        elif isinstance(stage, Apply):
            scope = Scope(worker, stage.access, stage.label, plan, prefix=prefix)
            scope.apart[apart.name] = apart
            lines = ["lo, hi = at, at + 1", *stage.loop(scope)]
            for field, declared in apart.declared.items():
                if declared.kind == "delta" and stage.gather and f"own_{field}" in self.layout:
                    lines.append(f"own_{field}[at] = {self._none(field, apart)}")
        worker.kernels = kernels  # random numbers of other stages do not depend on this one
        self.scopes.append(scope)
        self.varying.append(varying)
        return lines

    def _none(self, field: str, table: Table) -> str:
        """The argument that holds what a delta begins with."""
        none = table.arrays[field].dtype.type(table.declared[field].identity)
        self.layout[f"none_{field}"] = none
        return f"none_{field}"

    def _along(self, stage: Exchange, loops: EdgeLoops, apart: Table) -> list[str]:
        """An Exchange's call for each share of this thread, and the sums of all shares."""
        assert stage.f is not None
        deltas = _deltas(self._worker.program, stage, loops.role)
        call = [
            *(f"own_{name}[at] = {self._none(name, apart)}" for name in deltas),
            "first, last = many_cuts[q, k], many_cuts[q, k + 1]",
            "if first < last:",
            *indented(loops.of_share(stage.f)),
            *(f"parts[slot + k, {i}] = own_{name}[at]" for i, name in enumerate(deltas)),
        ]
        shares = ["for k in range(first_share, last_share):", *indented(call)]
        if not deltas:
            return shares
        added = [
            f"whole_{i} = "
            + COMBINED[apart.declared[name].combine].format(f"whole_{i}", f"parts[slot + k, {i}]")
            for i, name in enumerate(deltas)
        ]
        return [
            f"slot = (done % 2) * {SHARES}",
            *(f"whole_{i} = own_{name}[at]" for i, name in enumerate(deltas)),
            *shares,
            "done += 1",
            "tell(turns, thread, done)",
            "if threads > 1 and not passed(turns, seen, thread, threads, done):",
            "    return",
            f"for k in range({SHARES}):",
            *indented(added),
            *(f"own_{name}[at] = whole_{i}" for i, name in enumerate(deltas)),
        ]


def _calls(stage: Stage) -> TypeGuard[CallingStage]:
    return isinstance(stage, CallingStage)


def _deltas(program: Program, stage: Exchange, role: str) -> list[str]:
    """The deltas of its vertex to which an Exchange adds along edges."""
    if stage.f is None:
        return []
    effects = own_effects(stage.calls(program, role))
    return [name for name, kinds in effects.items() if kinds & CHANGES]
