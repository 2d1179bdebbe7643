"""The newest whole checkpoint is found, and all of it, whatever happens to process or disk."""

import os
import random
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
import pytest
from support.machines.crashing_disk import Crash, CrashingDisk

from tux.base.errors import DataError, DiskError
from tux.checkpoint.shard import Digest, write
from tux.checkpoint.store import (
    CheckpointManifest,
    Checkpoints,
    CheckpointSearch,
    find_newest_checkpoint,
)

WORKERS = 2
SETTINGS = CheckpointManifest(
    epoch=1,
    turns=0,
    workers=WORKERS,
    seed=7,
    program="p",
    data="d",
    test=None,
    parameters={"rank": 8, "rate": 0.1},
    options={"slack": 0},
    versions={"tux": "0.1.0"},
    metrics_bytes=123,
)


def state(epoch, rank):
    """Return the arrays of worker `rank` after an epoch."""
    return {"x": np.full(3, 10.0 * epoch + rank), "y": np.array([epoch % 2 == 0])}


def open_checkpoints(out):
    return Checkpoints(out, find_newest_checkpoint(out))


def checkpoint(checkpoints, epoch):
    """Write the checkpoint of an epoch."""
    return write_draft(checkpoints.begin(), epoch)


def write_draft(draft, epoch):
    """Write the checkpoint of an epoch into a draft."""
    digests = [
        write(draft.shard_path(rank), {"epoch": epoch}, state(epoch, rank))
        for rank in range(WORKERS)
    ]
    return draft.finish(msgspec.structs.replace(SETTINGS, epoch=epoch), digests)


def newest_epoch(out):
    """Return the epoch of the newest checkpoint, all of which must be of it, or None."""
    newer, _ = find_newest_checkpoint(out)
    if newer is None:
        return None
    epoch = newer.manifest.epoch
    for rank in range(WORKERS):
        shard = newer.shard(rank)
        assert shard.head == {"epoch": epoch}
        assert all(np.array_equal(shard[name], a) for name, a in state(epoch, rank).items())
    return epoch


def names(out):
    return sorted(os.listdir(out / "checkpoints"))


@pytest.fixture
def two_checkpoints(tmp_path):
    """Return the folder of a run with the checkpoints 1 and 2, of epochs 1 and 2."""
    for epoch in (1, 2):
        checkpoint(open_checkpoints(tmp_path / "out"), epoch)
    return tmp_path / "out"


def test_a_run_without_checkpoints_has_none(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        assert find_newest_checkpoint(folder) == CheckpointSearch(None, [])
    open_checkpoints(tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_the_newest_are_kept(tmp_path, keep):
    checkpoints = Checkpoints(tmp_path, find_newest_checkpoint(tmp_path), keep)
    for epoch in range(1, 6):
        last = checkpoint(checkpoints, epoch)
        assert find_newest_checkpoint(tmp_path) == CheckpointSearch(last, [])
        assert newest_epoch(tmp_path) == epoch
    kept = max(1, keep)
    assert names(tmp_path) == [f"{number:06d}" for number in range(6 - kept, 6)]
    files = ["checkpoint.json", "worker-0000.shard", "worker-0001.shard"]
    assert sorted(os.listdir(last.path)) == files


def test_a_manifest_is_read_as_it_was_written(two_checkpoints):
    manifest = find_newest_checkpoint(two_checkpoints).checkpoint.manifest
    assert manifest.number == 2 and len(manifest.shards) == WORKERS
    settings = msgspec.structs.replace(SETTINGS, epoch=2, number=2, shards=manifest.shards)
    assert manifest == settings


def test_numbers_grow_over_resumes(two_checkpoints):
    assert checkpoint(open_checkpoints(two_checkpoints), 3).manifest.number == 3
    checkpoints = open_checkpoints(two_checkpoints)
    checkpoints.begin().abandon()
    assert checkpoint(checkpoints, 4).manifest.number == 5
    assert names(two_checkpoints) == ["000003", "000005"]


def test_what_was_refused_is_removed_when_the_run_goes_on(two_checkpoints):
    flip(shard(two_checkpoints, 2))
    checkpoints = open_checkpoints(two_checkpoints)
    assert names(two_checkpoints) == ["000001"] and newest_epoch(two_checkpoints) == 1
    assert checkpoint(checkpoints, 9).manifest.number == 3
    assert names(two_checkpoints) == ["000001", "000003"] and newest_epoch(two_checkpoints) == 9


def test_what_killed_writers_have_left_is_removed_by_the_next_writer(two_checkpoints):
    draft = open_checkpoints(two_checkpoints).begin()
    write(draft.shard_path(0), {}, {})
    (two_checkpoints / "checkpoints" / "notes").mkdir()
    left = [draft.path.name, "000001", "000002", "notes"]
    assert newest_epoch(two_checkpoints) == 2 and names(two_checkpoints) == left
    open_checkpoints(two_checkpoints)
    assert newest_epoch(two_checkpoints) == 2 and names(two_checkpoints) == left[1:]


def test_an_abandoned_draft_leaves_nothing(two_checkpoints):
    draft = open_checkpoints(two_checkpoints).begin()
    write(draft.shard_path(0), {}, {})
    draft.abandon()
    draft.abandon()
    assert names(two_checkpoints) == ["000001", "000002"]


@pytest.mark.parametrize("there", [False, True])
def test_a_checkpoint_without_a_workers_file_is_not_finished(two_checkpoints, there):
    draft = open_checkpoints(two_checkpoints).begin()
    if there:
        write(draft.shard_path(0), {}, {})
    with pytest.raises(DiskError, match=r"worker-0000\.shard has .* its worker has written 999"):
        draft.finish(SETTINGS, [Digest(999, "")])
    assert names(two_checkpoints) == ["000001", "000002"] and newest_epoch(two_checkpoints) == 2


def shard(out, number=2, rank=0):
    return out / "checkpoints" / f"{number:06d}" / f"worker-{rank:04d}.shard"


def manifest(out, number=2):
    return out / "checkpoints" / f"{number:06d}" / "checkpoint.json"


def flip(path):
    content = bytearray(path.read_bytes())
    content[-70] ^= 4
    path.write_bytes(content)


def swap(a, b):
    content = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(content)


DAMAGES = {
    "shard missing": lambda out: shard(out).unlink(),
    "shard empty": lambda out: shard(out).write_bytes(b""),
    "shard cut off": lambda out: os.truncate(shard(out), 64),
    "shard flipped": lambda out: flip(shard(out, rank=1)),
    "shards swapped": lambda out: swap(shard(out), shard(out, rank=1)),
    "shard of another checkpoint": lambda out: shutil.copy(shard(out, 1), shard(out)),
    "shard a folder": lambda out: (shard(out).unlink(), shard(out).mkdir()),
    "manifest missing": lambda out: manifest(out).unlink(),
    "manifest empty": lambda out: manifest(out).write_bytes(b""),
    "manifest not JSON": lambda out: manifest(out).write_bytes(b"\xff" * 99),
    "manifest nested": lambda out: manifest(out).write_bytes(b"[" * 99_999),
    "manifest of another checkpoint": lambda out: shutil.copy(manifest(out, 1), manifest(out)),
    "manifest of another format": lambda out: manifest(out).write_bytes(
        manifest(out).read_bytes().replace(b'"version":1', b'"version":2')
    ),
    "folder of another number": lambda out: (
        shutil.rmtree(manifest(out).parent),
        shutil.copytree(manifest(out, 1).parent, manifest(out).parent),
    ),
    "a file instead of a folder": lambda out: (
        shutil.rmtree(manifest(out).parent),
        manifest(out).parent.write_bytes(b""),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_of_a_damaged_checkpoint_nothing_is_used(two_checkpoints, damage):
    DAMAGES[damage](two_checkpoints)
    before = sorted(two_checkpoints.rglob("*"))
    assert newest_epoch(two_checkpoints) == 1
    ((path, why),) = find_newest_checkpoint(two_checkpoints).left_out
    assert path == two_checkpoints / "checkpoints" / "000002"
    assert "of a checkpoint is damaged: " in why
    assert str(two_checkpoints) not in why and sorted(two_checkpoints.rglob("*")) == before


def test_all_may_be_damaged(two_checkpoints):
    for number in (1, 2):
        flip(shard(two_checkpoints, number))
    found = find_newest_checkpoint(two_checkpoints)
    assert [path.name for path, _ in found.left_out] == ["000002", "000001"]
    assert found.checkpoint is None


def test_a_folder_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "checkpoints").write_bytes(b"")
    with pytest.raises(DataError, match="checkpoints cannot be read: Not a directory"):
        find_newest_checkpoint(tmp_path)
    with pytest.raises(DataError):
        open_checkpoints(tmp_path)


def test_every_flipped_bit_of_a_manifest_is_found(tmp_path):
    """Or it changes nothing."""
    draft = open_checkpoints(tmp_path).begin()
    only = draft.finish(msgspec.structs.replace(SETTINGS, workers=0), [])
    content, found = manifest(tmp_path, 1).read_bytes(), set()
    assert find_newest_checkpoint(tmp_path).checkpoint == only
    with open(manifest(tmp_path, 1), "r+b", buffering=0) as file:
        for bit in range(8 * len(content)):
            os.pwrite(file.fileno(), bytes([content[bit // 8] ^ 1 << bit % 8]), bit // 8)
            one, refused = find_newest_checkpoint(tmp_path)
            assert one == only if one else len(refused) == 1
            found.add(one is None)
            os.pwrite(file.fileno(), content[bit // 8 : bit // 8 + 1], bit // 8)
    for size in range(len(content) - 1):
        manifest(tmp_path, 1).write_bytes(content[:size])
        assert find_newest_checkpoint(tmp_path).checkpoint is None


def from_none(out):
    checkpoint(open_checkpoints(out), 3)


def one_kept(out):
    checkpoint(Checkpoints(out, find_newest_checkpoint(out), keep=1), 3)


def two_kept(out):
    checkpoint(open_checkpoints(out), 3)


def back_to_the_first(out):
    checkpoint(open_checkpoints(out), 3)


WRITERS = {from_none: {None}, one_kept: {2}, two_kept: {2}, back_to_the_first: {1}}
"""The epochs that may be found if the new checkpoint, of epoch 3, is not."""


def none_in_part(out):
    """Assert that no checkpoint has been removed, or has got its name, in part."""
    for path in (out / "checkpoints").glob("0*"):
        assert len(os.listdir(path)) == 1 + WORKERS


def outcomes(writer, two, seeds):
    """Let the process die at each call that changes files, alone or with the power. Yield the
    epochs that are found then, and whether the process had ended.
    """
    folder = two.parent
    if writer is back_to_the_first:
        flip(shard(two))
    for number in range(1000):
        out, copy = folder / "work", folder / "left"
        shutil.rmtree(out, ignore_errors=True)
        if writer is from_none:
            out.mkdir()
        else:
            shutil.copytree(two, out)
        ended = False
        with CrashingDisk(out, folder / f"graves{number}", die_at=number) as disk, suppress(Crash):
            writer(out)
            ended = True
        epochs = {newest_epoch(out)}
        none_in_part(out)
        for rng in (None, *map(random.Random, range(seeds))):
            disk.after_power_failure(copy, rng)
            epochs.add(newest_epoch(copy))
            none_in_part(copy)
        yield epochs, ended
        if ended or number % 10 == 0:  # the next writer goes on from whatever is left
            checkpoint(open_checkpoints(copy), 4)
            assert newest_epoch(copy) == 4 and all(name.isdigit() for name in names(copy))
        if ended:
            return


@pytest.mark.long(after=1)
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_a_writer_that_dies_leaves_the_old_or_the_new(two_checkpoints, writer):
    check_deaths(writer, two_checkpoints, 1)


LONG = [pytest.param(each, marks=pytest.mark.long) for each in (one_kept, back_to_the_first)]


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("writer", [from_none, two_kept, *LONG], ids=lambda writer: writer.__name__)
def test_a_power_failure_leaves_the_old_or_the_new(two_checkpoints, writer):
    check_deaths(writer, two_checkpoints, 20)


def check_deaths(writer, two, seeds):
    every = list(outcomes(writer, two, seeds))
    assert len(every) > 30 and every[-1] == ({3}, True)
    for epochs, _ in every:
        assert epochs <= WRITERS[writer] | {3}
    assert set.union(*(epochs for epochs, _ in every)) >= {3, min(WRITERS[writer], key=str)}


@pytest.mark.slow
@pytest.mark.parametrize("lasting", [False, True])
def test_a_full_disk_leaves_what_was_there(two_checkpoints, lasting):
    """Whichever call it is that fails, alone or with all that follow."""
    folder, number, told = two_checkpoints.parent, 0, 0
    while True:
        out = folder / f"work{number}"
        shutil.copytree(two_checkpoints, out)
        full = range(number, number + 1000 if lasting else number + 1)
        checkpoints = open_checkpoints(out)
        with CrashingDisk(out, folder / f"graves{number}", full=full) as disk:
            draft = error = None
            try:
                draft = checkpoints.begin()
                write_draft(draft, 3)
            except DiskError as full_disk:
                error = full_disk
        assert error is None or error.do == "free space there, or write to another disk"
        assert newest_epoch(out) == 3 if error is None else newest_epoch(out) in (2, 3)
        if draft:
            draft.abandon()
        checkpoint(checkpoints, 4)  # there is space again
        assert newest_epoch(out) == 4
        open_checkpoints(out)
        assert len(names(out)) == 2 and all(name.isdigit() for name in names(out))
        told, number = told + (error is not None), number + 1
        if disk.calls < number:
            break
    assert told > 25 and number > told


FILL = """
import sys
from test_store import *
out = Path(sys.argv[1])
checkpoints = open_checkpoints(out)
checkpoint(checkpoints, 1)
draft = checkpoints.begin()
try:
    write(draft.shard_path(0), {}, {"x": np.zeros(1 << 17)})
except DiskError as error:
    print(error.do)
draft.abandon()
assert newest_epoch(out) == 1 and names(out) == ["000001"]
assert checkpoint(checkpoints, 3).manifest.number == 3
"""


@pytest.mark.slow
def test_a_small_disk_that_is_full(tmp_path):
    """A real one, mounted for one process alone."""
    mount = ["unshare", "--mount", "--map-root-user", "sh", "-ec"]
    disk = 'mount -t tmpfs -o size=512k none "$0"; exec "$@"'
    try:
        subprocess.run([*mount, disk, tmp_path, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no file system can be mounted here: {error}")
    ran = subprocess.run(
        [*mount, disk, tmp_path, sys.executable, "-c", FILL, tmp_path],
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parent}:{os.environ['PYTHONPATH']}"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
    )
    advice = "free space there, or write to another disk\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, advice, "")
