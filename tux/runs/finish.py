"""The end of a run: the model, the program's report, and the results in `run.json`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import numpy as np

from tux.base.errors import DiskError, Interrupted, ProgramError
from tux.base.text import plural
from tux.checkpoint.store import has_checkpoint
from tux.engine.model import RunModel, WorkerModel
from tux.engine.records import metrics
from tux.predict.factors import factors_of
from tux.predict.ranking import judge_ranking
from tux.program.naming import place
from tux.program.report import Model, Report, Tables
from tux.program.returns import call_hook
from tux.run_folder.folder import RESULTS, RunFolder
from tux.run_folder.model_columns import copy_in_memory, model_of
from tux.run_folder.stored_model import StoredModel
from tux.runs.context import RunContext
from tux.runs.full_disk import keep_elsewhere

Patiently = Callable[[Callable[[], object]], None]
"""`tux.runs.full_disk.write_patiently`, of one run."""

COULD_GO_ON = "with --checkpoint-every N a run can go on"


def take_model(run: RunContext, patiently: Patiently, model: RunModel) -> None:
    """Take the model of a run that is over from those who hold it: write it into the run's folder,
    or else keep it in memory. Interrupted if the user does not wait for it.
    """
    with _refusing_to_wait(run):
        if run.folder:
            run.watch.phase("save")
            _write_model(run, run.folder, model, patiently)
        run.model = model if isinstance(model, WorkerModel) else _keep(run, model)


@contextmanager
def _refusing_to_wait(run: RunContext) -> Iterator[None]:
    """Turn the Ctrl-C of a user who does not wait for the model into Interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted after {plural(len(run.records), 'epoch')}; the model is not whole",
            do=(resume_advice(run.folder) if run.folder else "") or COULD_GO_ON,
        ) from None


def _keep(run: RunContext, model: RunModel) -> RunModel:
    """Return a model that stays when its workers have left: in the run's folder, or in memory."""
    return StoredModel(run.folder.path, model) if run.folder else copy_in_memory(model)


def finish_interrupted(run: RunContext, patiently: Patiently) -> Interrupted:
    """Write what belongs to the model of a run that the user has ended, if it has one and a folder.
    Return the error that tells the user so.
    """
    run.record.interrupted = len(run.records) + 1
    model, do = "no model was written", COULD_GO_ON
    if run.training.has_model:
        run.record.results = results_of(run)
    if folder := run.folder:
        if run.training.has_model:
            write_lists(run, folder, patiently)
            model = f"the model is in {folder.path}"
        folder.write_run(run.record)
        do = resume_advice(folder) or do
    return Interrupted(f"interrupted after {plural(len(run.records), 'epoch')}; {model}", do=do)


def _write_model(run: RunContext, folder: RunFolder, model: RunModel, patiently: Patiently) -> None:
    """Write a model into the run's folder. Where the disk does not take it, it is kept elsewhere,
    and the DiskError tells where.
    """
    try:
        patiently(partial(folder.write_model, model, run.record.id_types))
    except DiskError as error:
        # a worker that is lost now may start all again: the run's own record has no results yet
        record = msgspec.structs.replace(run.record, results=results_of(run))
        raise keep_elsewhere(error, model, record, run.records) from error.__cause__


def write_lists(run: RunContext, folder: RunFolder, patiently: Patiently) -> None:
    """Have the report write the lists that no stage uses. Interrupted if the user does not wait for
    it.
    """
    if (spooled := run.training.lists()) is None:
        return
    with _refusing_to_wait(run), spooled:
        program, ids = run.program, run.model.ids(spooled.head.over)[spooled.order]
        patiently(
            lambda: call_hook(program.report, "write", program, folder.path, spooled.pieces(), ids)
        )


def resume_advice(folder: RunFolder) -> str:
    """Return the command that goes on with a run that has checkpoints; else ""."""
    return f"go on: tux run --resume {folder.path}" if has_checkpoint(folder.path) else ""


def make_tables(run: RunContext) -> Tables:
    """Return the report's tables of the model and of the records."""
    run.watch.phase("tables")
    program = run.program
    return {
        **call_hook(program.report, "tables", program, _model(run)),
        **call_hook(program.report, "history", program, run.records),
    }


def judge_model(run: RunContext, tables: Tables) -> dict[str, Any]:
    """Return the report's numbers about the run and about the model, and tell its warnings."""
    program, truth = run.program, run.truth
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
    return model_of(run.model, run.training.edges(), run.record.categories)


def judge_by_rank(run: RunContext, k: int) -> dict[str, float]:
    """Judge by the held-out edges how good the best `k` items are for the users of these edges."""
    truth, training = run.truth.held_out, run.training
    assert truth is not None
    run.watch.phase("judge by rank")
    factors = factors_of(run.program, model_of(run.model).fields)
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
        results["monitor"] = run.program.monitor
        results["best"] = {"epoch": best, **metrics(records[best - 1])}
    results["model_epoch"] = best if run.keep_best and best else results["epochs"]
    return results
