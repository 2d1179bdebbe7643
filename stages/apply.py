"""Apply: bring what the replicas of a vertex have gathered to its master, and what the master
makes of it back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.base.errors import ProgramError
from tux.clock.block import Block
from tux.clock.steps import Rows, Step
from tux.engine.partition import Partition
from tux.program.base_program import BaseProgram
from tux.program.fields import Field, by_entry
from tux.program.stage import Batch, VertexChange
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.calls import Call, on_vertex, shape_of
from tux.stages.analysis.plan import ThreadPlan, plan_vertices
from tux.stages.analysis.replica_rules import may_be_cut
from tux.stages.kernel.bind import Udf, parameters, udf_names
from tux.stages.kernel.merges import compile_merges
from tux.stages.kernel.scope import Scope
from tux.stages.kernel.thread_loop import indent_lines
from tux.stages.kernel.tickets import Items, even_items
from tux.sync.apply import ApplySync
from tux.sync.row_sets import AllRows, row_set

TRAVELLING = ("value", "shared", "delta")


class Apply(CallingStage):
    """For the block's vertices of type `over`:

        mirrors send their deltas and changes of shared fields to their masters
        for each master v that has heard from the worker of every replica:
            fold the changes into the shared fields; combine the deltas        # in worker order
            # v also under its type's name
            f(v, tau, p, rng)
            clear the deltas; send value and shared fields back

    Outside a MiniBatch these are all vertices of the type; inside, the block's range of the
    enumerated type, or the vertices of the other end that have an edge in the block. A type that
    the partition does not cut has one copy: nothing of it travels, and without `f` there is nothing
    to do. Nothing is kept between calls but the fields.

    `all=True`: inside a MiniBatch too, all vertices of the type, in each block. For few vertices
    that change although no edge of the block touches them, such as centres of clusters.
    Not in a MiniBatch that is rotated or pipelined, of which several workers have more blocks than
    one worker has.

    `gather=False`: mirrors send nothing, and what they have gathered waits for the next Apply; `f`
    sees no deltas. For a decision that concerns masters alone, when nothing is under way.

    `each` names a field with dimensions: `f` is called for each of its entries along the first
    one. It sees the fields that have as many, without this dimension, and no others. Where the
    field is one number, it is called once for the vertex, as without `each`.
    """

    def __init__(
        self,
        over: str,
        f: Udf | None = None,
        *,
        gather: bool = True,
        all: bool = False,
        each: str = "",
    ) -> None:
        if not isinstance(over, str):
            raise ProgramError(
                f"Apply is given {over!r} as a vertex type",
                do='name the type first, then the function: Apply("page", f)',
            )
        self.over, self.f, self.gather, self.all, self.each = over, f, gather, all, each
        of = f"each={each}" if each else ""
        self.label = f"Apply({', '.join(part for part in (over, udf_names(f), of) if part)})"
        self.gathers = over if gather else ""

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Compile the loop over masters; find routes, and the rows of each block where they are
        no range.
        """
        self.check(partition)
        fields, cut = (
            partition.program.vertices[self.over].fields,
            partition.graph.vertices[self.over].is_cut,
        )
        remote = cut and (
            self.f is not None or any(field.kind in TRAVELLING for field in fields.values())
        )
        # Without a function and without messages nothing is done, so which rows it would be need
        # not be found out.
        by_block = (remote or self.f is not None) and not self.all
        rows = row_set(partition, self.over, batch, by_block=by_block)
        again = self.all and batch is not None and batch.has_several_blocks
        program = partition.program
        plan = partition.make_once((self, program.edge_name), lambda: self.plan(program))
        kernel = self._compile(partition, rows, plan, at_home=cut) if self.f is not None else None
        if self.gather:
            compile_merges(partition, self.over)
        if not remote:
            return LocalApply(self, partition, rows, kernel, again=again)
        return ApplySync(
            partition,
            self.over,
            rows,
            kernel,
            self._changed_fields(plan, self.over),
            gather=self.gather,
            sees_context=self.f is not None and "tau" in parameters(self.f, self.label),
            adds_to_context=self._changed_fields(plan, "tau") != frozenset(),
            again=again,
        )

    def check(self, partition: Partition) -> None:
        """Raise ProgramError where the type does not exist, or the stage would do nothing or lose
        deltas.
        """
        program = partition.program
        if self.over not in program.vertices:
            raise ProgramError(
                f"{self.label}: '{self.over}' is no vertex type",
                do=f"vertex types: {', '.join(program.vertices)}",
            )
        deltas = [
            name
            for name, field in program.vertices[self.over].fields.items()
            if field.kind == "delta"
        ]
        if not self.gather and self.f is None:
            raise ProgramError(
                f"{self.label} gathers nothing and does nothing",
                do=f'name a UDF: Apply("{self.over}", f, gather=False)',
            )
        if deltas and self.f is None:
            raise ProgramError(
                f"{self.label} would lose delta {self.over}.{deltas[0]}",
                do=f'name a UDF: Apply("{self.over}", f)',
            )
        if self.each and self.each not in program.vertices[self.over].fields:
            raise ProgramError(
                f"{self.label}: {self.over} has no field {self.each}",
                do=f"fields of {self.over}: {', '.join(program.vertices[self.over].fields)}",
            )

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return the call of `f` on masters; none without `f`."""
        if self.f is None or self.over not in program.vertices:
            return []
        parameters(self.f, self.label)
        names = self.over, "v"
        shapes = on_vertex(program, names, self.over)
        if entries := self._entries(program):
            shapes |= dict.fromkeys(names, shape_of(program, entries))
        return [Call(self.f, program, "Apply", shapes, dict.fromkeys(names, self.over))]

    def changes_after(
        self, program: BaseProgram, before: frozenset[VertexChange], role: str = ""
    ) -> frozenset[VertexChange]:
        """Return the changes that wait for an Apply after this one, which brings those of its type
        to the masters. In a mini-batch that enumerates another end, it asks for the rows at which
        the worker has edges of the block: ProgramError where edges of another type have changed
        such vertices, since a worker may have these edges alone.
        """
        own = {change for change in before if change.vertex == self.over}
        if not self.gather or not own:
            return before
        edge = program.edge
        touched = bool(role) and edge.ends[edge.roles.index(role)] != self.over and not self.all
        for change in sorted(own):
            if touched and change.edge != program.edge_name and may_be_cut(program, self.over):
                along = f", along {change.edge}" if change.edge else ""
                raise ProgramError(
                    f"{self.label} in a MiniBatch along {program.edge_name} takes changes "
                    f"only from workers that have such edges, and `{change.udf}` has changed "
                    f"{self.over}.{change.field} before it{along}",
                    do=f'put an Apply("{self.over}", ...) before the MiniBatch, or write all=True',
                )
        return before - own

    def _entries(self, program: BaseProgram) -> dict[str, Field]:
        """Return the fields that `f` sees of each entry of the field `each`; none where `f` is
        called for each vertex.
        """
        fields = program.vertices[self.over].fields
        return by_entry(fields, self.each, program.parameters) if self.each in fields else {}

    @property
    def access(self) -> str:
        """The key of `tux.rows.table.ACCESS` that says which fields `f` sees of a row."""
        return "apply" if self.gather else "apply_master_only"

    def _compile(
        self, partition: Partition, rows: AllRows, plan: ThreadPlan, *, at_home: bool
    ) -> Any:
        scope = Scope(partition, self.access, self.label, plan, at_home=at_home)
        listed = np.empty(0, np.int32) if rows.masked else ()
        kernel = scope.kernel({"rows": listed}, self.loop(scope, "rows[j]" if rows.masked else "j"))

        def run(rows: Any, lo: int, hi: int, **random: Any) -> None:
            kernel(Items(even_items(lo, hi)), rows, **random)

        return run

    def _changed_fields(self, plan: ThreadPlan, row: str) -> frozenset[str] | None:
        """Return the fields that `f` may change of the vertex or of the context; None if they are
        not known, so it may be all.
        """
        if self.f is None or row == "tau" and "tau" not in parameters(self.f, self.label):
            return frozenset()
        claim = plan.claims.get(row)
        return claim.writes if claim is not None else None

    def plan(self, program: BaseProgram) -> ThreadPlan:
        """Return the plan by which threads share the kernel."""
        return plan_vertices(program, self.calls(program, ""))

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plan of the one kernel, if there is a UDF."""
        return {"": self.plan(program)} if self.calls(program, role) else {}

    def loop(self, scope: Scope, at: str = "j") -> list[str]:
        """Return the lines of the loop over masters lo..hi."""
        return ["for j in range(lo, hi):", *indent_lines(self.calls_of_row(scope, at))]

    def calls_of_row(self, scope: Scope, at: str) -> list[str]:
        """Return the lines that call `f` for the row `at`."""
        assert self.f is not None
        table, of, entry = scope.vertices(self.over), at, ""
        if self._entries(scope.partition.program):
            table, count, entry = table.by_entry(self.each), scope.entries(table, self.each), "k"
            of = f"{at} * {count} + k"
        row = lambda: scope.row(table, of)  # noqa: E731
        ids = lambda: f"{scope.ids(self.over)}[{at}]"  # noqa: E731
        lines = scope.call(self.f, {self.over: row, "v": row}, lambda: f"{ids()}, {entry or ids()}")
        return [f"for k in range({count}):", *indent_lines(lines)] if entry else lines


class LocalApply(Step):
    """An Apply of which nothing travels: its rows are the masters. `again`: each block has all of
    them.
    """

    is_apply = True

    def __init__(
        self, stage: Apply, partition: Partition, rows: AllRows, kernel: Any, *, again: bool
    ) -> None:
        self.over, self._gather, self._partition = stage.over, stage.gather, partition
        self.applies = stage.over if kernel is not None else ""
        self._rows, self._kernel, self._again = rows, kernel, again

    def run(self, block: Block | None = None) -> None:
        """Run the UDF on the block's masters, then clear their deltas."""
        if self._kernel is None:
            return
        with self._partition.timing("apply"):
            rows = self._rows.here(block)
            # A row that several blocks touch draws other numbers in each.
            salt = block.number + 1 if block and (self._again or self._rows.masked) else 0
            if isinstance(rows, slice):
                self._kernel((), rows.start, rows.stop, salt=salt)
            else:
                self._kernel(rows, 0, len(rows), salt=salt)
            if self._gather:
                self._partition.tables[self.over].clear_deltas(rows)

    def unsent_rows(self, block: Block | None) -> tuple[str, Rows] | None:
        """Return the type and the rows whose deltas the UDF takes; None if it takes none."""
        return (
            (self.over, self._rows.here(block))
            if self._gather and self._kernel is not None
            else None
        )
