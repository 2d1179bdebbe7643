"""Other machines learn the number of a job, and nothing of an older job disturbs it."""

import socket
import threading
from types import SimpleNamespace

import msgspec
import pytest
from support.machines.members import SMALL, SOON, job_in, until, up, value_of
from support.messages import message

from tux.base.errors import DataError, DeadlinePassed, MustReadWhole, PeerLost, Refused
from tux.checkpoint.saved import SavedState
from tux.checkpoint.shard import Digest
from tux.cluster.job.follower_launcher import FollowerLauncher
from tux.cluster.job.job import Job
from tux.cluster.job.launcher import Launcher
from tux.cluster.rendezvous import answering, joining
from tux.cluster.rendezvous.answering import Answers, AnswerThread
from tux.cluster.rendezvous.meeting import Meeting, meeting_number
from tux.cluster.rendezvous.place import Place
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import Bye, Failure, Join, NotYet, ReadWhole, Welcome
from tux.cluster.transport.refusals import Refusals
from tux.cluster.transport.socket_thread import SocketThread


@pytest.fixture
def machine0():
    """Return a function that starts machine 0, which listens: ``machine0(job)``. `complete`: all
    its workers are there.
    """
    threads, warned = [], []

    def start(job, *, complete=False):
        attendance = SimpleNamespace(is_complete=complete)
        launcher = SimpleNamespace(job=job, _attendance=attendance)
        launcher._refusals = Refusals(warned.append)
        launcher.socket_thread = SocketThread(
            job.workers,
            [""] * job.workers + [job.launcher],
            job.number,
            lambda message: False,
            partners=[],
            largest=SMALL,
            outside=lambda frames: Launcher._answer_outsider(launcher, frames),
        )
        launcher.socket_thread.start()
        threads.append(launcher.socket_thread)
        start.warned = lambda: launcher._refusals.warn(launcher.socket_thread.reactor) or [*warned]
        return launcher.socket_thread

    yield start
    for each in threads:
        each.close(0.0)


def test_each_start_of_a_job_has_a_number_of_its_own(tmp_path):
    jobs = [job_in(tmp_path, nonce=nonce, secret=bytes(32)) for nonce in (b"one", b"two", b"")]
    assert len({job.number for job in jobs}) == 3
    assert {job.meeting for job in jobs} == {jobs[2].number}
    assert job_in(tmp_path, nonce=b"one", secret=bytes(31) + b"x").number != jobs[0].number


def test_another_machine_asks_until_machine_0_is_there(tmp_path, machine0, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    heard = []
    asking = job_in(tmp_path, nonce=b"", listen=f"ipc://{tmp_path}/command", deadline=SOON)
    thread = threading.Thread(target=lambda: heard.append(joining.ask(asking)), daemon=True)
    thread.start()
    launcher = machine0(job_in(tmp_path, nonce=b"the nonce"))
    thread.join(SOON)
    assert heard == [Welcome(b"the nonce", [])] and launcher.reactor.refused == 0


def test_the_workers_of_another_machine_get_the_number(tmp_path, machine0):
    job = job_in(tmp_path, nonce=b"the nonce")
    machine0(job)
    folder = tmp_path / "command"
    folder.mkdir()
    asking = job_in(tmp_path, nonce=b"", listen=f"ipc://{tmp_path}/asks")
    with FollowerLauncher(asking, folder, ranks=[]):
        assert Job.read(folder).number == job.number != asking.number
        assert Job.read(folder).resume == []


def test_the_workers_of_another_machine_learn_from_which_states_they_go_on(tmp_path, machine0):
    digests = [Digest(100 + rank, str(rank)) for rank in range(2)]
    saved = [SavedState(f"/out/{rank}", digest) for rank, digest in enumerate(digests)]
    machine0(job_in(tmp_path, resume=saved))
    asking = job_in(tmp_path, nonce=b"", listen=f"ipc://{tmp_path}/asks")
    for workers, expected in ((2, [SavedState("", digest) for digest in digests]), (3, [])):
        folder = tmp_path / str(workers)
        folder.mkdir()
        with FollowerLauncher(msgspec.structs.replace(asking, workers=workers), folder, ranks=[]):
            assert Job.read(folder).resume == expected


def test_a_machine_that_comes_too_late_is_told(tmp_path, machine0):
    machine0(job_in(tmp_path, nonce=b"the nonce"), complete=True)
    with pytest.raises(Refused, match=message("machine-0-does-not-take")):
        joining.ask(job_in(tmp_path, nonce=b"", listen=f"ipc://{tmp_path}/command"))


def test_a_machine_that_has_lost_its_workers_tells_it_and_waits_for_others(
    tmp_path, machine0, monkeypatch
):
    """Machine 0 has the old launcher until it hears of the loss; a new one has a new nonce."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.05)
    heard = []
    asking = job_in(tmp_path, nonce=b"old", listen=f"ipc://{tmp_path}/command", rejoin=SOON)
    ask = lambda: heard.append(joining.ask_again(asking, "worker 1 was killed"))  # noqa: E731
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    old = machine0(job_in(tmp_path, nonce=b"old"))
    with pytest.raises(PeerLost, match="worker 1 was killed"):
        old.receive(SOON, "a message")
    old.close(0.0)
    assert not heard and old.reactor.refused == 0
    machine0(job_in(tmp_path, nonce=b"new"))
    thread.join(SOON)
    assert heard == [Welcome(b"new")]


def test_who_may_not_join_again_in_time_is_told(tmp_path, machine0, monkeypatch):
    """Machine 0 has all workers, of an incarnation that it does not know to be lost."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.01)
    machine0(job_in(tmp_path, nonce=b"old"), complete=True)
    late = job_in(tmp_path, nonce=b"old", listen=f"ipc://{tmp_path}/command", rejoin=0.05)
    with pytest.raises(PeerLost, match="has not started the workers again"):
        joining.ask_again(late, "")
    for patience, deadline in ((0.02, SOON), (SOON, 0.2)):  # what ends first
        again = job_in(tmp_path, nonce=b"", listen=f"ipc://{tmp_path}/o", deadline=deadline)
        with pytest.raises(Refused, match="has all workers already"):
            joining.ask(again, patience)


def test_a_machine_alone_names_whom_it_waits_for(tmp_path, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.01)
    with pytest.raises(DeadlinePassed, match=message("no-answer-from-machine-0")) as error:
        joining.ask(job_in(tmp_path, listen=f"ipc://{tmp_path}/command", deadline=0.05))
    assert "same key" in error.value.do


def test_what_is_left_of_an_older_job_is_refused_and_counted(tmp_path, machine0):
    older, job = (job_in(tmp_path, nonce=nonce) for nonce in (b"older", b"new"))
    launcher = machine0(job)
    addresses = [f"ipc://{tmp_path}/0", f"ipc://{tmp_path}/1", job.launcher]
    left, worker = (
        SocketThread(rank, addresses, number, lambda message: False, partners=[], largest=SMALL)
        for rank, number in enumerate((older.number, job.number))
    )
    try:
        left.start()
        worker.start()
        worker.send(up(2, 1, 1))
        assert value_of(launcher.receive(SOON, "a message")) == 1
        left.reactor.sequences.next[:] = [7, 7, 7]  # in the midst of its work
        for dest, member in ((2, launcher), (1, worker)):
            left.send(up(dest))
            until(lambda: member.reactor.refused == 1, "a refusal")  # noqa: B023
            assert "another job" in member.reactor.last_refused and member.inbox.empty()
        worker.send(up(2, 2, 1))
        assert value_of(launcher.receive(SOON, "a message")) == 2
    finally:
        left.close(0.0)
        worker.close(0.0)


class Busy:
    """Sockets by which machine 0 says so many times that it is at work, and then welcomes."""

    def __init__(self, job, times):
        self.job, self.times, self.asked, self.endpoint, self.waiting = job, times, 0, "", []

    def more_dealers(self, most_waiting):
        return self

    def connect(self, member, address):
        return True

    def offer(self, member, frames):
        self.asked += 1
        word = NotYet() if self.asked <= self.times else Welcome(b"new")
        self.waiting.append(joining.encode_control(word, self.job.meeting))

    def poll(self, milliseconds):
        return bool(self.waiting)

    def receive(self):
        return [bytes(frame) for frame in self.waiting.pop()] if self.waiting else None

    def close(self, seconds):
        pass


@pytest.mark.parametrize("limits", [{"rejoin": 0.03, "deadline": 9}, {"deadline": 0.03}])
def test_a_machine_waits_on_while_machine_0_is_at_work(tmp_path, monkeypatch, limits):
    """Also if that takes many times as long as it waits for a machine that is silent."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.01)
    job = job_in(tmp_path, nonce=b"old", **limits)
    machine = Busy(job, 20)
    monkeypatch.setattr(joining, "Sockets", lambda *arguments: machine)
    found = joining.ask_again(job, "lost") if "rejoin" in limits else joining.ask(job)
    assert found == Welcome(b"new") and machine.asked == 21


@pytest.mark.parametrize(
    ("word", "error", "text"),
    [
        (ReadWhole(), MustReadWhole, "each reads the whole input"),
        (Failure(4, "loader 1 was killed", "", ""), PeerLost, "loader 1 was killed"),
        (Bye("all machines have come"), PeerLost, "has not begun to load the data again within"),
    ],
)
def test_what_a_machine_is_told_that_asks_to_load_anew(tmp_path, monkeypatch, word, error, text):
    """A machine that asks to load anew hears that the others have loaded, that machine 0 ends, or
    nothing that helps.
    """
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.01)
    meeting = Meeting(
        workers=2,
        workers_here=1,
        launcher=f"ipc://{tmp_path}/launcher",
        listen=f"ipc://{tmp_path}/command",
        secret=None,
        traits={},
        deadline=SOON,
        nonce=b"old",
        rejoin=0.05,
    )
    machine = Busy(meeting, 1000)
    machine.offer = lambda member, frames: machine.waiting.append(
        joining.encode_control(word, meeting.meeting)
    )
    monkeypatch.setattr(joining, "Sockets", lambda *arguments: machine)
    with pytest.raises(error, match=text):
        joining.ask_again(meeting, "loader 1 was killed")


@pytest.mark.parametrize("secret", [None, bytes(32)])
def test_machine_0_answers_before_it_has_a_launcher_unless_it_hangs(monkeypatch, secret):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.01)
    monkeypatch.setattr(answering, "WORKING_SECONDS", 0.0)
    answers = AnswerThread("tcp://127.0.0.1:*", secret)
    place = answers._sockets.endpoint
    answers._answers = {meeting_number(secret or place.encode(), b""): NotYet()}
    addresses = {"launcher": place, "listen": "tcp://127.0.0.1:*", "secret": secret}
    asking = job_in("unused", nonce=b"old", rejoin=SOON, deadline=SOON, **addresses)
    heard = []
    thread = threading.Thread(target=lambda: heard.append(joining.ask(asking)), daemon=True)
    try:
        thread.start()
        until(lambda: answers.answered > 2, "an answer")
        monkeypatch.setattr(answering, "WORKING_SECONDS", float("inf"))  # it hangs
        until(lambda: not answers._works, "a look")
        before = answers.answered
        answers.close()
        assert answers.answered <= before + 1 and not heard
        launcher = SocketThread(
            2,
            ["", "", place],
            1,
            lambda message: False,
            partners=[],
            secret=secret,
            outside=lambda frames: (
                isinstance(joining.decode_control(frames, asking.meeting), Join)
                and not launcher.reactor.sockets.send_once(
                    joining.decode_control(frames, asking.meeting).address,
                    joining.encode_control(Welcome(b"new"), asking.meeting),
                )
            ),
        )
        launcher.start()
        thread.join(SOON)
        launcher.close(0.0)
    finally:
        answers.close()
    assert heard == [Welcome(b"new")]


def test_nobody_answers_for_workers_of_one_machine_or_at_a_place_that_is_taken(tmp_path):
    first = AnswerThread("tcp://127.0.0.1:*", None)
    for address in (f"ipc://{tmp_path}/launcher", first._sockets.endpoint, ""):
        warned = []
        answers = Answers(address, None, warned.append)
        answers.begin()
        answers.begin(loaded=True)
        assert answers._answering is None
        assert ["Address already in use; if this lasts" in text for text in warned] == (
            [True] if address.startswith("tcp://") else []
        )
        answers.end()
    first.close()
    answers = Answers("tcp://127.0.0.1:*")
    answers.begin()
    assert answers._answering is not None
    answers.end()
    answers.end()


@pytest.mark.parametrize("nonce", [b"one", b"older"])
def test_a_machine_that_leaves_says_so_at_once(tmp_path, machine0, nonce):
    launcher = machine0(job_in(tmp_path, nonce=b"one"))
    leaving = job_in(tmp_path, nonce=nonce, listen=f"ipc://{tmp_path}/command")
    joining.leave(leaving, "machine 1 was ended there")
    if nonce == b"one":
        with pytest.raises(PeerLost, match="machine 1 was ended there"):
            launcher.receive(SOON, "a message")
    else:
        joining.leave(msgspec.structs.replace(leaving, nonce=b"one"), "the right one")
        with pytest.raises(PeerLost, match="the right one"):
            launcher.receive(SOON, "a message")


TOLD = "machine 1 (here) has ended: no such file: r.csv; it is waited for"


def ends_early(place, error):
    """Assert that it ends before it has joined."""
    with pytest.raises(type(error)), joining.telling_machine_0(place):
        raise error


def make_place(launcher, listen, rank=1):
    return SimpleNamespace(rank=rank, launcher=launcher, secret=None, own=lambda: listen)


@pytest.mark.parametrize("complete", [False, True])
def test_machine_0_warns_once_of_a_machine_that_ends_before_it_has_joined(
    tmp_path, machine0, monkeypatch, complete
):
    monkeypatch.setattr(joining, "gethostname", lambda: "here")
    monkeypatch.setattr(joining, "TELLS", 50)
    job = job_in(tmp_path, nonce=b"one")
    launcher = machine0(job, complete=complete)
    place = make_place(job.launcher, f"ipc://{tmp_path}/command")
    ends_early(place, DataError("no such file: r.csv"))
    assert [text.startswith(TOLD) for text in machine0.warned()] == [True]
    for quiet, error in (
        (make_place(job.launcher, place.own(), rank=0), DataError("of machine 0 itself")),
        (None, DataError("of a job on one machine")),
        (place, Refused("machine 0 has said so")),
    ):
        ends_early(quiet, error)
    assert len(machine0.warned()) == 1 and not launcher.reactor.refused


def test_a_machine_that_ends_while_machine_0_reads_its_data_is_told_of_then(monkeypatch):
    monkeypatch.setattr(joining, "gethostname", lambda: "here")
    monkeypatch.setattr(joining, "TELLS", 50)
    with socket.create_server(("127.0.0.1", 0)) as free:
        place = Place(2, 1, "127.0.0.1", free.getsockname()[1], bytes(32))
    warned = []
    answers = Answers(place.launcher, place.secret, warned.append)
    answers.begin()
    ends_early(place, DataError("no such file: r.csv"))
    ends_early(place, KeyboardInterrupt())
    assert not warned
    answers.end()
    assert warned[0].startswith(TOLD)
    assert warned[1].startswith("machine 1 (here) has ended: the user has ended it there; ")
    answers.end()
    assert len(warned) == 2


def test_nobody_waits_long_to_tell_a_machine_0_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.01)
    ends_early(
        make_place(f"ipc://{tmp_path}/nobody", f"ipc://{tmp_path}/command"), DataError("alone")
    )


@pytest.mark.parametrize("complete", [False, True])
def test_a_machine_that_wants_to_load_when_there_are_workers_reads_all(
    tmp_path, machine0, complete
):
    job = job_in(tmp_path, nonce=b"the nonce")
    launcher = machine0(job, complete=complete)
    meeting = Meeting(
        workers=2,
        workers_here=1,
        launcher=job.launcher,
        listen=f"ipc://{tmp_path}/command",
        secret=None,
        traits={},
        deadline=SOON,
    )
    assert meeting.meeting not in (job.meeting, job.number) and meeting.other_meeting == job.meeting
    with pytest.raises(MustReadWhole):
        joining.ask(meeting)
    assert launcher.reactor.refused == 0
