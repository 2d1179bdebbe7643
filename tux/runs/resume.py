"""The record, checkpoints and options of a run that has stopped, from which another one goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from tux.arrays.piped import STANDARD, input_name
from tux.base.disk import sync, writing
from tux.base.errors import DataError, Refused, UsageError
from tux.base.text import plural
from tux.checkpoint.saved import SavedState
from tux.checkpoint.shard import hash_bytes
from tux.checkpoint.snapshot import StateHead
from tux.checkpoint.store import (
    FOLDER,
    Checkpoint,
    CheckpointManifest,
    CheckpointSearch,
    find_newest_checkpoint,
    tell_left_out,
)
from tux.inputs.origin import cut_folder, files_beside, origin_files, whole_parameters
from tux.options.options import FORMER, MEMORY, OPTIONS, RESUMABLE, RunOptions
from tux.partition.method_of_type import is_open
from tux.program import sources
from tux.program.params import use_present_names
from tux.program.program import Program, rebuild
from tux.run_folder.folder import (
    WHOLE,
    App,
    RunRecord,
    check_as_written,
    check_records,
    read_metrics,
    read_run,
    seal_results,
)
from tux.runs.changed_record import check_unchanged
from tux.runs.ended import check_goes_on

if TYPE_CHECKING:
    from tux.cluster.rendezvous.place import Place

OTHER = "resume with what the run began with, or start a new run"


@dataclass(frozen=True)
class StoppedRun:
    """A run that has stopped: its record, the checkpoints of its folder, and the `checkpoint` from
    which it goes on; None: from its beginning.
    """

    path: Path
    run: RunRecord
    found: CheckpointSearch
    checkpoint: Checkpoint | None
    options: RunOptions
    program: Program

    @property
    def data(self) -> str | list[str] | None:
        """The training data, as `Origin` has them; None: generated data."""
        return origin_files(self.run.data.path)

    @property
    def test(self) -> str | list[str] | None:
        """The held-out data, if they were named."""
        return origin_files(self.run.test.path) if self.run.test is not None else None

    @property
    def start_checkpoint(self) -> Checkpoint:
        """The checkpoint from which it goes on, which must be there, with the present names of
        parameters.
        """
        assert self.checkpoint is not None
        kept = self.checkpoint.manifest
        parameters = use_present_names(self.program.params, kept.parameters)
        return self.checkpoint._replace(manifest=replace(kept, parameters=parameters))

    def records(self) -> list[dict[str, Any]]:
        """Read the records of the epochs before the checkpoint. DataError if they are not there,
        or have changed since it was taken.
        """
        kept, metrics = self.start_checkpoint.manifest, self.path / "metrics.jsonl"
        noted = kept.metrics_bytes, kept.metrics_sum
        check_records(metrics, kept.metrics_bytes)
        if kept.metrics_sum and _records_of(metrics, kept.epoch) != noted:
            raise DataError(
                f"metrics.jsonl is damaged: before checkpoint {kept.number} it was another",
                where=str(metrics),
                do="put the whole file back, or run it anew with another --out",
            )
        return read_metrics(self.path, kept.metrics_bytes)

    def states(self) -> list[SavedState]:
        """Return the workers' files, by rank; none of a run that goes on from its beginning."""
        return states_of(self.checkpoint) if self.checkpoint else []

    def check(self, record: RunRecord, program: Program) -> None:
        """Raise Refused if program, data or parameters are not those of the run; `record` has the
        present ones, and `program` is the one that is run on these data.
        """
        run, test = str(self.path / "run.json"), record.test
        test_digest, test_path = (test.digest, test.path_text) if test else (None, run)
        data_files = ", ".join([record.data.path_text, *files_beside(program, self.run.options)])
        if self.checkpoint is None:
            self._check_loaded_data(record, data_files, test_digest, test_path)
            return
        kept = self.start_checkpoint.manifest
        if kept.program != record.app.digest:
            path = Path(sources.source_of(program).path)
            raise changed_source_error(self.run.app, record.app, path)
        now = {
            "the data": (kept.data, record.data.digest, data_files),
            "the held-out data": (kept.test, test_digest, test_path),
            "the parameters": (whole_parameters(program, kept.parameters), record.parameters, run),
            "the seed": (kept.seed, record.seed, run),
        }
        for what, (before, after, where) in now.items():
            if before != after:
                raise Refused(f"{what} changed since the run began", where=where, do=OTHER)

    def _check_loaded_data(
        self, record: RunRecord, files: str, test: str | None, path: str
    ) -> None:
        """Raise Refused if the data are others than those that the run had loaded, if it had."""
        had = self.run.data.digest, self.run.test.digest if self.run.test else ""
        if had[0] and had[0] != record.data.digest:
            raise Refused("the data changed since the run began", where=files, do=OTHER)
        if had[1] and had[1] != test:
            raise Refused("the held-out data changed since the run began", where=path, do=OTHER)


def changed_source_error(before: App, now: App, path: Path) -> Refused:
    """Return the error of a program in the file `path` whose files are not those of the run. A run
    of an older version has not noted each file.
    """
    every = {*before.files, *now.files}
    names = sorted(name for name in every if before.files.get(name) != now.files.get(name))
    changed = [path.parent / name if name else path for name in names if before.files] or [path]
    shown = ", ".join(str(file.relative_to(path.parent)) for file in changed)
    own = os.sep in now.name
    back = "put back what it was" if own else "resume with the version of tux of that time"
    return Refused(
        f"the program's source changed since the run began: {shown}",
        where=str(changed[0]),
        do=f"{back}, or start a new run",
    )


def changed_versions(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """List the libraries, Python and tux where they have another version now, with both versions;
    "" if none.
    """
    others = (name for name in now if before.get(name) != now[name])
    told = [f"{name} {now[name]} instead of {before.get(name, 'none')}" for name in others]
    return ", ".join(told)


def find_stopped_run(
    folder: str | os.PathLike[str],
    others: Mapping[str, Any],
    *,
    place: Place | None = None,
    app: str | None = None,
    warn: Callable[[str], None] = lambda text: None,
) -> StoppedRun:
    """Prepare the run of a folder to go on from its newest checkpoint that is whole, with `others`
    of its options, which are `RESUMABLE`; None: as begun. `place`: on which of several machines.
    `app`: where the program's file is now, if it has moved.

    A run that has neither a checkpoint nor a model goes on from its beginning.

    DataError if it is no run's folder, has a model and no checkpoint, or its record or all its
    checkpoints are damaged; UsageError if the run is over, its data were in memory, it was on
    another number of machines, or no checkpoint is at or before the end of the last of the
    `epochs`.
    """
    if wrong := others.keys() - RESUMABLE:
        raise TypeError(f"a run cannot go on with another {min(wrong)}")
    path, run = Path(folder), read_run(folder)
    _check_options(run.options, path / "run.json")
    _check_place(path, run.options.get("machines", 1), place)
    found = _find_checkpoint(path, warn)
    checkpoint = found.checkpoint
    # where it was killed at the end, or the disk was full, model or results are still to be written
    whole = run.results is not None and (path / "model").exists()
    if whole:
        seal_results(path)
    if checkpoint is None and whole:
        raise DataError(
            f"the run of {folder} has a model and no checkpoint, so it cannot go on",
            do="run it anew with another --out; runs with --checkpoint-every N can go on",
        )
    _check_data(path, run)
    most = run.options["epochs"] if others.get("epochs") is None else others["epochs"]
    source = _source(run, app, path / "run.json")
    if checkpoint is None:
        if source.digest != run.app.digest:
            now = App(source.name, source.digest, source.digests)
            raise changed_source_error(run.app, now, Path(source.path))
    else:
        check_goes_on(path, source.program, checkpoint.manifest, most, others, whole=whole)
        found, checkpoint = _checkpoint_before_end(path, most, found, checkpoint, warn)
        check_unchanged(run, source.program, checkpoint.manifest, path / "run.json")
        _keep_partitioner(run, checkpoint.manifest)
    options = _options(run, path, {**others, "epochs": most, "place": place})
    return StoppedRun(
        path, run, found, checkpoint, options, rebuild(source.program, run.parameters)
    )


def _find_checkpoint(path: Path, warn: Callable[[str], None]) -> CheckpointSearch:
    """Find the newest whole checkpoint of the run in a folder, if it has any; if not, the record is
    compared with its digest. Raises DataError.
    """
    found = find_newest_checkpoint(path)
    tell_left_out(found, warn)
    if found.checkpoint is None:
        check_as_written(path)
        if found.left_out:
            raise DataError(
                f"there is no whole checkpoint in {path / FOLDER}",
                do=f"run it anew with another --out; or remove {path / FOLDER} to begin it again "
                "here",
            )
    return found


def _source(run: RunRecord, app: str | None, where: Path) -> sources.Source:
    """The program of a run, in the file `app` if it has moved; parameters get their present names
    in `run`, which is read from the file `where`.
    """
    moved = "say where it is now: --app FILE.py"
    source = sources.find(app) if app else sources.find_again(run.app.name, where, moved)
    run.parameters = use_present_names(source.program.params, run.parameters, where=where)
    return source


def _check_data(folder: Path, run: RunRecord) -> None:
    """Raise UsageError for a run whose data cannot be read again."""
    for origin in (run.data, run.test):
        if origin is not None and origin.path == MEMORY:
            raise UsageError(f"the data of {folder} were given in memory", do="run it anew")
        if origin is not None and origin.path == input_name(STANDARD):
            raise UsageError(
                f"the data of {folder} came from standard input, and cannot be read again",
                do="run it anew, with a file of the data",
            )


def _checkpoint_before_end(
    path: Path,
    most: int,
    found: CheckpointSearch,
    newest_one: Checkpoint,
    warn: Callable[[str], None],
) -> tuple[CheckpointSearch, Checkpoint]:
    """Choose the checkpoint from which a run goes on that is to end with epoch `most`: the newest
    one, or the newest one at the end of an epoch if that one is from within the epoch after.
    UsageError if there is none.
    """
    kept = newest_one.manifest
    if (kept.epoch, kept.turns) <= (most, 0):
        return found, newest_one
    within = f"checkpoint {kept.number} was taken within epoch {kept.epoch + 1}"
    at_end = find_newest_checkpoint(path, at_end=True)
    if at_end.checkpoint is None:
        raise UsageError(
            f"{within}, and there is none at the end of an epoch",
            where=str(newest_one.path),
            do=f"go on with more: --epochs N, with N above {kept.epoch}",
        )
    warn(f"{within}, and the run is to end with epoch {most}: it is left out")
    return at_end, at_end.checkpoint


def states_of(checkpoint: Checkpoint) -> list[SavedState]:
    """Return the workers' files of a checkpoint, by rank."""
    folder, files = checkpoint.path.absolute(), checkpoint.manifest.shards
    return [SavedState(str(folder / file.name), file.digest) for file in files]


def manifest_of(
    record: RunRecord, head: StateHead, workers: int, metrics: Path
) -> CheckpointManifest:
    """Make the manifest of a state of the run that `record` describes."""
    size, sum_ = _records_of(metrics, head.epoch)
    return CheckpointManifest(
        epoch=head.epoch,
        turns=head.turns,
        over=head.over,
        workers=workers,
        seed=record.seed,
        program=record.app.digest,
        data=record.data.digest,
        test=record.test.digest if record.test else None,
        parameters=dict(record.parameters),
        options=record.options,
        versions=record.versions,
        metrics_bytes=size,
        metrics_sum=sum_,
    )


def _records_of(metrics: Path, epochs: int) -> tuple[int, str]:
    """Return the number of bytes of the records of so many epochs, each a line, and their hash.
    Training goes on while a checkpoint is written, so there may be more. They are on the disk
    before the checkpoint is. Raises DiskError.
    """
    lines: list[bytes] = []
    if epochs and metrics.exists():
        with writing(metrics), open(metrics, "rb") as file:
            lines = [*islice(file, epochs)]
            sync(metrics)
    records = b"".join(lines)
    return len(records), hash_bytes(records)


def _check_options(options: Mapping[str, Any], where: Path) -> None:
    """Raise DataError if the options in a run's record are not as a run writes them."""
    missing = [name for name in ("epochs", "workers") if options.get(name) is None]
    wrong = [
        f"the option {name} is {value!r}, not {OPTIONS[name].rule.form}"
        for name, value in options.items()
        if name in OPTIONS and value is not None and OPTIONS[name].rule.read(value) is None
    ]
    machines = options.get("machines", 1)
    if type(machines) is not int or machines < 1:
        wrong.append(f"the option machines is {machines!r}, not a whole number at least 1")
    if missing or wrong:
        what = wrong[0] if wrong else f"it has no option {missing[0]}"
        raise DataError(f"not what a run writes: {what}", where=str(where), do=WHOLE)


def _keep_partitioner(run: RunRecord, kept: CheckpointManifest) -> None:
    """Set the partitioner of a run that was to choose one to the one that has cut the checkpoint.
    Its record has "auto" until it has begun on several workers.
    """
    if is_open(run.options.get("partitioner")) and "partitioner" in kept.options:
        run.options["partitioner"] = kept.options["partitioner"]


def _check_place(folder: Path, machines: int, place: Place | None) -> None:
    """Raise UsageError if a run of so many machines cannot go on at this place."""
    if place and place.rank:
        raise UsageError(
            f"machine {place.rank} has no part of the folder {folder}: machine 0 has it",
            do="start the command here with which the run began here; --resume is for machine 0",
        )
    here = place.machines if place else 1
    if here != machines:
        do = (
            f"add --nnodes {machines} --node-rank 0 --rdzv HOST:PORT and the key, and start the "
            "other machines as the run began"
        )
        raise UsageError(
            f"the run of {folder} is of {plural(machines, 'machine')}, and not of {here}",
            do=do if machines > 1 else "leave out what is for several machines",
        )


def _options(run: RunRecord, out: Path, changed: Mapping[str, Any]) -> RunOptions:
    """Return the options of the run, as its record has them, but for those `changed` that are not
    None.
    """
    kept = {FORMER.get(n, n): v for n, v in run.options.items() if FORMER.get(n, n) in OPTIONS}
    if any(table == MEMORY for table in (kept.get("vertices") or {}).values()):
        raise UsageError(f"tables of vertices of {out} were given in memory", do="run it anew")
    if changed.get("workers") not in (None, kept["workers"]):
        kept["threads"] = None  # each has its share of the cores again
    if changed.get("workers") == 1 and changed["place"] is None:
        kept["restarts"] = None  # none can be lost
    if cut_folder(run.data.path) is not None:
        kept["partitioner"] = None  # its folder says it
    kept |= {"out": out, "seed": run.seed, "command": run.command}
    return RunOptions(**kept | {name: each for name, each in changed.items() if each is not None})
