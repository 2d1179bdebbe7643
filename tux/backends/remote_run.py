"""A run as the driver has it: what its machines are told, and what becomes of its folder."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import tux
from tux.backends.contract import FOLDER, Backend, EngineRows, Order
from tux.backends.machine_command import PROGRAM
from tux.backends.words import words_of
from tux.base.disk import check_new, check_writable
from tux.base.errors import DataError, UsageError
from tux.inputs.machine_share import MachineShare
from tux.inputs.serial_reason import FileFacts, LoadRequest, serial_reason
from tux.io.formats.detect import Format
from tux.options.options import MEMORY, RunOptions
from tux.program import sources
from tux.program.program import Program
from tux.program.source_files import digest_of, with_imports
from tux.run_folder.folder import RunRecord, read_run, write_run

COLUMNS = 120
TRAIN, TEST = "data.parquet", "test.parquet"
"""Files below the machine's folder: the rows of an engine to train on, and those held out."""

OUT = "out"
"""The run's folder, below the machine's folder, where it is brought back at the end."""


@dataclass(frozen=True)
class RemoteRun:
    """A run on `machines`, each with so many `cores`. With checkpoints, `out` is on a file system
    that all machines share with the driver; else it is brought back from machine 0.
    """

    app: str  # a built-in name, or FOLDER/program/FILE.py:CLASS
    words: list[str]  # of each machine, behind the app
    files: Mapping[str, bytes]
    source: str  # the folder of the program's file here; "" of a built-in one
    machines: int
    cores: int
    deadline: float
    restarts: int
    out: Path | None
    is_shared: bool
    command: list[str] = field(default_factory=list)  # of the user, for run.json
    # of the engine: by the name of a file in a machine's folder, the rows that are written there
    rows: Mapping[str, EngineRows] = field(default_factory=dict)
    # what `Machine.take` needs for them
    held: Mapping[str, Any] = field(default_factory=dict)
    # the same of TRAIN for each machine, by rank, where each gets a share of the rows
    dealt: Sequence[Any] = ()
    json: bool = False  # whether machine 0 tells how it goes on as lines of JSON

    def order(self, rank: int, meeting: str, key: str, *, resumes: bool = False) -> Order:
        """Return the order for machine `rank`; the machines meet at HOST:PORT. With `resumes`,
        machine 0 goes on from the newest checkpoint.
        """
        words = ["run", self.app, *self.words]
        if rank == 0 and self.out is not None:
            words.append(f"--out={self.out if self.is_shared else f'{FOLDER}/{OUT}'}")
        if rank == 0 and resumes:
            words = ["run", "--resume", str(self.out), f"--timeout={math.ceil(self.deadline)}"]
        if rank == 0 and self.json:
            words.append("--json")
        words += ["--nnodes", str(self.machines), "--node-rank", str(rank), "--rdzv", meeting]
        columns = shutil.get_terminal_size((COLUMNS, 24)).columns
        files = dict(self.files)
        return Order(tux.__version__, words, key, os.getcwd(), columns, files, digest_of(files))

    def data_for(self, rank: int) -> Iterator[tuple[str, Any, Mapping[str, str]]]:
        """Yield what machine `rank` is to write: for each file its name, and the two arguments of
        `Machine.take`.
        """
        for name, data in self.held.items():
            if name == TRAIN and self.dealt:
                yield name, self.dealt[rank], MachineShare(rank, self.machines).notes
            else:
                yield name, data, {}

    def row_places(self, folders: Sequence[str]) -> dict[str, str]:
        """Return how places of rows, which machines know below their folders, begin here, where
        each has rows of its own: one machine may tell of a row of another.
        """
        at = {f"{folder}/{TRAIN}:row ": rank for rank, folder in enumerate(folders)}
        return {name: f"machine {rank}, row " for name, rank in at.items()} if self.dealt else {}

    def driver_paths(self, folder: str) -> dict[str, str]:
        """Return the driver's names for the folders and files below a machine's folder."""
        files = {f"{folder}/{name}": MEMORY for name in self.held}
        return {f"{folder}/{PROGRAM}": self.source, f"{folder}/{OUT}": str(self.out)} | files


def remote_run(
    program: Program,
    data: Any,
    test: Any,
    options: RunOptions,
    machines: int,
    backend: Backend,
    *,
    json: bool = False,
) -> RemoteRun:
    """Return the run of a program on so many machines of a back-end. A worker has one thread where
    nothing else is said, as the machines' cores are not known. Raises UsageError if it cannot run
    elsewhere, DiskError without a folder, and DataError for rows that cannot be computed.
    """
    plan = options.plan_for(program)
    if options.place is not None:
        raise UsageError("a back-end gives each machine its place", do="leave place out")
    out = Path(options.out).absolute() if options.out is not None else None
    if out is not None:
        check_new(out)
        check_writable(out)  # it is brought back at the end, when it is too late to say so
    threads = options.threads or 1
    app, folder, files = _program_files(program)
    given = {TRAIN: data, TEST: test}
    rows = {
        name: own
        for name, each in given.items()
        if (own := _rows_of(backend, name, each)) is not None
    }
    dealt = _deal_rows(program, options, machines, rows.get(TRAIN))
    held = {name: None if dealt and name == TRAIN else own.whole for name, own in rows.items()}
    data, test = (f"{FOLDER}/{name}" if name in held else each for name, each in given.items())
    return RemoteRun(
        app=app,
        words=words_of(program, data, test, options, threads),
        files=files,
        source=folder,
        machines=machines,
        cores=plan.workers * threads,
        deadline=options.deadline,
        restarts=plan.restarts,
        out=out,
        is_shared=bool(options.checkpoint_every),
        command=[*options.command],
        json=json,
        rows=rows,
        held=held,
        dealt=dealt,
    )


def _rows_of(backend: Backend, name: str, data: Any) -> EngineRows | None:
    """Return the rows of data that the engine holds. An error says which data they are."""
    try:
        return backend.rows_of(data)
    except DataError as error:
        which = {TRAIN: "the rows to train on", TEST: "the held-out rows"}[name]
        error.where = error.where or which
        raise


def _program_files(program: Program) -> tuple[str, str, dict[str, bytes]]:
    """Return the name of a program as machines know it, the folder of its file here, and the files
    that it needs, by name. An app of tux needs none.
    """
    source = sources.source_of(program)
    if os.sep not in source.name:
        return source.name, "", {}
    path = Path(source.path)
    if not path.is_file():
        raise UsageError(
            f"{type(program).__name__} is in no file, so it cannot be sent to machines",
            do="write the program to a file of its own, and import it from there",
        )
    files = with_imports(path)
    files = {path.name: files.pop("")} | files
    app = f"{FOLDER}/{PROGRAM}/{path.name}:{type(program).__name__}"
    return app, str(path.parent), files


def _deal_rows(
    program: Program, options: RunOptions, machines: int, rows: EngineRows | None
) -> Sequence[Any]:
    """Return each machine's share of the training rows; empty if all machines get all rows.

    It is decided as the commands of the machines decide how they load.
    """
    if rows is None or machines < 2:
        return ()
    plan = options.plan_for(program)
    workers = plan.workers * machines
    asked = LoadRequest(program, options, workers, plan.partitioner, dealt=True)
    if serial_reason(asked) or serial_reason(asked, FileFacts(Format.PARQUET, rows.size())):
        return ()
    return rows.shares(machines)


def rename_folders(text: str, names: Mapping[str, str]) -> str:
    """Return a text in which folders have other names."""
    for before, after in names.items():
        text = text.replace(before, after)
    return text


def has_ended(folder: Path) -> bool:
    """Return whether the run of a folder is over: its results and its model are there."""
    if not (folder / "run.json").exists() or not (folder / "model").exists():
        return False
    run = read_run(folder)
    return run.results is not None and run.interrupted is None


def rename_in(folder: Path, names: Mapping[str, str], command: Sequence[str] = ()) -> None:
    """Let `run.json`, if there is one, name the program and the data by other folders, and have
    another command.
    """
    if (folder / "run.json").exists():
        run = msgspec.convert(
            _rename_in_value(msgspec.to_builtins(read_run(folder)), names), RunRecord
        )
        if command:
            run.command = [*command]
        write_run(folder, run)


def _rename_in_value(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case str():
            return rename_folders(value, names)
        case dict():
            return {name: _rename_in_value(each, names) for name, each in value.items()}
        case list():
            return [_rename_in_value(each, names) for each in value]
    return value
