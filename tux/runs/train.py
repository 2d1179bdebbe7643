"""The epochs of a run, from the first to the last, and then its end (`tux.runs.finish`)."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Any

from tux.base.errors import Interrupted
from tux.base.signals import FirstSignal, defer_ending, ignore_ending
from tux.base.text import plural
from tux.monitor.sinks.sinks import log_to_sink
from tux.options.options import RunPlan
from tux.options.watcher import Phases, Watcher
from tux.program.program import Program
from tux.program.report import GroundTruth, Tables
from tux.run_folder.folder import RunFolder, RunRecord
from tux.runs.advice import advise_on_workers
from tux.runs.finish import (
    finish_interrupted,
    judge_by_rank,
    judge_model,
    make_tables,
    results_of,
    resume_advice,
    save_model,
)
from tux.runs.full_disk import write_patiently
from tux.runs.trainer import Trainer


def train_and_finish(
    training: Trainer,
    plan: RunPlan,
    keep_best: bool,
    truth: GroundTruth,
    record: RunRecord,
    folder: RunFolder | None,
    phases: Phases,
    records: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], Tables]:
    """Train, write the model and judge it, and complete the run's record. The epochs' records are
    added to `records`, which has those before, and go to the sink of the options. Returns them and
    the tables.

    Interrupted if the user ends the run; with the option `keeps_interrupted` this is only noted in
    the record, if there is a model by then, and there are no tables.
    """
    with log_to_sink(
        plan.options.log, record, folder.path if folder else None, phases.watch
    ) as watch:
        phases = Phases(watch, phases.seconds)
        return _train_and_finish(training, plan, keep_best, truth, record, folder, phases, records)


def _train_and_finish(
    training: Trainer,
    plan: RunPlan,
    keep_best: bool,
    truth: GroundTruth,
    record: RunRecord,
    folder: RunFolder | None,
    phases: Phases,
    records: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], Tables]:
    """Train and finish with `phases` whose watcher also passes epochs to the sink."""
    phases.watch.say(
        ", ".join(f"{name} {seconds:.2f} s" for name, seconds in phases.seconds.items())
    )
    record.setup_seconds = {name: round(seconds, 6) for name, seconds in phases.seconds.items()}
    if folder:
        folder.write_run(record)
    watch, keeps_interrupted = phases.watch, plan.options.keeps_interrupted
    defers = folder is not None or keeps_interrupted
    with defer_ending() if defers else nullcontext(FirstSignal()) as asked:
        ending = "ends with this epoch, or sooner; Ctrl-C again ends at once"
        patiently = partial(write_patiently, watch=watch, asked=asked)
        training.end_when(asked.seconds, partial(watch.say, ending), keeps_last=defers)
        if folder:
            training.sample_to(folder.journal.note_sample)
        _train(training, plan, keep_best, record, folder, watch, records)
        if training.ended_early:
            error = finish_interrupted(training, records, keep_best, record, folder, patiently)
            if keeps_interrupted and training.has_model:
                return records, {}
            raise error
        record.results = results_of(training, records, keep_best)
        if folder:
            # before the report, whose mistakes should not lose the model; and still deferred, as a
            # first Ctrl-C after the last epoch should not lose it either
            watch.phase("save")
            save_model(training, records, record, folder, patiently)
    try:
        tables = make_tables(training, records, record.categories, watch)
        if folder:
            write_patiently(partial(folder.write_tables, tables), watch, FirstSignal())
        record.results |= judge_model(training, records, truth, tables, record.categories, watch)
        if plan.options.judge_top:
            record.results |= judge_by_rank(training, truth, plan.options.judge_top, watch)
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
        more = f"; {resume_advice(folder)}" if folder and resume_advice(folder) else ""
        raise Interrupted(
            f"interrupted after {plural(len(records), 'epoch')}",
            do=f"{held}no model was written{more}",
        ) from None


def _no_value_warning(monitor: str, program: Program) -> str:
    """Return the warning about a monitored metric that the first evaluation has not set."""
    return (
        f"{monitor}, which {type(program).__name__} monitors, has no value after the first "
        "evaluation, so no epoch is the best and --patience does nothing; evaluate() may not set "
        "it, or it may need --test FILE"
    )
