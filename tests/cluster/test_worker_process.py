"""A worker's messages before the launcher has told it where the others are."""

import threading
import types

import msgspec
import pytest
from support.machines.members import job_in
from support.messages import message

from tux.base.errors import PeerLost, Refused
from tux.checkpoint.saved import SavedState
from tux.checkpoint.shard import Digest
from tux.cluster.checkpoint.worker_files import WorkerFiles
from tux.cluster.job.failures import failure_of, leave_failure
from tux.cluster.job.job import Job
from tux.cluster.job.worker_process import Peer
from tux.cluster.transport.control import Beat, Bye, Go, Keep, Pass, as_failure, pack, pack_beat
from tux.messages.message import BadMessage, Kind, Message


@pytest.fixture
def peer(tmp_path):
    """Yield worker 0 of two, whose server takes what comes up and leaves the rest to the worker."""
    job = job_in(tmp_path)
    job.write(tmp_path)
    process = Peer(tmp_path, 0, Job.read(tmp_path))
    process.worker = types.SimpleNamespace(
        server=types.SimpleNamespace(handle=lambda message: message.kind is Kind.CONTRIBUTION)
    )
    yield process
    process.socket_thread.close()


def arrives(peer, message):
    """Pass on a message as the socket thread does."""
    if not peer._handle(message):
        peer.socket_thread.inbox.put(message)


def test_who_has_met_all_may_speak_before_we_have(peer):
    for kind, clock in [(Kind.ANSWER, 0), (Kind.CONTRIBUTION, 0), (Kind.ANSWER, 1)]:
        arrives(peer, Message(kind, 1, 0, clock))
    arrives(peer, pack(Go(["a", "b"]), 2, 0))
    arrives(peer, Message(Kind.ANSWER, 1, 0, 2))
    assert peer._meet() == ["a", "b"]
    assert [(message.kind, message.clock) for message in peer.socket_thread.take_arrived()] == [
        (Kind.ANSWER, 0),
        (Kind.ANSWER, 1),
        (Kind.ANSWER, 2),
    ]


def test_a_job_may_end_before_it_begins(peer):
    arrives(peer, Message(Kind.ANSWER, 1, 0, 0))
    arrives(peer, pack(Bye(), 2, 0))
    with pytest.raises(Refused, match="machine 0 ended the job"):
        peer._meet()


def test_a_launcher_that_never_answers_is_lost_as_soon_as_one_that_falls_silent(
    tmp_path, monkeypatch
):
    """It was killed when it had taken this machine: neither a state nor a word comes from it."""
    monkeypatch.setattr("tux.cluster.transport.heartbeat.HEARTBEAT", 0.01)
    monkeypatch.setattr("tux.cluster.transport.heartbeat.SILENCE", 0.02)
    job = job_in(tmp_path, launcher="tcp://127.0.0.1:9", deadline=600.0, rejoin=600.0)
    peer = Peer(tmp_path, 1, job)
    try:
        for wait in (
            peer._meet,
            lambda: peer._state_before(SavedState("", Digest(100, "0" * 64)), ""),
        ):
            with pytest.raises(PeerLost, match="machine 0 at 127.0.0.1:9 has been silent for"):
                wait()
    finally:
        peer.socket_thread.close()


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (Message(Kind.MODEL_ROWS, 1, 0), "it is for the launcher"),
        (Message(Kind.PIECE, 1, 0), "the sender is not the launcher"),
        (Message(Kind.PIECE, 2, 0, sync_id=1), "this worker waits for no state"),
        (Message(Kind.TAKEN, 1, 0), "the sender is not the launcher"),
        (Message(Kind.TAKEN, 2, 0, sync_id=1), "no piece of a state is on its way"),
        (Message(Kind.TAKEN, 2, 0, sync_id=2), "no piece of a trace is on its way"),
        (Message(Kind.TAKEN, 2, 0, sync_id=3), "it is of no file"),
        (pack(Bye(), 1, 0), "the sender is not the launcher"),
        (pack(Go(["a", "b"]), 1, 0), "the sender is not the launcher"),
        (pack(Keep(0, "/tmp/file"), 1, 0), "the sender is not the launcher"),
        (pack(Keep(0, "/tmp/file"), 2, 0), "this worker waits for no such word"),
        (pack(Pass(3, keep=False), 2, 0), "this worker waits for no such word"),
        (Message(Kind.CONTROL, 1, 0), "it is not one small array"),
    ],
)
def test_what_no_worker_may_send_is_refused(peer, message, why):
    sender = f"{message.kind.name} message of worker {message.source}"
    with pytest.raises(BadMessage, match=sender) as error:
        arrives(peer, message)
    assert why in error.value.what and not peer.over


def test_nothing_is_folded_before_this_worker_has_said_hello(peer):
    peer.worker = None
    with pytest.raises(BadMessage, match="CONTRIBUTION message of worker 1 was refused: this"):
        arrives(peer, Message(Kind.CONTRIBUTION, 1, 0))


def test_lists_are_taken_by_the_launcher_only(peer, tmp_path):
    peer.job = msgspec.structs.replace(peer.job, lists="sent", graph=str(tmp_path))
    peer.files = WorkerFiles(peer.job, 0, peer.socket_thread.post)
    peer.job.list_file(0).write_bytes(b"abc")
    peer._early, peer.worker.all_clocks = None, 0
    worker = types.SimpleNamespace(spool=types.SimpleNamespace(flush=lambda: True))
    with pytest.raises(BadMessage, match="no piece of lists is on its way"):
        arrives(peer, Message(Kind.TAKEN, 2, 0))
    arrives(peer, Message(Kind.EVAL_ROWS, 1, 0))
    with pytest.raises(BadMessage, match="EVAL_ROWS message of worker 1"):
        peer._send_lists(worker)
    arrives(peer, Message(Kind.TAKEN, 2, 0))
    peer._send_lists(worker)


def test_a_word_about_marks_is_heard_at_once_and_only_ends_a_wait(peer):
    heard = []
    peer.marks = types.SimpleNamespace(take_control=lambda word: heard.append(word) or True)
    peer._early, peer.worker.all_clocks = None, 0
    arrives(peer, pack(Pass(7, keep=True), 2, 0))
    arrives(peer, Message(Kind.ANSWER, 1, 0, 4))
    assert heard == [Pass(7, keep=True)]
    assert [message.kind for message in peer.take_arrived()] == [Kind.ANSWER]
    arrives(peer, pack(Keep(7, ""), 2, 0))
    assert peer.receive().kind is Kind.CONTROL and heard[1:] == [Keep(7, "")]


def test_workers_find_each_others_losses_and_silence(peer):
    assert peer.socket_thread.reactor.partners == [1, 2]


def test_a_pause_excuses_all_members_until_the_launcher_goes_on(peer):
    assert peer.job.near(1) == range(1, 2), "worker 0 alone is of the launcher's machine"
    life = peer.socket_thread.reactor.heartbeat
    life.heard[1] = 0.0
    arrives(peer, pack_beat(Beat(paused=True), 0, 2, 0))
    assert peer._is_excused(1, 1.0) and peer._is_excused(2, 1.0) and life.heard[1] == 0.0
    arrives(peer, pack_beat(Beat(), 0, 1, 0))
    assert peer._is_excused(1, 1.0), "only the launcher says that it goes on"
    arrives(peer, pack_beat(Beat(), 1, 2, 0))
    assert not peer._is_excused(1, 1.0) and life.heard[1] > 0.0


def test_a_launcher_that_the_user_has_stopped_is_not_lost(tmp_path, monkeypatch):
    """It may be stopped before it has given a sign of life."""
    monkeypatch.setattr("tux.cluster.transport.heartbeat.HEARTBEAT", 0.01)
    monkeypatch.setattr("tux.cluster.transport.heartbeat.STARTING", 0.02)
    stopped = [True] * 9 + [False] * 9
    monkeypatch.setattr("tux.cluster.rendezvous.member.is_stopped", lambda process: stopped.pop(0))
    peer = Peer(tmp_path, 0, job_in(tmp_path, launcher="tcp://127.0.0.1:9"))
    try:
        with pytest.raises(PeerLost, match=message("machine-0-at-has-been")):
            peer._meet()
        assert len(stopped) == 7
    finally:
        peer.socket_thread.close()


def test_a_failure_that_several_threads_leave_is_whole_at_every_moment(tmp_path):
    """One of them ends the process while another one writes."""
    failure, over = as_failure(Refused("machine 0 has ended", do="x" * 1000)), threading.Event()
    leave_failure(tmp_path, 1, failure)

    def leave():
        while not over.is_set():
            leave_failure(tmp_path, 1, failure)

    threads = [threading.Thread(target=leave) for _ in range(2)]
    for each in threads:
        each.start()
    try:
        assert all(failure_of(tmp_path, 1) == failure for _ in range(2000))
    finally:
        over.set()
        for each in threads:
            each.join()
