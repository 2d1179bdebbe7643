"""Files that go from machine to machine in pieces: the copy has the same bytes; more than was told,
and what comes out of turn, is refused; a full disk is told.
"""

from collections import deque

import numpy as np
import pytest
from support.machines.members import job_in
from support.messages import message

from tux.base.errors import DataError, DiskError
from tux.checkpoint.saved import SavedState
from tux.checkpoint.shard import Digest
from tux.cluster.checkpoint import pieces
from tux.cluster.checkpoint.pieces import IncomingFile, OutgoingFile
from tux.cluster.checkpoint.remote_files import RemoteFiles
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.cluster.transport.control import StateNotKept, unpack
from tux.messages.message import BadMessage, Kind, Message
from tux.messages.piece import Content

LAUNCHER = 2
TEXT = bytes(range(95))


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 10)


@pytest.mark.parametrize("size", [1, 9, 10, 11, 95])
def test_a_copy_has_the_same_bytes(tmp_path, size):
    (tmp_path / "here").write_bytes(TEXT[:size])
    here, there = OutgoingFile(tmp_path / "here"), IncomingFile(tmp_path / "there", size)
    lengths, whole = [], False
    while not whole:
        piece = here.next()
        lengths.append(len(piece))
        whole = there.take(piece)
    assert here.next() is None and max(lengths) <= 10 and len(lengths) == -(-size // 10)
    assert (tmp_path / "there").read_bytes() == TEXT[:size]


def test_no_more_is_taken_than_was_told(tmp_path):
    there = IncomingFile(tmp_path / "there", 12)
    assert not there.take(np.zeros(10, np.uint8))
    with pytest.raises(ValueError, match=message("its-file-has-more-bytes", "1")):
        there.take(np.zeros(3, np.uint8))
    assert (tmp_path / "there").stat().st_size == 10
    with pytest.raises(ValueError, match="no bytes"):
        IncomingFile(tmp_path / "empty", 0)


def test_a_disk_that_does_not_take_or_give_a_piece_is_told(tmp_path):
    with pytest.raises(DiskError, match=message("cannot-be-written", "/dev/full", "No space left")):
        IncomingFile("/dev/full", 5).take(np.zeros(3, np.uint8))
    with pytest.raises(DataError, match=message("cannot-be-read-2", "nothing", "No such file")):
        OutgoingFile(tmp_path / "nothing").next()


class PieceMachines:
    """Worker 1 of two on another machine than the launcher; messages arrive one at a time."""

    def __init__(self, tmp_path, checkpointing=None, **options):
        self.under_way, self.arrived, self.most = deque(), [], 0
        for name in ("here", "there"):
            (tmp_path / name).mkdir()
        self.job = job_in(tmp_path, graph=str(tmp_path / "here"), **options)
        self.worker = WorkerFiles(self.job, 1, self._post)
        there = job_in(tmp_path, graph=str(tmp_path / "there"), **options)
        self.launcher = RemoteFiles(there, [0], checkpointing, self._post)
        self.copy = there.list_file(1)

    def _post(self, message):
        self.under_way.append(message)
        self.most = max(self.most, sum(each.kind is Kind.PIECE for each in self.under_way))

    def deliver(self):
        """Let the oldest message arrive. Return it if it is the main thread's."""
        message = self.under_way.popleft()
        if message.dest == 1:
            return None if self.worker.handle(message) else message
        if message.kind is Kind.CONTROL:
            self.arrived.append(unpack(message))
        elif message.kind is Kind.PIECE:
            self.launcher.take(message)
        else:
            self.launcher.send_next_piece(message)
        return None

    def receive(self):
        """Wait for the next message to the main thread of the worker, and return it."""
        while (message := self.deliver()) is None:
            continue
        return message

    def finish(self):
        while self.under_way:
            assert self.deliver() is None


class StateReceiver:
    """A launcher that takes so many bytes of a state."""

    def __init__(self, path, size, full=False):
        self.incoming, self.whole, self.full = IncomingFile(path, size), False, full

    def take(self, rank, piece):
        assert rank == 1 and not self.whole
        if self.full:
            return False
        self.whole = self.incoming.take(piece)
        return True


def test_lists_go_to_the_launcher(tmp_path):
    machines = PieceMachines(tmp_path, lists="sent")
    machines.job.list_file(1).write_bytes(TEXT)
    machines.worker.send_lists(machines.receive)
    assert machines.copy.read_bytes() == TEXT and machines.most == 1


def test_states_go_to_the_launcher_one_piece_at_a_time_and_leave_no_file(tmp_path):
    machines = PieceMachines(tmp_path, StateReceiver(tmp_path / "copy", len(TEXT)))
    for mark in range(2):
        machines.worker.new_path().write_bytes(TEXT)
        machines.worker.begin(mark)
        machines.finish()
        assert (tmp_path / "copy").read_bytes() == TEXT and not machines.worker.path.exists()
        assert machines.most == 1
        machines.launcher._checkpointing = StateReceiver(tmp_path / "copy", len(TEXT))
        (tmp_path / "copy").unlink()


def test_a_state_that_the_launcher_gives_up_makes_room_for_the_next(tmp_path):
    machines = PieceMachines(tmp_path, StateReceiver(tmp_path / "copy", len(TEXT), full=True))
    machines.worker.new_path().write_bytes(TEXT)
    machines.worker.begin(3)
    machines.finish()
    assert machines.worker.path.exists(), "nothing says that it has been taken"
    assert not machines.worker.new_path().exists()


def test_a_state_that_is_gone_is_told(tmp_path):
    machines = PieceMachines(tmp_path, StateReceiver(tmp_path / "copy", len(TEXT)))
    machines.worker.new_path().write_bytes(TEXT)
    machines.worker.begin(3)
    machines.worker.path.unlink()
    machines.finish()
    assert [type(each) for each in machines.arrived] == [StateNotKept] and machines.arrived[
        0
    ].mark == 3
    with pytest.raises(BadMessage, match="no piece of a state is on its way"):
        machines.worker.handle(Message(Kind.TAKEN, LAUNCHER, 1, sync_id=Content.STATE))


def test_a_state_that_is_gone_after_its_last_piece_was_sent_is_whole(tmp_path):
    """As where a machine's command is killed, and its worker still hears that it is taken."""
    machines = PieceMachines(tmp_path, StateReceiver(tmp_path / "copy", 10))
    machines.worker.new_path().write_bytes(TEXT[:10])
    machines.worker.begin(3)
    machines.worker.path.unlink()
    machines.finish()
    assert not machines.arrived and (tmp_path / "copy").read_bytes() == TEXT[:10]


def save_shard(tmp_path):
    (tmp_path / "shard").write_bytes(TEXT)
    return [SavedState(str(tmp_path / "shard"), Digest(len(TEXT), ""))] * 2


def fetch(machines, digest):
    def ask():
        machines.launcher.give(Message(Kind.CONTROL, 1, LAUNCHER))

    return machines.worker.fetch(digest, ask, machines.receive)


def test_a_worker_gets_the_state_from_which_it_goes_on(tmp_path):
    machines = PieceMachines(tmp_path, resume=save_shard(tmp_path))
    machines.worker.path.write_bytes(b"left by one that was killed")
    digest = Digest(len(TEXT), "")
    assert fetch(machines, digest) == SavedState(str(machines.worker.path), digest)
    machines.finish()
    assert machines.worker.path.read_bytes() == TEXT and machines.most == 1
    with pytest.raises(BadMessage, match="no piece is on its way there"):
        machines.launcher.send_next_piece(Message(Kind.TAKEN, 1, LAUNCHER, sync_id=Content.STATE))
    with pytest.raises(BadMessage, match="this worker waits for no state"):
        machines.worker.handle(Message(Kind.PIECE, LAUNCHER, 1, sync_id=Content.STATE))


def test_a_worker_takes_no_more_of_a_state_than_it_was_told(tmp_path):
    machines = PieceMachines(tmp_path, resume=save_shard(tmp_path))
    with pytest.raises(BadMessage, match="more bytes than was told"):
        fetch(machines, Digest(len(TEXT) - 1, ""))


def piece(source=1, of=Content.STATE, size=3):
    return Message(Kind.PIECE, source, LAUNCHER, sync_id=of, arrays=[np.zeros(size, np.uint8)])


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (piece(), "no states are kept"),
        (piece(0), "its files are here already"),
        (piece(0, Content.LISTS), "its files are here already"),
        (piece(of=7), "it is of no file"),
        (piece(size=(1 << 20) + 1), "1048577 bytes"),
    ],
)
def test_what_the_launcher_does_not_wait_for_is_refused(tmp_path, message, why):
    machines = PieceMachines(tmp_path, lists="spooled")
    with pytest.raises(BadMessage, match=why):
        machines.launcher.take(message)
    assert not machines.under_way and not [*(tmp_path / "there").iterdir()]


@pytest.mark.parametrize("source", [0, 1])
def test_who_lacks_no_state_gets_none(tmp_path, source):
    resume = save_shard(tmp_path) if source == 0 else []
    machines = PieceMachines(tmp_path, resume=resume)
    with pytest.raises(BadMessage, match="there is no state that it lacks"):
        machines.launcher.give(Message(Kind.CONTROL, source, LAUNCHER))
