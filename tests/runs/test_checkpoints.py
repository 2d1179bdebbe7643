"""The checkpoints of a run: whatever happens to the process or to the disk, the newest whole one
is found, and all of it.
"""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest
from support.machines.crashing_disk import Crash, CrashingDisk

from tux.base.errors import DataError, DiskError
from tux.engine.shard import Digest, write
from tux.runs.checkpoints import Checkpoints, Found, Manifest, newest

WORKERS = 2
SETTINGS = Manifest(
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
    """What worker `rank` has after an epoch."""
    return {"x": np.full(3, 10.0 * epoch + rank), "y": np.array([epoch % 2 == 0])}


def checkpoint(checkpoints, epoch):
    """Write the checkpoint of an epoch."""
    return written(checkpoints.begin(), epoch)


def written(draft, epoch):
    """The same in a draft."""
    digests = [
        write(draft.shard_path(rank), {"epoch": epoch}, state(epoch, rank))
        for rank in range(WORKERS)
    ]
    return draft.finish(msgspec.structs.replace(SETTINGS, epoch=epoch), digests)


def found(out):
    """The epoch of the newest checkpoint, None if there is none; all of it is of that epoch."""
    newer, _ = newest(out)
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
def two(tmp_path):
    """The folder of a run with the checkpoints 1 and 2, of epochs 1 and 2."""
    for epoch in (1, 2):
        checkpoint(Checkpoints(tmp_path / "out", newest(tmp_path / "out")), epoch)
    return tmp_path / "out"


def test_a_run_without_checkpoints_has_none(tmp_path):
    assert newest(tmp_path) == newest(tmp_path / "none") == Found(None, [])
    Checkpoints(tmp_path, newest(tmp_path))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_the_newest_are_kept(tmp_path, keep):
    checkpoints = Checkpoints(tmp_path, newest(tmp_path), keep)
    for epoch in range(1, 6):
        last = checkpoint(checkpoints, epoch)
        assert newest(tmp_path) == Found(last, []) and found(tmp_path) == epoch
    kept = max(1, keep)
    assert names(tmp_path) == [f"{number:06d}" for number in range(6 - kept, 6)]
    files = ["checkpoint.json", "worker-0000.shard", "worker-0001.shard"]
    assert sorted(os.listdir(last.path)) == files


def test_a_manifest_is_read_as_it_was_written(two):
    manifest = newest(two).checkpoint.manifest
    assert manifest.number == 2 and len(manifest.shards) == WORKERS
    settings = msgspec.structs.replace(SETTINGS, epoch=2, number=2, shards=manifest.shards)
    assert manifest == settings


def test_numbers_grow_over_resumes(two):
    assert checkpoint(Checkpoints(two, newest(two)), 3).manifest.number == 3
    checkpoints = Checkpoints(two, newest(two))
    checkpoints.begin().abandon()
    assert checkpoint(checkpoints, 4).manifest.number == 5
    assert names(two) == ["000003", "000005"]


def test_what_was_refused_is_removed_when_the_run_goes_on(two):
    flip(shard(two, 2))
    checkpoints = Checkpoints(two, newest(two))
    assert names(two) == ["000001"] and found(two) == 1
    assert checkpoint(checkpoints, 9).manifest.number == 3
    assert names(two) == ["000001", "000003"] and found(two) == 9


def test_what_killed_writers_have_left_is_removed_by_the_next_writer(two):
    draft = Checkpoints(two, newest(two)).begin()
    write(draft.shard_path(0), {}, {})
    (two / "checkpoints" / "notes").mkdir()
    left = [draft.path.name, "000001", "000002", "notes"]
    assert found(two) == 2 and names(two) == left
    Checkpoints(two, newest(two))
    assert found(two) == 2 and names(two) == left[1:]


def test_an_abandoned_draft_leaves_nothing(two):
    draft = Checkpoints(two, newest(two)).begin()
    write(draft.shard_path(0), {}, {})
    draft.abandon()
    draft.abandon()
    assert names(two) == ["000001", "000002"]


@pytest.mark.parametrize("there", [False, True])
def test_a_checkpoint_without_a_workers_file_is_not_finished(two, there):
    draft = Checkpoints(two, newest(two)).begin()
    if there:
        write(draft.shard_path(0), {}, {})
    with pytest.raises(DiskError, match=r"worker-0000\.shard has .* its worker has written 999"):
        draft.finish(SETTINGS, [Digest(999, "")])
    assert names(two) == ["000001", "000002"] and found(two) == 2


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
def test_of_a_damaged_checkpoint_nothing_is_used(two, damage):
    DAMAGES[damage](two)
    before = sorted(two.rglob("*"))
    assert found(two) == 1
    ((path, why),) = newest(two).left_out
    assert path == two / "checkpoints" / "000002" and "of a checkpoint is damaged: " in why
    assert str(two) not in why and sorted(two.rglob("*")) == before


def test_all_may_be_damaged(two):
    for number in (1, 2):
        flip(shard(two, number))
    assert [path.name for path, _ in newest(two).left_out] == ["000002", "000001"]
    assert newest(two).checkpoint is None


def test_a_folder_that_cannot_be_read_is_told(tmp_path):
    (tmp_path / "checkpoints").write_bytes(b"")
    with pytest.raises(DataError, match="checkpoints cannot be read: Not a directory"):
        newest(tmp_path)
    with pytest.raises(DataError):
        Checkpoints(tmp_path, newest(tmp_path))


def test_every_flipped_bit_of_a_manifest_is_found(tmp_path):
    """Or it changes nothing."""
    draft = Checkpoints(tmp_path, newest(tmp_path)).begin()
    only = draft.finish(msgspec.structs.replace(SETTINGS, workers=0), [])
    content, found = manifest(tmp_path, 1).read_bytes(), set()
    assert newest(tmp_path).checkpoint == only
    with open(manifest(tmp_path, 1), "r+b", buffering=0) as file:
        for bit in range(8 * len(content)):
            os.pwrite(file.fileno(), bytes([content[bit // 8] ^ 1 << bit % 8]), bit // 8)
            one, refused = newest(tmp_path)
            assert one == only if one else len(refused) == 1
            found.add(one is None)
            os.pwrite(file.fileno(), content[bit // 8 : bit // 8 + 1], bit // 8)
    for size in range(len(content) - 1):
        manifest(tmp_path, 1).write_bytes(content[:size])
        assert newest(tmp_path).checkpoint is None


def from_none(out):
    checkpoint(Checkpoints(out, newest(out)), 3)


def one_kept(out):
    checkpoint(Checkpoints(out, newest(out), keep=1), 3)


def two_kept(out):
    checkpoint(Checkpoints(out, newest(out)), 3)


def back_to_the_first(out):
    checkpoint(Checkpoints(out, newest(out)), 3)


WRITERS = {from_none: {None}, one_kept: {2}, two_kept: {2}, back_to_the_first: {1}}
"""What may be found if the new checkpoint, of epoch 3, is not."""


def none_in_part(out):
    """No checkpoint has been removed, or has got its name, in part."""
    for path in (out / "checkpoints").glob("0*"):
        assert len(os.listdir(path)) == 1 + WORKERS


def outcomes(writer, two, seeds):
    """For each call that changes files: the process dies there, alone or with the power. Yields the
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
        with CrashingDisk(out, folder / f"graves{number}", die_at=number) as disk:
            try:
                writer(out)
                ended = True
            except Crash:
                pass
        epochs = {found(out)}
        none_in_part(out)
        for rng in (None, *map(random.Random, range(seeds))):
            disk.after_power_failure(copy, rng)
            epochs.add(found(copy))
            none_in_part(copy)
        yield epochs, ended
        if ended or number % 10 == 0:  # the next writer goes on from whatever is left
            checkpoint(Checkpoints(copy, newest(copy)), 4)
            assert found(copy) == 4 and all(name.isdigit() for name in names(copy))
        if ended:
            return


@pytest.mark.long(after=1)
@pytest.mark.parametrize("writer", WRITERS, ids=lambda writer: writer.__name__)
def test_a_writer_that_dies_leaves_the_old_or_the_new(two, writer):
    check_deaths(writer, two, 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "writer",
    [
        from_none,
        two_kept,
        *(pytest.param(each, marks=pytest.mark.long) for each in (one_kept, back_to_the_first)),
    ],
    ids=lambda writer: writer.__name__,
)
def test_a_power_failure_leaves_the_old_or_the_new(two, writer):
    check_deaths(writer, two, 20)


def check_deaths(writer, two, seeds):
    every = list(outcomes(writer, two, seeds))
    assert len(every) > 30 and every[-1] == ({3}, True)
    for epochs, _ in every:
        assert epochs <= WRITERS[writer] | {3}
    assert set.union(*(epochs for epochs, _ in every)) >= {3, min(WRITERS[writer], key=str)}


@pytest.mark.slow
@pytest.mark.parametrize("lasting", [False, True])
def test_a_full_disk_leaves_what_was_there(two, lasting):
    """Whichever call it is that fails, alone or with all that follow."""
    folder, number, told = two.parent, 0, 0
    while True:
        out = folder / f"work{number}"
        shutil.copytree(two, out)
        full = range(number, number + 1000 if lasting else number + 1)
        checkpoints = Checkpoints(out, newest(out))
        with CrashingDisk(out, folder / f"graves{number}", full=full) as disk:
            draft = None
            try:
                draft = checkpoints.begin()
                written(draft, 3)
                error = None
            except DiskError as full_disk:
                error = full_disk
        assert error is None or error.do == "free space there, or write to another disk"
        assert found(out) == 3 if error is None else found(out) in (2, 3)
        if draft:
            draft.abandon()
        checkpoint(checkpoints, 4)  # there is space again
        assert found(out) == 4
        Checkpoints(out, newest(out))
        assert len(names(out)) == 2 and all(name.isdigit() for name in names(out))
        told, number = told + (error is not None), number + 1
        if disk.calls < number:
            break
    assert told > 25 and number > told


FILL = """
import sys
from test_checkpoints import *
out = Path(sys.argv[1])
checkpoints = Checkpoints(out, newest(out))
checkpoint(checkpoints, 1)
draft = checkpoints.begin()
try:
    write(draft.shard_path(0), {}, {"x": np.zeros(1 << 17)})
except DiskError as error:
    print(error.do)
draft.abandon()
assert found(out) == 1 and names(out) == ["000001"]
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
    assert (ran.returncode, ran.stdout, ran.stderr) == (
        0,
        "free space there, or write to another disk\n",
        "",
    )
