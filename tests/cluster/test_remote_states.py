"""States of workers on other machines, which come to the launcher in pieces while they train: a run
that goes on from them counts each effect once; without room for them, training goes on.
"""

import numpy as np
import pytest
from support.machines.keeping import (
    EPOCHS,
    AtOnceBackground,
    ExactMeetings,
    InMemory,
    LedWorkers,
    RandomWalks,
    run,
)
from support.machines.members import job_in
from support.messages import message

from tux.checkpoint.saved import SavedState, load, save
from tux.checkpoint.schedule import CheckpointInterval
from tux.checkpoint.shard import Digest
from tux.checkpoint.snapshot import Counts, StateHead
from tux.cluster.checkpoint import pieces
from tux.cluster.checkpoint.keeper import Checkpointing
from tux.cluster.checkpoint.remote_files import RemoteFiles
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.cluster.transport.control import Keep, MarkReached, StateKept, StateNotKept
from tux.messages.message import Kind

PART = "part"
NOTHING = Counts(0.0, 0, {}, 0.0, {}, {}, {}, {})
HEAD = StateHead(1, 0, False, 0, 0, 0, NOTHING, None, 0, None, 0, {})


class FullDiskKeeper(InMemory):
    """A keeper of files; those of the ranks `full` are on a disk that is full."""

    def __init__(self, folder, full=()):
        super().__init__()
        self.folder, self.full = folder, full

    def shard_path(self, rank):
        folder = self.folder / str(self.number)
        folder.mkdir(exist_ok=True)
        return "/dev/full" if rank in self.full else folder / str(rank)

    def write(self, path, state):
        return save(path, state, PART)

    def finish(self, head, digests):
        self.open = False
        files = [SavedState(str(self.shard_path(n)), each) for n, each in enumerate(digests)]
        self.kept.append((head, [load(each, PART) for each in files]))


class RemoteLauncher(LedWorkers):
    """Workers with a launcher on the machine of worker 0; each other is on one of its own."""

    def __init__(self, workers, seed, every, last, keeper):
        k = len(workers)
        self.warned = keeper.warned = []
        self.files = [self._files(keeper.folder, rank, k) for rank in range(k)]
        super().__init__(workers, seed, every, last, keeper, remote=range(1, k))
        self.checkpointing._warn = self.warned.append
        job = job_in(keeper.folder, workers=k)
        self.remote = RemoteFiles(job, [0], self.checkpointing, self.send)

    def _files(self, folder, rank, k):
        own = folder / f"machine {rank}"
        own.mkdir(exist_ok=True)
        return WorkerFiles(job_in(folder, workers=k, graph=str(own)), rank, self.send)

    def _marks(self, rank, every, last, keeper):
        files = self.files[rank]
        marks = super()._marks(rank, every, last, keeper)
        marks._write = lambda path, state: keeper.write(path or files.new_path(), state)
        marks._send = files.begin
        return marks

    def deliver(self, channel):
        message = self.channels[channel][0]
        if message.kind not in (Kind.PIECE, Kind.TAKEN):
            return super().deliver(channel)
        self.channels[channel].popleft()
        if not self.channels[channel]:
            del self.channels[channel]
        if message.kind is Kind.PIECE:
            self.remote.take(message)
            self.checkpointing.look()
        else:
            assert self.files[message.dest].handle(message)
        return None


def run_and_keep(folder, make, k, slack, seed, **full):
    """Run workers whose states are kept. Return what the run ends with, and its keeper."""
    keeper, every = FullDiskKeeper(folder, **full), CheckpointInterval(seconds=0.6)
    return run(make, k=k, slack=slack, seed=seed, every=every, led=RemoteLauncher, keeper=keeper)[
        0
    ], keeper


@pytest.mark.long(after=1)
@pytest.mark.parametrize(
    ("make", "k", "slack", "seeds"),
    [
        (ExactMeetings, 2, 1, range(1)),
        pytest.param(ExactMeetings, 3, 0, range(6), marks=pytest.mark.slow),
        pytest.param(RandomWalks, 2, 3, range(6), marks=pytest.mark.slow),
    ],
)
def test_each_effect_counts_once(tmp_path, monkeypatch, make, k, slack, seeds):
    monkeypatch.setattr(pieces, "PIECE", 1500)
    within = 0
    for seed in seeds:
        expected = run(make, k=k, slack=slack, seed=seed)[0]
        folder = tmp_path / str(seed)
        folder.mkdir()
        held, keeper = run_and_keep(folder, make, k, slack, seed)
        assert held == expected and keeper.kept[-1][0].epoch == EPOCHS
        assert not [*folder.glob("machine*/*")], "sent files are removed"
        for head, states in keeper.kept[:2]:
            assert len({(each.head.epoch, each.head.turns) for each in states}) == 1
            assert run(make, k=k, slack=slack, seed=seed + 9, states=states)[0] == expected
            within += head.turns > 0
    assert within


def test_training_goes_on_when_the_launcher_has_no_room(tmp_path):
    expected = run(ExactMeetings, k=3, slack=1, seed=1)[0]
    held, keeper = run_and_keep(tmp_path, ExactMeetings, 3, 1, 1, full=[2])
    assert held == expected and not keeper.kept and not keeper.open
    assert set(keeper.warned) == {
        "no checkpoint: worker 2: /dev/full cannot be written: No space left on device"
    }


# ---- what the launcher does


def make_launcher(keeper):
    """Make a launcher of two workers, the second on another machine. Return it, its messages and
    its warnings.
    """
    said, warned = [], []
    launcher = Checkpointing(
        2,
        CheckpointInterval(epochs=1),
        keeper,
        lambda control, rank: said.append((rank, control)),
        warned.append,
        AtOnceBackground(),
        remote=[1],
    )
    for rank in range(2):
        launcher.handle(rank, MarkReached(3), 0.0)
    launcher.handle(0, StateKept(3, saved_by(keeper, 0), HEAD), 0.0)
    return launcher, said, warned


def saved_by(keeper, rank):
    """Write a file as a worker of this machine does. Return its digest."""
    path = keeper.shard_path(rank)
    path.write_bytes(b"x")
    return Digest(1, "")


def test_a_worker_of_another_machine_sends_its_state(tmp_path):
    keeper = FullDiskKeeper(tmp_path)
    launcher, said, _ = make_launcher(keeper)
    assert said == [(0, Keep(3, str(keeper.shard_path(0)))), (1, Keep(3, sends=True))]
    assert not launcher.receives
    launcher.handle(1, StateKept(3, Digest(5, ""), None), 0.0)
    assert launcher.receives and keeper.open
    with pytest.raises(ValueError, match=message("its-state-is-on-its")):
        launcher.handle(1, StateKept(3, Digest(5, ""), None), 0.0)
    for rank in (0, 2):
        with pytest.raises(ValueError, match=message("nobody-waits-for-its-state")):
            launcher.take(rank, b"x")
    launcher.handle(1, StateNotKept(3, "its file is gone"), 0.0)
    assert not launcher.receives and not keeper.open and not keeper.kept
    with pytest.raises(ValueError, match=message("it-was-not-to-write", "3")):
        launcher.handle(1, StateKept(3, Digest(5, ""), None), 0.0)


def test_a_state_that_is_not_what_its_worker_has_written_is_no_checkpoint(tmp_path):
    keeper = FullDiskKeeper(tmp_path)
    launcher, _, warned = make_launcher(keeper)
    launcher.handle(1, StateKept(3, Digest(5, ""), None), 0.0)
    assert launcher.take(1, np.frombuffer(b"12345", np.uint8))
    launcher.look()
    assert not launcher.receives and not keeper.open and not keeper.kept
    assert len(warned) == 1 and warned[0].startswith(
        "no checkpoint: worker 1: 1 of a checkpoint is "
    )


def test_a_job_that_ends_while_a_state_is_on_its_way_leaves_no_part_of_a_checkpoint(tmp_path):
    keeper = FullDiskKeeper(tmp_path)
    launcher, _, warned = make_launcher(keeper)
    launcher.handle(1, StateKept(3, Digest(5, ""), None), 0.0)
    launcher.end(10)
    assert not launcher.receives and not keeper.open and not warned
