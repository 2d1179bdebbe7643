"""GlobalSync: combine what the workers have gathered in their contexts, and give all of them the
result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tux.base.errors import ProgramError
from tux.clock.block import Block
from tux.clock.steps import Fold, Rows, Step
from tux.engine.partition import Partition
from tux.messages.encoding import Arrays
from tux.messages.message import BadMessage, Kind, Message
from tux.messages.payloads import ROW, Answer, Totals
from tux.program.base_program import BaseProgram
from tux.program.computed import Computed
from tux.program.stage import Batch, TotalAddition
from tux.rows.plain import plain_parameters, plain_row
from tux.rows.table import Claim, RowTable
from tux.stages.analysis.calling import CallingStage
from tux.stages.analysis.calls import CHANGES, Call, meanings_of, on_vertex, shape_of
from tux.stages.analysis.effects import effects
from tux.stages.analysis.plan import ThreadPlan, plan_vertices
from tux.stages.analysis.texts import refuse_texts
from tux.stages.check.explain import program_errors
from tux.stages.formulas import write_formulas
from tux.stages.kernel.bind import Udf, call, parameters, udf_names
from tux.stages.kernel.scope import Scope
from tux.stages.kernel.thread_loop import indent_lines
from tux.stages.kernel.tickets import Items, even_items
from tux.sync.master_tables import MasterTables

Aggregation = Callable[[int | None], None]
"""It gets the number of the pass (`Worker.pass_number`); None: that of the running clock."""


class GlobalSync(CallingStage):
    """Apply on the context tau, which every worker mirrors and one special worker masters:

        # optional; writes totals and `master` fields only
        for each master vertex v of the aggregate's type: aggregate(v, tau, p)
        combine the totals of all workers
        # on the special worker, once
        compute the numbers of tau whose formulas have all their totals by now
        f(tau, p)
        clear the totals; send tau back to all workers

    `aggregate` names its vertex type as a parameter, or calls it `v` and the type is given as
    `over`. `f` runs once a clock on one row, so it is never compiled: it may use all of Python and
    numpy. Without `f`, the totals of formulas alone are cleared; others stay where they are, and
    those to which stages behind it add before the next GlobalSync.

    `computes`: the numbers with formulas. `takes`: the totals that it takes, which are cleared
    behind it; None: all.
    """

    computes: tuple[str, ...] = ()
    takes: tuple[str, ...] | None = None

    def __init__(self, f: Udf | None = None, aggregate: Udf | None = None, over: str = "") -> None:
        self.f, self.aggregate, self.over = f, aggregate, over
        self.label = f"GlobalSync({udf_names(f, aggregate)})"

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Compile the aggregation, and bind `f`."""
        over = self.aggregated_type(partition.program)
        aggregate = self._compile(partition, over) if over else None
        if partition.workers == 1:
            return LocalGlobalSync(
                partition,
                self.bind_function(partition, partition.tables["tau"]),
                aggregate,
                self.takes,
            )
        at_home = bool(over) and partition.graph.vertices[over].is_cut
        return ContextSync(
            partition,
            self.bind_function(partition, partition.server.special.table),
            aggregate,
            over,
            at_home=at_home,
            takes=self.takes,
        )

    def bind_function(self, partition: Partition, tau: RowTable) -> Callable[[], None] | None:
        """Return the formulas and `f` as a function without parameters, bound to the context and
        the parameters of the program. They are passed by name, as to any UDF; `f` is not compiled.
        """
        f, formulas = self.f, write_formulas(partition.program, self.computes, self.label)
        if f is not None:
            call(f, "f", self.label, {"tau": lambda: "tau", "p": lambda: "p"})
            partition.make_once((f, "texts"), lambda: refuse_texts(f, plain=True))
        computed = {
            n for n, d in tau.declared.items() if isinstance(d, Computed) and d.formula.text
        }
        functions = [each for each in (formulas, f) if each is not None]
        bound = [
            self._arguments(partition, tau, each, computed if each is f else set())
            for each in functions
        ]
        if not functions:
            return None

        def run() -> None:
            with program_errors(functions):
                for function, arguments in zip(functions, bound, strict=True):
                    function(*arguments)

        if partition.profile is None:
            return run
        meter = partition.profile.meter(self.label, [each.__name__ for each in functions])

        def run_measured() -> None:
            with meter:
                run()
            meter.count()

        return run_measured

    def _arguments(
        self, partition: Partition, tau: RowTable, f: Udf, read_only: set[str]
    ) -> list[Any]:
        """Return the arguments of a function: the context, of which it may not change all fields,
        and the parameters.
        """
        claim = Claim(frozenset(tau.declared.keys() - read_only))
        spec, arrays = tau.visible_fields("sync", claim=claim)
        numbers = partition.parameters | partition.numbers
        values = {
            "p": plain_parameters(tuple(numbers))(tuple(numbers.values())),
            "tau": plain_row(spec)(arrays, 0),
        }
        return [values[name] for name in parameters(f, self.label)]

    def aggregated_type(self, program: BaseProgram) -> str:
        """Return the vertex type that `aggregate` walks, "" without one; raise ProgramError where
        it is not said.
        """
        if self.aggregate is None:
            return ""
        wanted = [
            name for name in parameters(self.aggregate, self.label) if name in program.vertices
        ]
        over = self.over or (wanted[0] if wanted else "")
        if over not in program.vertices:
            what = (
                f"'{over}' is no vertex type"
                if over
                else "which vertices are aggregated is not said"
            )
            raise ProgramError(
                f"{self.label}: {what}",
                do=f'say over="...": one of {", ".join(program.vertices)}',
            )
        return over

    def totals_after(
        self, program: BaseProgram, before: dict[str, TotalAddition], role: str = ""
    ) -> dict[str, TotalAddition]:
        """Return the totals that wait for a GlobalSync behind this one: with `f` or formulas, those
        that it does not take.
        """
        if self.f is None and not self.computes:
            return super().totals_after(program, before, role)
        if self.takes is None:
            return {}
        held = super().totals_after(program, before, role)
        return {name: added for name, added in held.items() if name not in self.takes}

    def may_set(self, program: BaseProgram, metric: str) -> bool:
        """Return whether a formula or `f` sets a metric."""
        if metric in self.computes or self.f is None:
            return metric in self.computes
        shapes = {"tau": shape_of(program, program.context.fields)}
        found = effects(self.f, shapes, meanings_of(program))
        return bool(found.of("tau", metric).keys() & CHANGES)

    def calls(self, program: BaseProgram, role: str) -> list[Call]:
        """Return the call of the aggregate, on masters. `f` runs once, and is not among them."""
        over = self.aggregated_type(program)
        if self.aggregate is None:
            return []
        shapes = on_vertex(program, (over, "v"), over)
        return [
            Call(self.aggregate, program, "an aggregate", shapes, dict.fromkeys((over, "v"), over))
        ]

    def plans(
        self, program: BaseProgram, role: str, *, racing: bool = False
    ) -> dict[str, ThreadPlan]:
        """Return the plan of the aggregate, if there is one."""
        calls = self.calls(program, role)
        return {"": plan_vertices(program, calls)} if calls else {}

    def _compile(self, partition: Partition, over: str) -> Aggregation:
        """Return a function that aggregates the masters of this worker, wherever they are."""
        assert self.aggregate is not None
        vertices = partition.graph.vertices[over]
        plan = self.plans(partition.program, "")[""]
        scope = Scope(partition, "aggregate", self.label, plan, at_home=vertices.is_cut)
        row = lambda: scope.row(scope.vertices(over), "j")  # noqa: E731
        lines = scope.call(
            self.aggregate,
            {over: row, "v": row},
            lambda: f"{scope.ids(over)}[j], {scope.ids(over)}[j]",
        )
        kernel = scope.kernel({}, ["for j in range(lo, hi):", *indent_lines(lines)])
        count = (
            len(vertices.part.masters) if vertices.part and vertices.is_cut else vertices.n_train
        )
        items = Items(even_items(0, count))
        return lambda number: kernel(items, pass_number=number)


class LocalGlobalSync(Step):
    """A GlobalSync of a single worker."""

    def __init__(
        self,
        partition: Partition,
        f: Callable[[], None] | None,
        aggregate: Aggregation | None,
        takes: tuple[str, ...] | None,
    ) -> None:
        self._partition, self._f, self._aggregate, self._takes = partition, f, aggregate, takes

    def run(self, block: Block | None = None) -> None:
        """Run the aggregate and `f`, then clear the totals."""
        with self._partition.timing("apply"):
            if self._aggregate:
                self._aggregate(None)
            if self._f:
                self._f()
                self._partition.tables["tau"].clear_deltas(only=self._takes)


class ContextSync(Fold[Totals]):
    """A GlobalSync between workers: contexts go up by way of each worker's own server, which
    adds its share.
    """

    table = "tau"

    def __init__(
        self,
        partition: Partition,
        f: Callable[[], None] | None,
        aggregate: Aggregation | None,
        over: str,
        *,
        at_home: bool,
        takes: tuple[str, ...] | None,
    ) -> None:
        self._partition, self._f, self._aggregate, self._at_home = partition, f, aggregate, at_home
        self._takes = takes
        self.has_function, self.aggregated = f is not None, over
        # by clock: the server aggregates while the worker may be in a later repetition, and on the
        # special worker it computes the metrics of an epoch
        self._passes: dict[int, int] = {}
        self._epochs: dict[int, int] = {}
        self.sync_id = partition.register(self)

    def unsent_rows(self, block: Block | None) -> tuple[str, Rows] | None:
        """Return the context's row."""
        return "tau", slice(None)

    def send(self, clock: int, block: Block | None) -> int:
        """Send this worker's context to its own server; return the number of answers to come."""
        partition = self._partition
        if self._aggregate and not self._at_home:
            self._aggregate(None)
        elif self._aggregate:
            self._passes[clock] = partition.pass_number
        if partition.rank == 0 and partition.running_epoch is not None:
            self._epochs[clock] = partition.running_epoch
        arrays = partition.mirrors["tau"].pack(ROW, (self.sync_id, 0), deltas=self.has_function)
        partition.enqueue(
            Message(Kind.TOTALS, partition.rank, partition.rank, clock, self.sync_id, arrays), "tau"
        )
        return 1

    def aggregate_masters(self, clock: int) -> None:
        """Aggregate the masters that this server keeps, before its share is added. This runs on
        each server.
        """
        if self._aggregate and self._at_home:
            self._aggregate(self._passes.pop(clock, None))

    def read(self, server: MasterTables, message: Message) -> Totals:
        """Read and check a contribution. This runs on the special worker's server."""
        if server.rank != 0:
            raise BadMessage(message, "the context's master is on worker 0")
        return Totals.read(message, server.special.up)

    def serve(self, server: MasterTables, clock: int, contributions: list[Totals]) -> list[Arrays]:
        """Combine contributions in worker order, run `f`, and answer all workers. Totals that `f`
        does not take stay here. The first time in an epoch, metrics of the one before are
        forgotten. This runs on the special worker's server.
        """
        special = server.special
        special.fold((ROW, totals.fields, None) for totals in contributions)
        if server.begin_epoch(self._epochs.pop(clock, None)):
            with special.changing(ROW):
                special.table.forget_reported()
        if self._f:
            with special.changing(ROW):
                self._f()
            special.table.clear_deltas(only=self._takes)
        answers = [special.pack_values(ROW) for _ in contributions]
        special.clear_dirty()
        return answers

    def install(self, message: Message) -> None:
        """Take the context's new value. This runs on each worker."""
        mirrors = self._partition.mirrors["tau"]
        mirrors.install((self.sync_id, 0), Answer.of_context(message, mirrors.down).fields)
