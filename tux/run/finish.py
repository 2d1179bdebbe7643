"""A run from its first epoch to its end: the epochs' records, then the model, the program's report,
and `run.json`.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from importlib.metadata import version
from platform import python_version
from typing import Any, Protocol

import numpy as np

from tux.base.errors import ProgramError, TuxError
from tux.base.text import plural
from tux.engine.records import metrics
from tux.engine.spool import SpooledLists
from tux.engine.worker import Worker
from tux.graph.edge_pieces import Pieces
from tux.program import sources
from tux.program.program import Program
from tux.program.report import GroundTruth, Report, Tables
from tux.run.folder import App, Origin, Run, RunFolder, check_tables, model_of, tables_of
from tux.run.inputs import Inputs
from tux.run.options import Plan, RunOptions
from tux.run.watcher import Phases, Watcher


class Interrupted(TuxError):
    """The user stopped the run (exit code 130)."""

    exit_code = 130


class Trainer(Protocol):
    """What trains a program: `tux.engine.training.Training`, or the launcher of several workers."""

    worker: Worker
    seconds: float
    best_epoch: int

    def epochs(
        self, most: int, *, every: int = 1, patience: int = 0, keep_best: bool = False
    ) -> Iterator[dict[str, Any]]:
        """The epochs' records, then the model in the worker."""

    def edges(self) -> Pieces:
        """The edges trained on."""

    def lists(self) -> SpooledLists | None:
        """The lists that no stage uses."""


def describe(program: Program, inputs: Inputs, options: RunOptions, *, digests: bool) -> Run:
    """The run's record; with `digests` of source and data, which take about a second a gigabyte
    of edges, and versions.
    """
    source = sources.of(program)
    record = Run(
        App(source.name, ""), program.parameters, options.seed, {}, Origin(inputs.origin, "")
    )
    if not digests:
        return record
    record.app.digest = source.digest
    record.data.digest = inputs.digest()
    if inputs.test is not None:
        record.test = Origin(inputs.test_origin or inputs.origin, inputs.test.digest())
    record.command, record.sizes = list(options.command), inputs.sizes
    record.versions = {
        "python": python_version(),
        **{name: version(name) for name in ("tux", "numpy", "numba", "pyarrow")},
    }
    return record


def carry_out(
    training: Trainer,
    plan: Plan,
    keep_best: bool,
    truth: GroundTruth,
    record: Run,
    folder: RunFolder | None,
    clock: Phases,
) -> tuple[list[dict[str, Any]], Tables]:
    """Train, write the model and judge it; the run's record is completed. Returns the epochs'
    records and the tables.
    """
    clock.watch.say(", ".join(f"{name} {seconds:.2f} s" for name, seconds in clock.seconds.items()))
    record.setup_seconds = {name: round(seconds, 6) for name, seconds in clock.seconds.items()}
    if folder:
        folder.write_run(record)
    records = _train(training, plan, keep_best, folder, clock.watch)
    tables = _tables(training, records, folder, clock.watch)
    record.results = _report(training, records, keep_best, truth, tables, clock.watch)
    if folder:
        folder.write_run(record)
    return records, tables


def _train(
    training: Trainer, plan: Plan, keep_best: bool, folder: RunFolder | None, watch: Watcher
) -> list[dict[str, Any]]:
    """Run the epochs; each record goes to the folder and the watcher as it comes."""
    records: list[dict[str, Any]] = []
    monitor, every = training.worker.program.monitor, plan.options.every
    patience, most = plan.options.patience, plan.epochs
    watch.phase("epoch 1")
    try:
        for record in training.epochs(most, every=every, patience=patience, keep_best=keep_best):
            records.append(record)
            if folder:
                folder.append(record)
            watch.epoch(record, most)
            if patience and len(records) == every and monitor not in record:
                watch.warn(
                    f"{monitor} has no value, so --patience does nothing; it may need --test FILE"
                )
            watch.phase(f"epoch {len(records) + 1}")
    except KeyboardInterrupt:
        held = f"{folder.path / 'metrics.jsonl'} holds them; " if folder and records else ""
        raise Interrupted(
            f"interrupted after {plural(len(records), 'epoch')}", do=f"{held}no model was written"
        ) from None
    return records


def _tables(
    training: Trainer, records: list[dict[str, Any]], folder: RunFolder | None, watch: Watcher
) -> Tables:
    """The report's tables; they and the model are written."""
    watch.phase("tables")
    program = training.worker.program
    tables = {
        **tables_of(training.worker, training.edges()),
        **check_tables(program, "history", program.report.history(program, records)),
    }
    if folder:
        watch.phase("save")
        _write(training, tables, folder)
    return tables


def _write(training: Trainer, tables: Tables, folder: RunFolder) -> None:
    """Write the model, and have the report write the lists that no stage uses."""
    folder.write_model(training.worker, tables)
    if (spooled := training.lists()) is None:
        return
    with spooled:
        program, vertices = (
            training.worker.program,
            training.worker.graph.vertices[spooled.head.over],
        )
        ids = vertices.ids.values[: vertices.n_train][spooled.order]
        program.report.write(program, folder.path, spooled.pieces(), ids)


def _report(
    training: Trainer,
    records: list[dict[str, Any]],
    keep_best: bool,
    truth: GroundTruth,
    tables: Tables,
    watch: Watcher,
) -> dict[str, Any]:
    """The run's results. The model is judged when it has been written: it should not be lost to
    a file of labels.
    """
    program = training.worker.program
    report = program.report
    results = _results(training, records, keep_best)
    results |= _numbers(report, "summary", report.summary(program, tables, records), results)
    for text in report.remarks(program, records):
        watch.warn(text)
    if truth.held_out is not None or truth.labels is not None:
        watch.phase("judge")
        scores = report.judge(program, model_of(training.worker, training.edges()), truth)
        results |= _numbers(report, "judge", scores, ())
    return results


def _numbers(
    report: Report, method: str, returned: Mapping[str, Any], taken: Container[str]
) -> dict[str, Any]:
    """What a method of the report has returned, as Python's numbers. ProgramError for anything
    else, and for a name that the run's own results have `taken`.
    """
    where = f"{type(report).__name__}.{method}"
    numbers = {}
    for name, value in returned.items():
        number = value.item() if isinstance(value, np.generic) else value
        if not isinstance(number, bool | int | float | str):
            raise ProgramError(
                f"{where} returns a {type(value).__name__} as {name}", do="return numbers by name"
            )
        if name in taken:
            raise ProgramError(
                f"{where} returns {name}, which is the run's own", do="give it another name"
            )
        numbers[name] = number
    return numbers


def _results(training: Trainer, records: list[dict[str, Any]], keep_best: bool) -> dict[str, Any]:
    """Epochs and seconds, last and best metrics, and the epoch whose state the model is."""
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
