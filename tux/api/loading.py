"""A run's folder as a run in memory."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from tux.api.result import Run
from tux.arrays import stores
from tux.arrays.arrow import read_parquet
from tux.base.errors import TuxError
from tux.engine.start_model import model_file
from tux.predict.predict import reopen_program
from tux.program.params import use_present_names
from tux.program.program import Program
from tux.run_folder.folder import read_metrics, read_run
from tux.run_folder.model_files import OF_EDGES, check_model, read_tables


def load(folder: str | os.PathLike[str], program: Program | None = None) -> Run:
    """Load the run of a folder that ``tux run --out``, `tux.run` with `out` or `tux.Run.save` has
    written: its model and its history, without workers.

    `program` is needed only where the source of the program cannot be found again, as of one that
    was defined in a notebook. Raises DataError for a folder that is no run's, or has no model.
    """
    path = Path(stores.local_path(folder))
    record = read_run(path)
    check_model(path)
    opened: Program | str
    if program is not None:
        opened = program
        record.parameters = use_present_names(program.params, record.parameters)
    else:
        try:
            opened = reopen_program(record, path, logging.getLogger("tux").warning)
        except TuxError as error:
            opened = f"the program {record.app.name} cannot be loaded: {error.what}"
    stored = {file.stem for file in (path / "model").glob("*.parquet")}
    others = {name for name in stored if name == "tau" or name.endswith(OF_EDGES)}
    names = opened.vertices if isinstance(opened, Program) else sorted(stored - others)
    model = {name: read_parquet(model_file(path, name)) for name in [*names, *sorted(others)]}
    return Run(record, opened, read_metrics(path), model, read_tables(path / "model"), path)
