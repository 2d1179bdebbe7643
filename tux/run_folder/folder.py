"""The folder of a run: `run.json`, `metrics.jsonl`, `timeline.jsonl` (`tux.run_folder.journal`),
and `model/` with one Parquet file for each vertex type and one for the context.

The folder is there from the start, so that metrics can be read while the run goes on. Each file but
the two of lines appears whole or not at all.
"""

from __future__ import annotations

import math
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tux.base.checksums import SUMS, files_below, read_sealed, seal, unseal
from tux.base.disk import new_folder, remove_parts, replacing, sync, writing
from tux.base.errors import DataError, DiskError
from tux.base.text import nearest_word
from tux.checkpoint.shard import hash_bytes
from tux.engine.model import RunModel
from tux.program.report import Tables
from tux.run_folder.journal import FILE as JOURNAL
from tux.run_folder.journal import Journal
from tux.run_folder.model_columns import NO_TYPES, column_pieces
from tux.run_folder.model_files import model_digest, write_columns, write_tables
from tux.run_folder.run_lock import claim, reclaim, release

RESULTS = ("epochs", "seconds", "last", "monitor", "best", "model_epoch")
"""The run's own results in `run.json`; all others are the report's."""

DAMAGED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The errors that msgspec raises about text that is not the expected JSON."""


WHOLE = (
    "put a whole copy of run.json back; without one the run cannot go on: run it anew (the columns "
    "of model/*.parquet can be read without it)"
)
"""The advice where `run.json` is damaged."""


class App(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The program of a run: a built-in name or ``/path/file.py:Class``, the digest of its source,
    and those of the files that this consists of, as `tux.program.sources.Source.digests` has them.
    """

    name: str
    digest: str
    files: dict[str, str] = {}


class DataOrigin(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The source of edges: an absolute path of a file or a folder, an absolute pattern, a URI, a
    list of these, "memory", "standard input" or "generated"; where there are several edge types, a
    list of texts such as "tag=/data/tags.csv"; and the digest of ids, edges and fields as read.
    """

    path: str | list[str]
    digest: str
    columns: dict[str, str] = {}  # names of columns: see `tux.arrays.edges.EdgeData.columns`
    numbered: str = ""  # see `tux.arrays.edges.EdgeData.numbered`

    @property
    def path_text(self) -> str:
        """The paths as one text."""
        return self.path if isinstance(self.path, str) else ", ".join(self.path)


class Incarnation(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The record of one time that a run went on, after a fault or when the user had it go on: from
    which checkpoint, or from the beginning (0), and why.
    """

    checkpoint: int
    epochs: int  # that had ended
    clocks: int  # of the next epoch that had ended
    why: str = ""
    workers: int | None = None  # in all, if these are others than before


class RunRecord(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The content of `run.json`: everything needed to repeat the run, and at its end the
    results.
    """

    app: App
    parameters: dict[str, Any]  # of the program, and among them those of `internal`
    seed: int
    # of tux.options.options.Plan.record: epochs, every, patience, on_bad_row, columns, jit
    options: dict[str, Any]
    data: DataOrigin
    test: DataOrigin | None = None
    command: list[str] = []
    versions: dict[str, str] = {}
    sizes: dict[str, Any] = {}
    loaders: int = 0  # processes that have loaded the data in shares; 0: one has read all
    # by vertex type and data field, the words that its numbers from 0 stand for
    categories: dict[str, dict[str, list[str]]] = {}
    # by vertex type, the type in which its ids were given in memory: see `tux.arrays.given`
    id_types: dict[str, str] = {}
    setup_seconds: dict[str, float] = {}  # by phase: load, layout, compile
    start_digest: str = ""  # of the model with which the run begins: `model_digest`
    edge_bytes: float = 0.0  # that an edge takes in memory, of all workers; 0: not known
    model_digest: str = ""  # of the run's own model, where there are results
    id: str = ""  # drawn when its folder is made: 32 hexadecimal digits, which traces have, too
    digest: str = ""  # of all else, in the file alone: `is_as_written`
    interrupted: int | None = None  # the epoch in which Ctrl-C ended the run
    incarnations: list[Incarnation] = []  # each time that the run went on
    # epochs, seconds, last and best metrics; absent until the run has ended
    results: dict[str, Any] | None = None
    internal: list[str] = []  # parameters that the run has set, and no user

    @property
    def shown_parameters(self) -> dict[str, Any]:
        """The parameters that users set, by name."""
        return {name: x for name, x in self.parameters.items() if name not in self.internal}


# their names in pickled runs of version 0.2
Run, Origin = RunRecord, DataOrigin


class RunFolder:
    """The folder of a run that is going on, which no other run may use until it is over.

    It is a context: at its end the folder is removed again if nothing was written into it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Claim the folder: UsageError if there is something in it, or another run writes to it.

        DiskError if it cannot be made.
        """
        self.path, self.id = Path(path), new_id()
        self._made, self._early = claim(self.path), False
        self.journal = Journal(self.path)

    @classmethod
    def reopen(cls, path: str | os.PathLike[str]) -> RunFolder:
        """Open the folder of a run that has stopped and goes on. DataError if it is no folder of a
        run; UsageError while another run writes to it; DiskError.
        """
        folder = cls.__new__(cls)
        folder.path, folder.id = Path(path), read_run(path).id or new_id()
        folder._made, folder._early = False, False
        reclaim(folder.path)
        folder.journal = Journal(folder.path)
        try:
            remove_parts(folder.path)
        except BaseException:
            release(folder.path, remove=False)
            raise
        return folder

    def cut_records(self, size: int) -> None:
        """Keep the first `size` bytes of `metrics.jsonl`. DataError if it has fewer; DiskError."""
        metrics = self.path / "metrics.jsonl"
        if check_records(metrics, size) > size:
            unseal(self.path)
            with writing(metrics):
                os.truncate(metrics, size)
                sync(metrics)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.journal.end(error)
        if self._early:
            with suppress(OSError):
                (self.path / "run.json").unlink()
        release(self.path, remove=self._made)

    @property
    def has_run(self) -> bool:
        """True if there is a `run.json` of a run whose data are loaded."""
        return not self._early and (self.path / "run.json").exists()

    def begin(self, run: RunRecord) -> None:
        """Write `run.json` before the data are loaded, so that a run which is killed then can be
        begun again. It is removed again if the run ends before `write_run`. Raises DiskError.
        """
        self._early, run.id = True, self.id
        write_run(self.path, run)

    def write_run(self, run: RunRecord) -> None:
        """Write `run.json`, whole; the journal is written from then on. Raises DiskError."""
        run.id = self.id
        write_run(self.path, run)
        self._early = False
        self.journal.open()

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one line to `metrics.jsonl`. Raises DiskError."""
        metrics, line = (
            self.path / "metrics.jsonl",
            msgspec.json.encode(drop_nonfinite(record)) + b"\n",
        )
        with writing(metrics), open(metrics, "ab", buffering=0) as file:
            size = file.tell()
            try:
                while line:
                    line = line[file.write(line) :]
            except OSError:
                file.truncate(size)  # no part of a line stays
                raise
            if not size:
                sync(self.path)  # its name

    def write_model(self, model: RunModel, id_types: Mapping[str, str] = NO_TYPES) -> None:
        """Write `model/`: rows of vertices known in training, by dense index; column `id` first,
        then the fields kept. Ids are of the types in which they were given (`Run.id_types`).

        The records in `metrics.jsonl` are on the disk before it. Raises DiskError.
        """
        records = self.path / "metrics.jsonl"
        if records.exists():
            with writing(records):
                sync(records)
        unseal(self.path)
        shutil.rmtree(self.path / "model", ignore_errors=True)  # of an earlier end of the run
        with new_folder(self.path / "model") as part:
            write_columns(part, column_pieces(model, id_types))

    def write_tables(self, tables: Tables) -> None:
        """Write each of the report's tables into `model/`. Raises DiskError."""
        write_tables(self.path / "model", tables)


def new_id() -> str:
    """Draw the id of a run: 32 hexadecimal digits."""
    return secrets.token_hex(16)


def drop_nonfinite(value: Any) -> Any:
    """Copy an object without the entries that are NaN or infinite: JSON has no such numbers."""
    if isinstance(value, Mapping):
        return {
            name: drop_nonfinite(entry)
            for name, entry in value.items()
            if not (isinstance(entry, float) and not math.isfinite(entry))
        }
    return [drop_nonfinite(entry) for entry in value] if isinstance(value, list | tuple) else value


def is_run(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder has the record of a run, or files that a run has left without it."""
    path = Path(folder)
    return (path / "run.json").exists() or (
        (path / "metrics.jsonl").exists()
        and ((path / "checkpoints").exists() or (path / "model").exists())
    )


def write_run(folder: Path, run: RunRecord) -> None:
    """Write `run.json` of a run's folder, whole; with results, also the checksums of all files that
    the run has written. Raises DiskError.
    """
    unseal(folder)
    with writing(folder):
        has_model = run.results is not None and (folder / "model").exists()
        run.model_digest = model_digest(folder) if has_model else ""
    values = drop_nonfinite(msgspec.to_builtins(run))
    # the first line, so that who changes the file by hand can remove it
    signed = {"digest": _record_digest(msgspec.json.encode(values)), **values}
    with replacing(folder / "run.json") as part:
        part.write_bytes(msgspec.json.format(msgspec.json.encode(signed), indent=2) + b"\n")
    if run.results is not None:
        seal(folder, _result_files(folder))


def seal_results(folder: Path) -> None:
    """Write the checksums of the files of an ended run, where it was killed just before that. A
    disk that takes no more is passed over.
    """
    if not (folder / SUMS).exists():
        with suppress(DiskError):
            seal(folder, _result_files(folder))


def _result_files(folder: Path) -> list[str]:
    """List the files of an ended run for the checksums. The files of checksums and of the journal
    are left out.
    """
    own = (path.name for path in folder.iterdir() if path.is_file())
    names = {name for name in own if not name.startswith(".")} - {SUMS, JOURNAL}
    return [*sorted(names), *(f"model/{name}" for name in files_below(folder / "model"))]


def read_run(folder: str | os.PathLike[str]) -> RunRecord:
    """Read `run.json` of a run's folder. Raises DataError if there is none, or it is not one."""
    path = Path(folder, "run.json")
    try:
        record = msgspec.json.decode(path.read_bytes(), type=RunRecord)
    except OSError:
        raise DataError(
            f"{folder} is no folder of a run",
            where=str(path),
            do=f"{_suggest_folder(path.parent)}name the folder that tux run --out made",
        ) from None
    except DAMAGED as error:
        raise DataError(f"not what a run writes: {error}", where=str(path), do=WHOLE) from None
    record.digest = ""
    return record


def is_as_written(folder: str | os.PathLike[str]) -> bool:
    """Return whether `run.json` of a run's folder is as tux has written it, by the digest in it. A
    file without one is taken to be: it is of an earlier version, or was changed on purpose.
    """
    try:
        content = Path(folder, "run.json").read_bytes()
        return msgspec.json.decode(content).get("digest") in (None, _record_digest(content))
    except (OSError, AttributeError, *DAMAGED):
        return False


def check_as_written(folder: str | os.PathLike[str]) -> None:
    """Raise DataError if `run.json` of a run's folder is not as tux has written it."""
    if not is_as_written(folder):
        raise DataError(
            "run.json is damaged, or was changed by hand",
            where=str(Path(folder, "run.json")),
            do='put back what it was; if you have changed it yourself, remove its line "digest"',
        )


def _record_digest(content: bytes) -> str:
    """Compute the digest of what a `run.json` says, however it is laid out, but for the one in
    it.
    """
    values = msgspec.json.decode(content)
    values.pop("digest", None)
    return hash_bytes(msgspec.json.encode(values))


def _suggest_folder(folder: Path) -> str:
    """Return ``did you mean X? `` for the run's folder whose name is the closest, beside a folder;
    or "".
    """
    with suppress(OSError):
        beside = (path for path in folder.parent.iterdir() if path.name != folder.name)
        runs = [path.name for path in beside if os.path.exists(path / "run.json")]
        if near := nearest_word(folder.name, runs):
            return f"did you mean {folder.with_name(near)}? "
    return ""


def read_metrics(
    folder: str | os.PathLike[str], size: int | None = None
) -> list[dict[str, int | float]]:
    """Read the records of `metrics.jsonl`, or of its first `size` bytes; none if there is no such
    file. A last line that is still being written is left out.
    """
    path = Path(folder, "metrics.jsonl")
    content = read_sealed(path.parent, path.name) if path.exists() else b""
    lines = content[:size].split(b"\n")[:-1]
    try:
        return [msgspec.json.decode(line, type=dict[str, int | float]) for line in lines]
    except DAMAGED as error:
        raise DataError(f"not what a run writes: {error}", where=str(path)) from None


def check_records(metrics: Path, size: int) -> int:
    """Return how many bytes `metrics.jsonl` has. DataError if they are fewer than `size`, after
    which a checkpoint was taken.
    """
    there = metrics.stat().st_size if metrics.exists() else 0
    if there < size:
        has = f"has {there:,} bytes" if metrics.exists() else "is missing"
        raise DataError(
            f"{metrics} {has}, and the checkpoint was taken after {size:,} bytes of it",
            do="put the whole file back, or run it anew with another --out",
        )
    return there
