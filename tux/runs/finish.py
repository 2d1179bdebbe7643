"""The end of a run: the model, the program's report, and the results in `run.json`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tux.base.errors import DiskError, Interrupted, ProgramError
from tux.base.text import plural
from tux.checkpoint.store import has_checkpoint
from tux.engine.records import metrics
from tux.predict.factors import factors_of
from tux.predict.ranking import judge_ranking
from tux.program.naming import place
from tux.program.report import Model, Report, Tables
from tux.program.returns import call_hook
from tux.run_folder.folder import RESULTS, RunFolder
from tux.run_folder.model_columns import model_of
from tux.runs.context import RunContext
from tux.runs.full_disk import keep_elsewhere

Patiently = Callable[[Callable[[], object]], None]
"""`tux.runs.full_disk.write_patiently`, of one run."""

COULD_GO_ON = "with --checkpoint-every N a run can go on"


def save_model(run: RunContext, folder: RunFolder, patiently: Patiently) -> None:
    """Write the model of a run that is over. Interrupted if the user does not wait for it."""
    try:
        write_model(run, folder, patiently)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted after {plural(len(run.records), 'epoch')}; the model is not whole",
            do=resume_advice(folder) or COULD_GO_ON,
        ) from None


def finish_interrupted(run: RunContext, patiently: Patiently) -> Interrupted:
    """Write the model of a run that the user has ended, if it has a model and a folder. Return the
    error that tells the user so.
    """
    run.record.interrupted = len(run.records) + 1
    model, do = "no model was written", COULD_GO_ON
    if run.training.has_model:
        run.record.results = results_of(run)
    if folder := run.folder:
        if run.training.has_model:
            write_model(run, folder, patiently)
            model = f"the model is in {folder.path}"
        folder.write_run(run.record)
        do = resume_advice(folder) or do
    return Interrupted(f"interrupted after {plural(len(run.records), 'epoch')}; {model}", do=do)


def write_model(run: RunContext, folder: RunFolder, patiently: Patiently) -> None:
    """Write the model, and have the report write the lists that no stage uses. Where the disk does
    not take the model, it is kept elsewhere, and the DiskError tells where.
    """
    worker = run.training.worker
    try:
        patiently(partial(folder.write_model, worker, run.record.id_types))
    except DiskError as error:
        raise keep_elsewhere(error, worker, run.record, run.records) from error.__cause__
    if (spooled := run.training.lists()) is None:
        return
    with spooled:
        program, vertices = worker.program, worker.graph.vertices[spooled.head.over]
        ids = vertices.ids.values[: vertices.n_train][spooled.order]
        patiently(
            lambda: call_hook(program.report, "write", program, folder.path, spooled.pieces(), ids)
        )


def resume_advice(folder: RunFolder) -> str:
    """Return the command that goes on with a run that has checkpoints; else ""."""
    return f"go on: tux run --resume {folder.path}" if has_checkpoint(folder.path) else ""


def make_tables(run: RunContext) -> Tables:
    """Return the report's tables of the model and of the records."""
    run.watch.phase("tables")
    program = run.training.worker.program
    return {
        **call_hook(program.report, "tables", program, _model(run)),
        **call_hook(program.report, "history", program, run.records),
    }


def judge_model(run: RunContext, tables: Tables) -> dict[str, Any]:
    """Return the report's numbers about the run and about the model, and tell its warnings."""
    program, truth = run.training.worker.program, run.truth
    report = program.report
    numbers = _numbers(report, "summary", (program, tables, run.records))
    for text in call_hook(report, "remarks", program, run.records):
        run.watch.warn(text)
    if truth.held_out is not None or truth.labels is not None:
        run.watch.phase("judge")
        numbers |= _numbers(report, "judge", (program, _model(run), truth))
    return numbers


def _model(run: RunContext) -> Model:
    """Return the model as reports get it."""
    return model_of(run.training.worker, run.training.edges(), run.record.categories)


def judge_by_rank(run: RunContext, k: int) -> dict[str, float]:
    """Judge by the held-out edges how good the best `k` items are for the users of these edges."""
    truth, training = run.truth.held_out, run.training
    assert truth is not None
    run.watch.phase("judge by rank")
    model = model_of(training.worker)
    factors = factors_of(training.worker.program, model.fields)
    numbers = judge_ranking(factors, training.edges(), (truth.src, truth.dst), k, run.watch.share)
    if not numbers:
        run.watch.warn(
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


def results_of(run: RunContext) -> dict[str, Any]:
    """Return epochs and seconds, last and best metrics, and the epoch whose state the model is."""
    training, records = run.training, run.records
    results: dict[str, Any] = {
        "epochs": records[-1]["epoch"],
        "seconds": training.seconds,
        "last": metrics(records[-1]),
    }
    best = training.best_epoch
    if best:
        results["monitor"] = training.worker.program.monitor
        results["best"] = {"epoch": best, **metrics(records[best - 1])}
    results["model_epoch"] = best if run.keep_best and best else results["epochs"]
    return results
