"""The checkpoints of a run: `OUT/checkpoints/000012/`, with one file for each worker
(`tux.checkpoint.shard`) and the manifest `checkpoint.json`. Lists on disk lie beside them, in
`OUT/checkpoints/lists/`; each checkpoint names those that belong to it (`tux.checkpoint.segments`).

A checkpoint is written under a temporary name beside it. Workers write their files there, each on
the disk before it is reported; then come the manifest, which holds their digests, and the rename.
Only then are older checkpoints removed. So at any moment, also after a power failure, the newest
folder with a number is whole, unless the disk has damaged it; then the one before is read.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tux.base.disk import PART, replacing, sync, temporary_path, writing
from tux.base.errors import DataError, DiskError
from tux.base.parallel import spread
from tux.checkpoint.segments import NAME as NAME_OF_LISTS
from tux.checkpoint.segments import ListSegment, check, segments_of_shard
from tux.checkpoint.shard import (
    Count,
    Digest,
    Shard,
    checkpoint_damage,
    error_text,
    hash_bytes,
    read,
    unreadable,
)

FOLDER = "checkpoints"
LISTS = "lists"
MANIFEST = "checkpoint.json"
VERSION = 1
MAX_MANIFEST_BYTES = 1 << 24  # bytes of a manifest that are read
NAME = re.compile(r"\d{6,}", re.ASCII)


class ShardFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A worker's file in the folder."""

    name: str
    digest: Digest


class CheckpointManifest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """The epoch and the turn at which a checkpoint was taken, and its run. Digests tell whether
    another run may go on from there. `number` and `shards` are filled in when it is written.
    """

    epoch: Count  # that has ended, or of which `turns` turns are done
    turns: Count
    workers: Count
    seed: int
    program: str  # digest of its source
    data: str  # digest
    test: str | None
    parameters: dict[str, Any]
    options: dict[str, Any]  # as run.json has them
    versions: dict[str, str]
    metrics_bytes: Count  # of metrics.jsonl
    over: bool = False  # no epoch follows, as the run has converged or has no more patience
    metrics_sum: str = ""  # the hash of these; older versions have written none
    number: Count = 0
    shards: list[ShardFile] = []


class ManifestFile(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a manifest's file. `sum` is the hash of the manifest's own text."""

    version: int
    sum: str
    manifest: msgspec.Raw


class Checkpoint(NamedTuple):
    """A checkpoint that is whole."""

    path: Path
    manifest: CheckpointManifest

    def shard(self, rank: int) -> Shard:
        """Read the state of a worker. DataError if its file is damaged."""
        file = self.manifest.shards[rank]
        return read(self.path / file.name, file.digest)


class UnusableCheckpoint(NamedTuple):
    """A checkpoint that cannot be used."""

    path: Path
    why: str


class CheckpointSearch(NamedTuple):
    """The newest checkpoint that is whole, if there is one, and newer ones that are not."""

    checkpoint: Checkpoint | None
    left_out: list[UnusableCheckpoint]


def find_newest_checkpoint(
    out: str | os.PathLike[str], *, at_end: bool = False
) -> CheckpointSearch:
    """Look for the checkpoint from which the run of folder `out` may go on; `at_end`: one that was
    taken at the end of an epoch.

    All bytes of a checkpoint are read and compared before it is taken. Nothing is changed.
    DataError if the folder cannot be read; DiskError if a file that may be whole cannot be read.
    """
    left_out: list[UnusableCheckpoint] = []
    for number, path in reversed(_list_checkpoints(Path(out, FOLDER))):
        try:
            checkpoint = _read_checkpoint(path, number)
            if not (at_end and checkpoint.manifest.turns):
                return CheckpointSearch(checkpoint, left_out)
            left_out.append(UnusableCheckpoint(path, "it was taken within an epoch"))
        except DataError as error:
            left_out.append(UnusableCheckpoint(path, error.what))
    return CheckpointSearch(None, left_out)


def check_all(out: str | os.PathLike[str]) -> int:
    """Compare all files of all checkpoints of the folder `out` with their checksums; returns how
    many checkpoints there are. DataError for the first that is damaged.
    """
    return len(
        [_read_checkpoint(path, number) for number, path in _list_checkpoints(Path(out, FOLDER))]
    )


def tell_left_out(found: CheckpointSearch, warn: Callable[[str], None]) -> None:
    """Warn of the checkpoints that are damaged."""
    for each in found.left_out:
        warn(f"checkpoint {each.path} is damaged and left out: {each.why}")


def newest_number(out: str | os.PathLike[str]) -> int:
    """Return the number of the newest checkpoint in the folder `out`, be it whole or damaged; 0 if
    there is none.
    """
    return max([0, *(number for number, _ in _list_checkpoints(Path(out, FOLDER)))])


def has_checkpoint(out: str | os.PathLike[str]) -> bool:
    """Return whether the folder `out` has a checkpoint, be it whole or damaged."""
    try:
        return bool(_list_checkpoints(Path(out, FOLDER)))
    except DataError:
        return False


class Checkpoints:
    """The writer of the checkpoints of the run of folder `out`, which must be claimed: only one
    process may write there.

    `found`: from which the run goes on. `keep`: how many are kept.
    """

    def __init__(self, out: str | os.PathLike[str], found: CheckpointSearch, keep: int = 2) -> None:
        """Remove the temporary folders of killed writers, and the checkpoints that were left out:
        the run goes on from an older state, so they do not belong to it any more. DiskError.
        """
        self.folder, self.keep = Path(out, FOLDER).absolute(), max(1, keep)
        self._number = newest_number(out)
        self.lists = self.folder / LISTS
        self.remove(found.left_out)
        with writing(self.folder):
            for path in self.folder.glob(".*.part"):
                if PART.fullmatch(path.name):
                    shutil.rmtree(path, ignore_errors=True)

    def begin(self) -> Draft:
        """Make a temporary folder for the next checkpoint. DiskError."""
        with writing(self.folder):
            if not self.folder.exists():
                self.folder.mkdir(parents=True)
                sync(self.folder.parent)
            self._number += 1
            path = temporary_path(self.folder / f"{self._number:06d}")
            path.mkdir()
        return Draft(self, self._number, path)

    def remove(self, left_out: Iterable[UnusableCheckpoint]) -> None:
        """Remove checkpoints that were left out, and lists on disk that no other checkpoint names:
        workers that have ended wrote these lists. DiskError.
        """
        with writing(self.folder):
            _remove(path for path, _ in left_out)
        if not self.lists.is_dir():
            return
        named = {
            each.name for _, path in _list_checkpoints(self.folder) for each in _segments(path)
        }
        with writing(self.lists):
            for path in self.lists.iterdir():
                if NAME_OF_LISTS.fullmatch(path.name) and path.name not in named:
                    path.unlink()

    def prune(self) -> None:
        """Remove all but the newest `keep`. A checkpoint that cannot be removed stays."""
        with suppress(OSError):
            _remove(path for _, path in _list_checkpoints(self.folder)[: -self.keep])


class Draft:
    """A checkpoint that is being written, in the folder `path`. `finish` or `abandon` ends it."""

    def __init__(self, owner: Checkpoints, number: int, path: Path) -> None:
        self._owner, self.number, self.path = owner, number, path

    def shard_path(self, rank: int) -> Path:
        """Return the path of the file to which a worker writes its state, by
        `tux.checkpoint.shard.write`.
        """
        return self.path / _shard_name(rank)

    def finish(self, manifest: CheckpointManifest, digests: Sequence[Digest]) -> Checkpoint:
        """Make it a checkpoint when all workers have written: `digests` by rank. Then older ones
        are removed.

        DiskError if the disk does not take it, or a worker's file is not there; nothing of it is
        left then, and older ones stay.
        """
        shards = [ShardFile(_shard_name(rank), digest) for rank, digest in enumerate(digests)]
        manifest = msgspec.structs.replace(manifest, number=self.number, shards=shards)
        final = self._owner.folder / f"{self.number:06d}"
        try:
            with writing(final):
                for file in shards:
                    _check_size(self.path / file.name, file.digest.size)
                with replacing(self.path / MANIFEST) as part:
                    part.write_bytes(_encode_manifest(manifest))
                self.path.rename(final)
                sync(final.parent)
        finally:
            self.abandon()
        self._owner.prune()
        return Checkpoint(final, manifest)

    def abandon(self) -> None:
        """Remove all files of the draft, unless it is finished."""
        shutil.rmtree(self.path, ignore_errors=True)


def _shard_name(rank: int) -> str:
    return f"worker-{rank:04d}.shard"


def _list_checkpoints(folder: Path) -> list[tuple[int, Path]]:
    """List the folders of checkpoints with their numbers, in ascending order."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise DataError(
            f"checkpoints cannot be read: {error_text(error)}",
            where=str(folder),
            do="look at the folder's owner and permissions",
        ) from None
    return sorted((int(name), folder / name) for name in names if NAME.fullmatch(name))


def _remove(paths: Iterable[Path]) -> None:
    """Remove checkpoints, each at once: a folder with a number is never half removed."""
    for path in paths:
        hidden = temporary_path(path)
        path.rename(hidden)
        sync(path.parent)
        shutil.rmtree(hidden, ignore_errors=True)


def _check_size(path: Path, size: int) -> None:
    """Raise DiskError if a worker's file is not there, or is not whole."""
    there = path.stat().st_size if path.exists() else 0
    if there != size:
        raise DiskError(
            f"{path} has {there:,} bytes, but its worker has written {size:,}",
            do="look at the disk, or write to another one",
        )


def _encode_manifest(manifest: CheckpointManifest) -> bytes:
    """Return the bytes of a manifest's file."""
    raw = msgspec.json.encode(manifest)
    return msgspec.json.encode(ManifestFile(VERSION, hash_bytes(raw), msgspec.Raw(raw))) + b"\n"


def _read_checkpoint(path: Path, number: int) -> Checkpoint:
    """Read a checkpoint all of whose files are as they were written; else raise DataError.
    DiskError if a file cannot be read.
    """
    manifest = _manifest(path / MANIFEST)
    checkpoint = Checkpoint(path, manifest)
    names = [file.name for file in manifest.shards]
    # a list as long as `workers` says might not fit in memory
    as_told = len(names) == manifest.workers and names == [*map(_shard_name, range(len(names)))]
    if manifest.number != number or not as_told:
        raise checkpoint_damage(path / MANIFEST, "it is another checkpoint's")
    spread(
        lambda rank: _check(checkpoint.shard(rank), path.parent / LISTS), range(manifest.workers)
    )
    return checkpoint


def _check(held: Shard, lists: Path) -> None:
    """Raise DataError unless a worker's file is as it was written, with its lists in the folder
    `lists`.
    """
    held.check()
    check(lists, segments_of_shard(held))


def _segments(path: Path) -> Iterator[ListSegment]:
    """Yield the lists on disk that a checkpoint names; none if it is damaged and cannot be used."""
    with suppress(DataError):
        checkpoint = Checkpoint(path, _manifest(path / MANIFEST))
        for rank in range(len(checkpoint.manifest.shards)):
            yield from segments_of_shard(checkpoint.shard(rank))


def _manifest(path: Path) -> CheckpointManifest:
    """Read the manifest in a file. DataError if it is not as it was written; DiskError if it cannot
    be read.
    """
    try:
        with open(path, "rb") as file:
            sealed = msgspec.json.decode(file.read(MAX_MANIFEST_BYTES), type=ManifestFile)
        if sealed.version != VERSION:
            raise checkpoint_damage(path, f"format {sealed.version} instead of {VERSION}")
        if hash_bytes(bytes(sealed.manifest)) != sealed.sum:
            raise checkpoint_damage(path, "it is not what was written")
        return msgspec.json.decode(sealed.manifest, type=CheckpointManifest)
    except OSError as error:
        raise unreadable(path, error) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise checkpoint_damage(path, str(error)) from None
