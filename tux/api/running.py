"""Running and loading from Python: the work of ``tux run``, with a result in memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tux.api.elsewhere import run_elsewhere
from tux.api.loading import load as load
from tux.api.options import MADE_UP, data_of, run_options
from tux.api.progress import watching
from tux.api.result import Run, trained_model
from tux.arrays import stores
from tux.base.errors import UsageError
from tux.base.signals import pass_on_termination
from tux.options.options import RunOptions
from tux.options.python_words import in_python
from tux.options.watcher import Watcher
from tux.predict.predict import TrainedModel
from tux.program import sources
from tux.program.program import Program
from tux.run_folder.model_columns import columns_of
from tux.runs import session


@pass_on_termination()
@in_python()
def run(
    program: Program,
    data: Any = MADE_UP,
    test: Any = None,
    *,
    on: Any = None,
    machines: int = 1,
    progress: bool | Watcher | None = None,
    **options: Any,
) -> Run:
    """Run a program: train it on data, and return the run with its model and its history.

    `program` is one with its parameters, ``tux.MF(rank=8)``, or your own. `data` are of a kind that
    it reads: a table in memory (pandas, polars, pyarrow, DuckDB), arrays, a sparse or a networkx
    graph, or names of files. Without this argument, small data are made up; None is an error.
    `test` holds edges of the same kind out: then the model is that of the epoch that is the best on
    them.

    `options` are those of ``tux run``: `epochs`, `seed`, `out` (a new folder that keeps the run),
    `workers` (processes), `threads`, `slack`, `columns`, `patience`, `eval_every`,
    `checkpoint_every`, and others. With `from_run`, a run or its folder, training begins with the
    model of that run, of the same program, and `data` are new: ``tux.run(old.program, new,
    from_run=old)``. `on` names an engine that places `machines`: "ray", "spark" or
    "local"; then data are files that each machine can read, a `ray.data.Dataset`, or a DataFrame of
    Spark. `progress` shows how the run goes on: a bar in a notebook, one line on a terminal, lines
    elsewhere; False shows nothing.

    Ctrl-C, or the stop button of a notebook, ends the run with the epoch under way: the model so
    far is returned, and `interrupted` is True. The second time the run ends at once, and raises
    Interrupted. Before training has begun it raises KeyboardInterrupt. SIGTERM ends the run
    likewise, and then the process: by SystemExit(143), or by your own handler. Raises TuxError:
    UsageError, ProgramError, DataError, DiskError, PeerLost, DeadlinePassed.
    """
    start = _take_start(options)
    chosen, data = run_options(program, options), data_of(data)
    if start and (on is not None or chosen.workers not in (None, 1) or chosen.out is not None):
        raise UsageError(
            "the run to begin with is in memory alone, and its model is to be read again",
            do="give that run a folder: out=DIR",
        )
    if on is not None:
        return run_elsewhere(program, data, test, chosen, on, machines, progress)
    if type(data).__module__.startswith("ray.data"):
        do = 'add on="ray", and machines=N'
        raise UsageError("a Dataset of Ray is read by the machines of a Ray cluster", do=do)
    if machines != 1:
        do = 'name one with on=: "ray", "spark" or "local"'
        raise UsageError(f"{machines} machines, and no engine that places them", do=do)
    _check_file(program, chosen)
    with watching(progress) as watch:
        result = session.run(program, data, test, chosen, watch, start=start)
        return run_from_result(result, chosen.out)


@pass_on_termination()
@in_python()
def resume(
    folder: str | os.PathLike[str],
    *,
    epochs: int | None = None,
    workers: int | None = None,
    threads: int | None = None,
    restarts: int | None = None,
    app: str | None = None,
    progress: bool | Watcher | None = None,
) -> Run:
    """Go on with the run of a folder from its newest checkpoint, as ``tux run --resume`` does, and
    return it; up to `epochs`, on so many `workers`. `app` is where the program's file is now, if it
    has moved. Raises the errors of `tux.run`, and Refused where program, data or parameters have
    changed.
    """
    folder = stores.local_path(folder)
    with watching(progress) as watch:
        result = session.resume(
            folder,
            epochs=epochs,
            workers=workers,
            threads=threads,
            restarts=restarts,
            app=app,
            keeps_interrupted=True,
            watch=watch,
        )
        return run_from_result(result, folder)


def run_from_result(result: session.Result, out: str | os.PathLike[str] | None = None) -> Run:
    """Return a result as a run, with its folder if it has one. The worker of the result is given
    up, if it has one.
    """
    assert (held := result.model) is not None and (record := result.record) is not None
    program, model = held.program, dict(columns_of(held, record.id_types))
    if result.worker:
        result.worker.release()
    folder = None if out is None else Path(out)
    run = Run(record, program, result.records, model, result.tables, folder)
    run.profile = result.profile
    return run


def _take_start(options: dict[str, Any]) -> TrainedModel | None:
    """Take a run out of the options, with whose model another is to begin: its folder takes its
    place, if it has one. Return the model of a run that has none.
    """
    given = options.get("from_run")
    if not isinstance(given, Run):
        return None
    options["from_run"] = given.folder
    return trained_model(given) if given.folder is None else None


def _check_file(program: Program, options: RunOptions) -> None:
    """Raise UsageError for a program without a file that several workers are to run: other
    processes import it.
    """
    if options.workers not in (None, 1) and sources.source_of(program).path == os.devnull:
        name = type(program).__name__
        raise UsageError(
            f"{name} is defined in a notebook or a shell, and {options.workers} workers import it",
            do=f"write it to a file and import it from there, or leave workers={options.workers} "
            "out: one process uses all cores",
        )
