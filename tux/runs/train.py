"""The epochs of a run, from the first to the last, and then its end (`tux.runs.finish`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial
from typing import Any

from tux.base.errors import Interrupted
from tux.base.signals import FirstSignal, defer_ending, ignore_ending
from tux.base.text import plural
from tux.graph.kept_order import ORDER
from tux.monitor.sinks.sinks import log_to_sink
from tux.options.watcher import Phases
from tux.program.program import Program
from tux.program.report import Tables
from tux.runs.advice import advise_on_workers
from tux.runs.context import RunContext
from tux.runs.finish import (
    finish_interrupted,
    judge_by_rank,
    judge_model,
    make_tables,
    results_of,
    resume_advice,
    take_model,
    write_lists,
)
from tux.runs.full_disk import write_patiently
from tux.stages.analysis.lost_metrics import lost_metrics


def train_and_finish(run: RunContext) -> Tables:
    """Train, write the model and judge it, and complete the run's record. The epochs' records are
    added to those before, and go to the sink of the options. Returns the tables.

    Interrupted if the user ends the run; with the option `keeps_interrupted` this is only noted in
    the record, if there is a model by then, and there are no tables.
    """
    with log_to_sink(run.options.log, run.record, run.path, run.watch) as watch:
        run.phases = Phases(watch, run.phases.seconds)
        return _train_and_finish(run)


def _train_and_finish(run: RunContext) -> Tables:
    """Train and finish with a watcher that also passes epochs to the sink."""
    watch, folder, record = run.watch, run.folder, run.record
    _tell_preparation(run)
    if folder:
        folder.write_run(record)
    keeps_interrupted, training = run.options.keeps_interrupted, run.training
    defers = folder is not None or keeps_interrupted
    with defer_ending() if defers else nullcontext(FirstSignal()) as asked:
        ending = "ends with this epoch, or sooner; Ctrl-C again ends at once"
        patiently = partial(write_patiently, watch=watch, asked=asked)
        training.end_when(asked.seconds, partial(watch.say, ending), keeps_last=defers)
        if folder:
            training.sample_to(folder.journal.note_sample)
        training.give_model_to(partial(take_model, run, patiently))
        _train(run)
        if training.ended_early:
            error = finish_interrupted(run, patiently)
            if keeps_interrupted and training.has_model:
                return {}
            raise error
        record.results = results_of(run)
        if folder:
            # still deferred, as a first Ctrl-C after the last epoch should not lose them
            write_lists(run, folder, patiently)
    try:
        tables = make_tables(run)
        if folder:
            write_patiently(partial(folder.write_tables, tables), watch, FirstSignal())
        record.results |= judge_model(run, tables)
        if run.options.judge_top:
            record.results |= judge_by_rank(run, run.options.judge_top)
    except KeyboardInterrupt:
        if keeps_interrupted:
            watch.warn("interrupted in the report: its tables and scores may be missing")
            return {}
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
    return tables


def _tell_preparation(run: RunContext) -> None:
    """Say how long it took to prepare the run, and how many bytes an edge has; record both."""
    seconds, held = run.phases.seconds, run.training.edge_memory()
    run.watch.say(", ".join(f"{name} {taken:.2f} s" for name, taken in seconds.items()))
    run.record.setup_seconds = {name: round(taken, 6) for name, taken in seconds.items()}
    if held.edges:
        where = f" in {run.record.data.path_text}/part-*/{ORDER}" if held.kept else ""
        run.watch.say(f"edges: {held}{where}")
        run.record.edge_bytes = round(held.bytes / held.edges, 3)


def _train(run: RunContext) -> None:
    """Run the epochs; each record goes to the run's, the folder and the watcher as it comes. An
    interrupt is noted in the run's record.

    When workers are started again (`tux.runs.recovery`), the records become fewer meanwhile.
    """
    options, folder, watch, records = run.options, run.folder, run.watch, run.records
    most = run.plan.epochs
    first = min(options.eval_every, most)  # the epoch that is evaluated first
    furthest = len(records)
    watch.phase(f"epoch {len(records) + 1}")
    try:
        for record in run.training.epochs(
            most, every=options.eval_every, patience=options.patience, keep_best=run.keep_best
        ):
            records.append(record)
            if folder:
                folder.append(record)
            watch.epoch(record, most)
            if len(records) > furthest:  # else it comes again, and all is said
                furthest = len(records)
                if advice := advise_on_workers(records, run.plan.all_workers):
                    watch.say(advice)
                if furthest == first:
                    _warn_of_lost_metrics(run, record)
            done = len(records)
            watch.phase(f"epoch {done + 1}" if done < most else "end of training")
    except KeyboardInterrupt:
        raise _note_interrupt(run) from None


def _note_interrupt(run: RunContext) -> Interrupted:
    """Note in the run's record in which epoch it was interrupted. Return the error that says what
    the folder holds.
    """
    folder, records = run.folder, run.records
    run.record.interrupted = len(records) + 1
    if folder:
        with ignore_ending():
            folder.write_run(run.record)
    held = f"{folder.path / 'metrics.jsonl'} holds their records; " if folder and records else ""
    more = f"; {resume_advice(folder)}" if folder and resume_advice(folder) else ""
    return Interrupted(
        f"interrupted after {plural(len(records), 'epoch')}",
        do=f"{held}no model was written{more}",
    )


def _no_value_warning(program: Program) -> str:
    """Return the warning about a monitored metric that the first evaluation has not set."""
    return (
        f"{program.monitor}, which {type(program).__name__} monitors, has no value after the first "
        "evaluation, so no epoch is the best and --patience does nothing; it may be NaN, "
        "evaluate() may not set it, or it may need --test FILE"
    )


def _warn_of_lost_metrics(run: RunContext, record: Mapping[str, Any]) -> None:
    """Warn of metrics that have no value after the first evaluation though they should."""
    program, cluster = run.program, run.cluster(has_test=run.truth.held_out is not None)
    for sentence in lost_metrics(program, cluster, record):
        run.watch.warn(sentence)
    if (run.options.patience or run.keep_best) and program.monitor not in record:
        run.watch.warn(_no_value_warning(program))
