"""Lists on disk when the process dies, or the power fails, at any call that changes files: the
newest checkpoint has all of its lists.
"""

import random
import shutil
from contextlib import suppress

import msgspec
import numpy as np
import pytest
from support.machines.crashing_disk import Crash, CrashingDisk
from support.machines.keeping_job import UNKNOWN

from tux.checkpoint import segments
from tux.checkpoint.saved import load, save
from tux.checkpoint.segments import create_file, list_file_name
from tux.checkpoint.snapshot import Counts, State, StateHead
from tux.checkpoint.spool import Scratch, Spool
from tux.checkpoint.store import CheckpointManifest, Checkpoints, find_newest_checkpoint
from tux.engine.shares import WHOLE
from tux.runs.resume import states_of

MANIFEST = CheckpointManifest(epoch=1, turns=0, workers=1, **UNKNOWN)
HEAD = StateHead(
    1, 0, False, 0, 0, 0, Counts(0.0, 0, {}, 0.0, {}, {}, {}, {}), None, 0, None, 0, {}
)


def rows(epoch):
    return np.arange(3, dtype=np.int32), {"path": np.full((3, 2), epoch, np.int32)}


def train(out, start, last, told):
    """Go on from the newest checkpoint up to the `last` epoch, with lists in each and a checkpoint
    behind it; `told` gets the epochs whose checkpoints are finished.
    """
    found = find_newest_checkpoint(out)
    checkpoints = Checkpoints(out, found)
    name, folder, opened = list_file_name(0, bytes([start])), checkpoints.lists, []

    def begin():
        opened.append(create_file(folder / name))
        return opened[0]

    spool, epoch = Spool("page", {"path": 2}, Scratch(begin, name, folder)), 0
    if found.checkpoint:
        epoch = found.checkpoint.manifest.epoch
        spool.go_on(load(states_of(found.checkpoint)[0], WHOLE).head.lists)
    try:
        for number in range(epoch + 1, last + 1):
            spool.append(*rows(number))
            lists = spool.segments()
            state = State(msgspec.structs.replace(HEAD, epoch=number, lists=lists), {})
            draft = checkpoints.begin()
            digest = save(draft.shard_path(0), state, WHOLE, spool)
            draft.finish(msgspec.structs.replace(MANIFEST, epoch=number), [digest])
            told.append(number)
    finally:
        for file in opened:
            with suppress(Crash):
                file.close()


def epoch_in(out):
    """Return the epoch of the newest checkpoint, 0 if there is none. Assert that all lists up to it
    are there.
    """
    checkpoint = find_newest_checkpoint(out).checkpoint
    if checkpoint is None:
        return 0
    (saved,), epoch = states_of(checkpoint), checkpoint.manifest.epoch
    lists = load(saved, WHOLE).head.lists
    folder = out / "checkpoints" / "lists"
    with segments.join_files([(folder / each.name, each.size) for each in lists]) as file:
        content = file.read().partition(b"\n")[2]
    there = np.frombuffer(content, "<i4").reshape(epoch, 3, 3)
    for number in range(1, epoch + 1):
        assert np.array_equal(there[number - 1, :, 1:], rows(number)[1]["path"])
    return epoch


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("seeds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_the_newest_checkpoint_has_all_its_lists(tmp_path, seeds):
    begun = tmp_path / "begun"
    train(begun, 0, 2, [])
    for number in range(1000):
        out, copy, finished = tmp_path / "work", tmp_path / "left", [2]
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(begun, out)
        with CrashingDisk(out, tmp_path / f"graves{number}", die_at=number) as disk:
            with suppress(Crash):
                train(out, 1, 4, finished)
        assert epoch_in(out) in (finished[-1], finished[-1] + 1)
        for rng in (None, *map(random.Random, range(seeds))):
            disk.after_power_failure(copy, rng)
            assert epoch_in(copy) in (finished[-1], finished[-1] + 1)
        if number % 10 == 0:  # the next one goes on from whatever is left
            train(copy, 2, 4, [])
            assert epoch_in(copy) == 4
        if finished[-1] == 4:
            assert number > 20
            return
