"""Sessions: stages that run when they are asked for, as a notebook drives them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import TracebackType
from typing import Any, Self

import msgspec

from tux.api.live import LiveContext, LiveVertices, MasterColumns
from tux.api.options import data_of, run_options
from tux.api.progress import WarningsOnly
from tux.api.result import Run
from tux.api.table import NamedItems
from tux.base.errors import Interrupted, UsageError
from tux.base.parallel import cores
from tux.base.signals import FirstSignal, defer_ending, pass_on_termination
from tux.base.text import plural
from tux.engine.edge_results import edge_results
from tux.engine.model import WorkerModel
from tux.inputs.wrapping import wrap_data
from tux.options.options import Reading
from tux.options.python_words import in_python
from tux.options.rules import options_by_name
from tux.program.naming import describe_value
from tux.program.program import Program
from tux.program.stage import Stage
from tux.run_folder.folder import RunRecord
from tux.run_folder.model_columns import edge_columns
from tux.runs.begin import choose_partitioner, fit_plan_to_folder, load_for
from tux.runs.description import describe
from tux.runs.on_demand import RunOnDemand
from tux.runs.workers_here import context_table, make_workers

OPTIONS = (
    *("seed", "threads", "workers", "slack", "partitioner", "jit", "check"),
    *options_by_name(Reading),
)
"""The options of `tux.run` that a session has, too."""


class StageSession:
    """A session, as `tux.session` makes it: a program on its data, whose stages run when they are
    asked for.

    `tau` is the context and `vertices` the vertices by type, both as they are now:
    ``session.tau.loss``, ``session.vertices["w"]["x"]``. It is a context manager, which closes it.
    """

    def __init__(self, run: RunOnDemand, program: Program, record: RunRecord) -> None:
        self._run: RunOnDemand | None = run
        self._closed, self._program, self._record = "it was closed", program, record
        self._tau = LiveContext(lambda: self._open().workers)
        self.vertices = NamedItems(
            {
                name: LiveVertices(
                    MasterColumns(lambda: self._open().workers, name, record.id_types.get(name, ""))
                )
                for name in program.vertices
            },
            "vertex type",
        )

    @property
    def tau(self) -> LiveContext:
        """The context, whose numbers are attributes."""
        return self._tau

    @pass_on_termination()
    @in_python()
    def run(self, *stages: Stage) -> dict[str, float]:
        """Run stages once, in order, as one epoch does; return the metrics that have a value now.

        A stage that has run before, or an equal one, is not compiled again. Ctrl-C is raised when
        the stages have run; the second one ends them at once. Raises ProgramError, and DataError
        where a field stops being finite.
        """
        run = self._open()
        for stage in stages:
            if not isinstance(stage, Stage):
                many = isinstance(stage, list | tuple)
                raise UsageError(
                    f"s.run is given {describe_value(stage)}, which is no stage",
                    do="s.run(*stages)" if many else 'e.g. s.run(Exchange(f), Apply("page", g))',
                )
        return self._work_until_ctrl_c(
            lambda asked: run.run(stages, ends=lambda: asked.moment is not None)
        )

    @pass_on_termination()
    @in_python()
    def epoch(self, n: int = 1) -> dict[str, float]:
        """Run the program's own ``stages()`` n times; return the metrics of the last time. Raises
        the errors of `run`, and UsageError for a program without stages.
        """
        run = self._open()
        if not isinstance(n, int) or n < 1:
            raise UsageError(f"{n!r} epochs", do="give a whole number, at least 1")
        stages, most = run.epoch_stages(), run.epoch + n

        def epochs(asked: FirstSignal) -> dict[str, float]:
            found: dict[str, float] = {}
            while run.epoch < most and asked.moment is None:
                found = run.run(stages, most=most)
            return found

        return self._work_until_ctrl_c(epochs)

    @pass_on_termination()
    @in_python()
    def evaluate(self) -> dict[str, float]:
        """Run what measures the model after an epoch of `tux.run`: the metrics of held-out data,
        and the program's own ``evaluate()``. Return the metrics that have a value.
        """
        run = self._open()
        return self._work_until_ctrl_c(lambda asked: run.evaluate())

    @in_python()
    def to_run(self) -> Run:
        """Return the present model as a `tux.Run`, which predicts, recommends, exports and saves.
        Its history has one row, of the last run of stages.
        """
        run = self._open()
        found = {"epoch": run.epoch, "seconds": run.seconds, **run.workers[0].metrics()}
        last = {name: found[name] for name in run.workers[0].metrics()}
        results = {"epochs": run.epoch, "seconds": run.seconds, "last": last}
        model: dict[str, dict[str, Any]] = {}
        for name, vertices in self.vertices.items():
            kept = [f for f, d in vertices.declared.items() if d.in_model]
            model[name] = {"id": vertices.ids, **{f: vertices[f] for f in kept}}
        held = WorkerModel(run.workers[0])
        model |= edge_columns(edge_results(run.workers), held, self._record.id_types)
        tau = context_table(run.workers)
        rows = {f: tau.arrays[f] for f, d in tau.declared.items() if d.in_model}
        model["tau"] = {
            f: row.reshape(1, -1).copy() if row.ndim > 1 else row.copy() for f, row in rows.items()
        }
        record = msgspec.structs.replace(self._record, results=results)
        return Run(record, self._program, [found], model, {})

    def close(self) -> None:
        """End the session, and free its memory. Closing it again does nothing."""
        run, self._run = self._run, None
        for worker in run.workers if run else ():
            worker.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = type(self._program).__name__
        if self._run is None:
            return f"Session of {name}, closed"
        sizes = [plural(len(each), kind) for kind, each in self.vertices.items()]
        workers = plural(len(self._run.workers), "worker")
        return f"Session of {name}: {', '.join(sizes)}, {workers}"

    def _open(self) -> RunOnDemand:
        """Return the run. UsageError if the session is closed."""
        if self._run is None:
            raise UsageError(
                f"the session has ended: {self._closed}",
                do="begin another: s = tux.session(data, program)",
            )
        return self._run

    def _work_until_ctrl_c(
        self, work: Callable[[FirstSignal], dict[str, float]]
    ) -> dict[str, float]:
        """Do some work, and raise KeyboardInterrupt after it if Ctrl-C came meanwhile. After an
        error that leaves workers out of step the session is closed.
        """
        run = self._open()
        try:
            with defer_ending() as asked:
                found = work(asked)
        except BaseException as error:
            if run.is_out_of_step:
                self._closed = "a run of stages was broken off, and its workers are out of step"
                self.close()
                if isinstance(error, KeyboardInterrupt):
                    raise Interrupted(
                        "interrupted while several workers ran stages: the session is closed",
                        do="begin another; one Ctrl-C alone waits until the stages have run",
                    ) from None
            raise
        if asked.moment is not None:
            raise KeyboardInterrupt
        return found


@pass_on_termination()
@in_python()
def session(
    data: Any, program: Program | type[Program], *, test: Any = None, **options: Any
) -> StageSession:
    """Begin a session: a program on data, whose stages run when they are asked for.

    For example::

        with tux.session(links, Pages) as s:
            while s.run(Exchange(give), Apply("page", update), GlobalSync(finish))["change"] > 1e-6:
                pass
            s.vertices["page"]["rank"]

    `data` and `test` are those of `tux.run`. `program` is a program, or a class of programs, which
    is made with its defaults; it needs no ``stages()``. Fields have their initial values, and the
    stages of ``setup()`` and the statistics that it declares run at once.

    `options` are those of `tux.run` about data, and `seed`, `threads`, `workers`, `slack`,
    `partitioner`, `jit` and `check`. All `workers` are in this process, one at work at a time: they
    show what a program does on several, and threads make it fast. Raises the errors of `tux.run`.
    """
    if isinstance(data, Program) or (isinstance(data, type) and issubclass(data, Program)):
        raise UsageError("data is a program", do="give data first: tux.session(data, program)")
    if isinstance(program, type) and issubclass(program, Program):
        program = program()
    chosen, watch = run_options(program, options, OPTIONS), WarningsOnly()
    data, test = wrap_data(program, data_of(data)), wrap_data(program, test)
    inputs, program = load_for(program, data, test, chosen, watch, needs_judge=False)
    plan = fit_plan_to_folder(chosen.plan_for(program), inputs.folder)
    plan = choose_partitioner(plan, program, inputs, watch)
    record = describe(program, inputs, chosen, digests=False)
    record.options = plan.record()
    driven = copy(program)
    if type(program).stages is Program.stages:
        vars(driven)["stages"] = list  # none of its own
    workers = make_workers(
        driven,
        inputs,
        plan.workers,
        plan.partitioner,
        chosen.seed,
        slack=chosen.slack,
        jit=chosen.jit,
        check=chosen.check,
        threads=chosen.threads or cores(),  # one worker is at work at a time
    )
    return StageSession(RunOnDemand(workers, chosen.seed), program, record)
