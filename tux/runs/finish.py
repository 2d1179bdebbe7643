"""A run from its first epoch to its end: the epochs' records, then the model, the program's report,
and `run.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, Protocol

import numpy as np

from tux.base.errors import DiskError, Interrupted, ProgramError
from tux.base.signals import FirstSignal, defer_ending, ignore_ending
from tux.base.text import plural
from tux.checkpoint.spool import SpooledLists
from tux.checkpoint.store import has_checkpoint
from tux.engine.records import metrics
from tux.engine.timeline import Sample
from tux.engine.worker import Worker
from tux.graph.edge_pieces import Pieces
from tux.monitor.sinks.sinks import log_to_sink
from tux.options.options import RunPlan
from tux.options.watcher import Phases, Watcher
from tux.predict.factors import factors_of
from tux.predict.ranking import judge_ranking
from tux.program.naming import place
from tux.program.program import Program
from tux.program.report import GroundTruth, Report, Tables
from tux.program.returns import call_hook
from tux.run_folder.folder import RESULTS, Categories, RunFolder, RunRecord, model_of
from tux.runs.advice import advise_on_workers
from tux.runs.full_disk import keep_elsewhere, write_patiently

Patiently = Callable[[Callable[[], object]], None]
"""`tux.runs.full_disk.write_patiently`, of one run."""

COULD_GO_ON = "with --checkpoint-every N a run can go on"


class Trainer(Protocol):
    """The trainer of a program: `tux.engine.training.Training`, or the launcher of several
    workers.
    """

    worker: Worker
    seconds: float
    best_epoch: int
    ended_early: bool
    has_model: bool

    def end_when(
        self,
        asked: Callable[[], float | None],
        tell: Callable[[], None] = lambda: None,
        *,
        keeps_last: bool = False,
    ) -> None:
        """End early once `asked` returns the seconds since the user asked for the end: see
        `tux.engine.training.Training.end_when`.
        """

    def sample_to(self, tell: Callable[[int, Sample], None]) -> None:
        """Have `tell` called with the rank and each sample of a worker's timeline."""

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Yield the epochs' records; then the worker has the model."""

    def edges(self) -> Pieces:
        """Return the training edges."""

    def lists(self) -> SpooledLists | None:
        """Return the lists that no stage uses."""


def carry_out(
    training: Trainer,
    plan: RunPlan,
    keep_best: bool,
    truth: GroundTruth,
    record: RunRecord,
    folder: RunFolder | None,
    clock: Phases,
    records: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], Tables]:
    """Train, write the model and judge it, and complete the run's record. The epochs' records are
    added to `records`, which has those before, and go to the sink of the options. Returns them and
    the tables.

    Interrupted if the user ends the run; with the option `keeps_interrupted` this is only noted in
    the record, if there is a model by then, and there are no tables.
    """
    with log_to_sink(
        plan.options.log, record, folder.path if folder else None, clock.watch
    ) as watch:
        clock = Phases(watch, clock.seconds)
        return _carry_out(training, plan, keep_best, truth, record, folder, clock, records)


def _carry_out(
    training: Trainer,
    plan: RunPlan,
    keep_best: bool,
    truth: GroundTruth,
    record: RunRecord,
    folder: RunFolder | None,
    clock: Phases,
    records: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], Tables]:
    """Do the work of `carry_out`, with a clock whose watcher also passes epochs to the sink."""
    clock.watch.say(", ".join(f"{name} {seconds:.2f} s" for name, seconds in clock.seconds.items()))
    record.setup_seconds = {name: round(seconds, 6) for name, seconds in clock.seconds.items()}
    if folder:
        folder.write_run(record)
    watch, keeps_interrupted = clock.watch, plan.options.keeps_interrupted
    defers = folder is not None or keeps_interrupted
    with defer_ending() if defers else nullcontext(FirstSignal()) as asked:
        ending = "ends with this epoch, or sooner; Ctrl-C again ends at once"
        patiently = partial(write_patiently, watch=watch, asked=asked)
        training.end_when(asked.seconds, partial(watch.say, ending), keeps_last=defers)
        if folder:
            training.sample_to(folder.journal.note_sample)
        _train(training, plan, keep_best, record, folder, watch, records)
        if training.ended_early:
            error = _finish_interrupted(training, records, keep_best, record, folder, patiently)
            if keeps_interrupted and training.has_model:
                return records, {}
            raise error
        record.results = _results(training, records, keep_best)
        if folder:
            # before the report, whose mistakes should not lose the model; and still deferred, as a
            # first Ctrl-C after the last epoch should not lose it either
            watch.phase("save")
            _save(training, records, record, folder, patiently)
    try:
        tables = _tables(training, records, record.categories, watch)
        if folder:
            write_patiently(partial(folder.write_tables, tables), watch, FirstSignal())
        record.results |= _report(training, records, truth, tables, record.categories, watch)
        if plan.options.judge_top:
            record.results |= _judge_ranking(training, truth, plan.options.judge_top, watch)
    except KeyboardInterrupt:
        if keeps_interrupted:
            watch.warn("interrupted in the report: its tables and scores may be missing")
            return records, {}
        if folder is None:
            raise
        raise Interrupted(
            f"interrupted in the report; the model is in {folder.path}",
            do="tables and scores of the report may be missing",
        ) from None
    finally:
        watch.phase("end the run")
        # last: a run without results goes on where it was killed
        if folder:
            write_patiently(partial(folder.write_run, record), watch, FirstSignal())
    return records, tables


def _train(
    training: Trainer,
    plan: RunPlan,
    keep_best: bool,
    run: RunRecord,
    folder: RunFolder | None,
    watch: Watcher,
    records: list[dict[str, Any]],
) -> None:
    """Run the epochs; each record goes to `records`, the folder and the watcher as it comes. An
    interrupt is noted in the `run`.

    When workers are started again (`tux.runs.recovery`), `records` becomes shorter meanwhile.
    """
    monitor, every = training.worker.program.monitor, plan.options.every
    patience, most = plan.options.patience, plan.epochs
    first = min(every, most)  # the epoch that is evaluated first
    furthest = len(records)
    watch.phase(f"epoch {len(records) + 1}")
    try:
        for record in training.epochs(most, every=every, patience=patience, keep_best=keep_best):
            records.append(record)
            if folder:
                folder.append(record)
            watch.epoch(record, most)
            if len(records) > furthest:  # else it comes again, and all is said
                furthest = len(records)
                if advice := advise_on_workers(records, plan.workers):
                    watch.say(advice)
                if (patience or keep_best) and furthest == first and monitor not in record:
                    watch.warn(_no_value_warning(monitor, training.worker.program))
            done = len(records)
            watch.phase(f"epoch {done + 1}" if done < most else "end of training")
    except KeyboardInterrupt:
        run.interrupted = len(records) + 1
        if folder:
            with ignore_ending():
                folder.write_run(run)
        held = (
            f"{folder.path / 'metrics.jsonl'} holds their records; " if folder and records else ""
        )
        more = f"; {_resume_advice(folder)}" if folder and _resume_advice(folder) else ""
        raise Interrupted(
            f"interrupted after {plural(len(records), 'epoch')}",
            do=f"{held}no model was written{more}",
        ) from None


def _finish_interrupted(
    training: Trainer,
    records: list[dict[str, Any]],
    keep_best: bool,
    record: RunRecord,
    folder: RunFolder | None,
    patiently: Patiently,
) -> Interrupted:
    """Write the model of a run that the user has ended, if it has a model and a folder. Return the
    error that tells the user so.
    """
    record.interrupted = len(records) + 1
    model, do = "no model was written", COULD_GO_ON
    if training.has_model:
        record.results = _results(training, records, keep_best)
    if folder:
        if training.has_model:
            _write(training, records, record, folder, patiently)
            model = f"the model is in {folder.path}"
        folder.write_run(record)
        do = _resume_advice(folder) or do
    return Interrupted(f"interrupted after {plural(len(records), 'epoch')}; {model}", do=do)


def _save(
    training: Trainer,
    records: list[dict[str, Any]],
    record: RunRecord,
    folder: RunFolder,
    patiently: Patiently,
) -> None:
    """Write the model of a run that is over. Interrupted if the user does not wait for it."""
    try:
        _write(training, records, record, folder, patiently)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted after {plural(len(records), 'epoch')}; the model is not whole",
            do=_resume_advice(folder) or COULD_GO_ON,
        ) from None


def _resume_advice(folder: RunFolder) -> str:
    """Return the command that goes on with a run that has checkpoints; else ""."""
    return f"go on: tux run --resume {folder.path}" if has_checkpoint(folder.path) else ""


def _no_value_warning(monitor: str, program: Program) -> str:
    """Return the warning about a monitored metric that the first evaluation has not set."""
    return (
        f"{monitor}, which {type(program).__name__} monitors, has no value after the first "
        "evaluation, so no epoch is the best and --patience does nothing; evaluate() may not set "
        "it, or it may need --test FILE"
    )


def _write(
    training: Trainer,
    records: list[dict[str, Any]],
    record: RunRecord,
    folder: RunFolder,
    patiently: Patiently,
) -> None:
    """Write the model, and have the report write the lists that no stage uses. Where the disk does
    not take the model, it is kept elsewhere, and the DiskError tells where.
    """
    try:
        patiently(partial(folder.write_model, training.worker, record.id_types))
    except DiskError as error:
        raise keep_elsewhere(error, training.worker, record, records) from error.__cause__
    if (spooled := training.lists()) is None:
        return
    with spooled:
        program, vertices = (
            training.worker.program,
            training.worker.graph.vertices[spooled.head.over],
        )
        ids = vertices.ids.values[: vertices.n_train][spooled.order]
        patiently(
            lambda: call_hook(program.report, "write", program, folder.path, spooled.pieces(), ids)
        )


def _tables(
    training: Trainer, records: list[dict[str, Any]], categories: Categories, watch: Watcher
) -> Tables:
    """Return the report's tables of the model and of the records."""
    watch.phase("tables")
    program = training.worker.program
    model = model_of(training.worker, training.edges(), categories)
    return {
        **call_hook(program.report, "tables", program, model),
        **call_hook(program.report, "history", program, records),
    }


def _report(
    training: Trainer,
    records: list[dict[str, Any]],
    truth: GroundTruth,
    tables: Tables,
    categories: Categories,
    watch: Watcher,
) -> dict[str, Any]:
    """Return the report's numbers about the run and about the model, and tell its warnings."""
    program = training.worker.program
    report = program.report
    numbers = _numbers(report, "summary", (program, tables, records))
    for text in call_hook(report, "remarks", program, records):
        watch.warn(text)
    if truth.held_out is not None or truth.labels is not None:
        watch.phase("judge")
        model = model_of(training.worker, training.edges(), categories)
        numbers |= _numbers(report, "judge", (program, model, truth))
    return numbers


def _judge_ranking(
    training: Trainer, truth: GroundTruth, k: int, watch: Watcher
) -> dict[str, float]:
    """Judge by the held-out edges how good the best `k` items are for the users of these edges."""
    assert truth.held_out is not None
    watch.phase("judge by rank")
    model = model_of(training.worker)
    factors = factors_of(training.worker.program, model.fields)
    held_out = truth.held_out.src, truth.held_out.dst
    numbers = judge_ranking(factors, training.edges(), held_out, k, watch.share)
    if not numbers:
        watch.warn(
            "no ranks to judge: each held-out edge is among the training edges, or of a vertex "
            "that they do not have"
        )
    return numbers


def _numbers(report: Report, hook: str, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Call a hook of the report, and return its numbers as Python's. ProgramError for a name that
    one of the run's own results has.
    """
    returned = call_hook(report, hook, *arguments)
    if own := [name for name in returned if name in RESULTS]:
        raise ProgramError(
            f"{type(report).__name__}.{hook}() returns {own[0]}, which is the run's own",
            where=place(getattr(report, hook)),
            do="give it another name",
        )
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in returned.items()
    }


def _results(training: Trainer, records: list[dict[str, Any]], keep_best: bool) -> dict[str, Any]:
    """Return epochs and seconds, last and best metrics, and the epoch whose state the model is."""
    results: dict[str, Any] = {
        "epochs": records[-1]["epoch"],
        "seconds": training.seconds,
        "last": metrics(records[-1]),
    }
    if training.best_epoch:
        results["monitor"] = training.worker.program.monitor
        results["best"] = {
            "epoch": training.best_epoch,
            **metrics(records[training.best_epoch - 1]),
        }
    results["model_epoch"] = (
        training.best_epoch if keep_best and training.best_epoch else results["epochs"]
    )
    return results
