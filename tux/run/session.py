"""One run of a program from data to model: what `tux run` does, and what a notebook does with
``run(MF(rank=8), "ratings.csv", options=RunOptions(epochs=3))``.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any

from tux.base.text import plural
from tux.engine.worker import Worker
from tux.program.program import Program
from tux.program.report import GroundTruth, Tables
from tux.program.returns import check_exports
from tux.run.begin import (
    introduce,
    keeps_best,
    lay_out,
    load_for,
    recommended,
    start_workers,
    stored,
    tell_serial,
)
from tux.run.finish import carry_out, describe
from tux.run.folder import RunFolder
from tux.run.inputs import Data
from tux.run.options import RunOptions
from tux.run.watcher import Phases, Silent, Watcher


@dataclass(frozen=True)
class Result:
    """A run that has ended: the worker with its rows, one record an epoch, `results` as in
    run.json, set-up seconds by phase, the program's tables, and `sizes` of the data as in run.json.

    On a machine other than the first of several there is no worker, and there are no records.
    """

    worker: Worker | None
    records: list[dict[str, Any]]
    results: dict[str, Any]
    setup_seconds: dict[str, float]
    tables: Tables
    sizes: dict[str, Any] = field(default_factory=dict)


def run(
    program: Program,
    data: Data | None = None,
    test: Data | None = None,
    options: RunOptions | None = None,
    watch: Watcher | None = None,
) -> Result:
    """Train `program` on a file of edges, a partitioned folder, `EdgeData`, or small generated
    data.

    `test` holds edges out (`EdgeData` must be made against the ids of `data`). With held-out edges,
    or `options.patience`, the model is that of the epoch which is the best by the program's
    monitored metric, else that of the last. Raises UsageError, ProgramError, DataError, DiskError,
    PeerLost and DeadlinePassed, and `Interrupted` for Ctrl-C.
    """
    options, clock = options or RunOptions(), Phases(watch or Silent())
    options.of(program)  # what the program has no use for is told before data are read
    check_exports(program)  # nor is an export's mistake left to the end of a run
    with ExitStack() as stack:
        folder = stack.enter_context(RunFolder(options.out)) if options.out is not None else None
        with clock.phase("load"):
            inputs, program = load_for(program, data, test, options, clock.watch)
            check_exports(program)
            plan = stored(options.of(program), inputs)
            record = describe(program, inputs, options, digests=folder is not None)
        introduce(clock.watch, data, program.edge_name, inputs)
        plan = recommended(plan, program, inputs, clock.watch)
        tell_serial(clock.watch, program, inputs, plan)
        record.options = plan.record()
        if plan.workers > 1 or options.place or inputs.folder:
            training = stack.enter_context(start_workers(program, inputs, plan, folder, clock))
        else:
            scratch = (
                (lambda: stack.enter_context(TemporaryFile(dir=folder.path))) if folder else None
            )
            training = lay_out(program, inputs, plan, clock, scratch)
        if options.place and options.place.rank:
            return _elsewhere(training, options, clock)
        keep_best = keeps_best(program, inputs, options)
        truth = GroundTruth(
            inputs.test,
            options.labels if program.input.vertex_labels else None,
            options.seed,
            options.judge_repeats,
            clock.watch.share,
        )
        sizes = inputs.sizes
        del inputs  # the graph holds the edges in its own order
        records, tables = carry_out(training, plan, keep_best, truth, record, folder, clock)
    setup_seconds, results = record.setup_seconds, record.results or {}
    return Result(training.worker, records, results, setup_seconds, tables, sizes)


def _elsewhere(workers: Any, options: RunOptions, clock: Phases) -> Result:
    """On a machine other than the first: the workers are at work; wait until they have left."""
    assert (place := options.place) is not None
    clock.watch.say(
        f"machine {place.rank} of {place.machines}: {plural(len(workers.ranks), 'worker')} at "
        "work; machine 0 tells how it goes"
    )
    clock.watch.phase("train with machine 0")
    workers.wait()
    return Result(None, [], {}, clock.seconds, {})
