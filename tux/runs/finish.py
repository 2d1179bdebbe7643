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
from tux.options.watcher import Watcher
from tux.predict.factors import factors_of
from tux.predict.ranking import judge_ranking
from tux.program.naming import place
from tux.program.report import GroundTruth, Report, Tables
from tux.program.returns import call_hook
from tux.run_folder.folder import RESULTS, Categories, RunFolder, RunRecord, model_of
from tux.runs.full_disk import keep_elsewhere
from tux.runs.trainer import Trainer

Patiently = Callable[[Callable[[], object]], None]
"""`tux.runs.full_disk.write_patiently`, of one run."""

COULD_GO_ON = "with --checkpoint-every N a run can go on"


def save_model(
    training: Trainer,
    records: list[dict[str, Any]],
    record: RunRecord,
    folder: RunFolder,
    patiently: Patiently,
) -> None:
    """Write the model of a run that is over. Interrupted if the user does not wait for it."""
    try:
        write_model(training, records, record, folder, patiently)
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted after {plural(len(records), 'epoch')}; the model is not whole",
            do=resume_advice(folder) or COULD_GO_ON,
        ) from None


def finish_interrupted(
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
        record.results = results_of(training, records, keep_best)
    if folder:
        if training.has_model:
            write_model(training, records, record, folder, patiently)
            model = f"the model is in {folder.path}"
        folder.write_run(record)
        do = resume_advice(folder) or do
    return Interrupted(f"interrupted after {plural(len(records), 'epoch')}; {model}", do=do)


def write_model(
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


def resume_advice(folder: RunFolder) -> str:
    """Return the command that goes on with a run that has checkpoints; else ""."""
    return f"go on: tux run --resume {folder.path}" if has_checkpoint(folder.path) else ""


def make_tables(
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


def judge_model(
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


def judge_by_rank(
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


def results_of(training: Trainer, records: list[dict[str, Any]], keep_best: bool) -> dict[str, Any]:
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
