"""Restarts of lost workers, and the states from which they start: without processes."""

import signal
from contextlib import nullcontext

import pytest
from support.machines.members import job_in

from tux.base.errors import (
    DataError,
    DeadlinePassed,
    DiskError,
    Interrupted,
    PeerLost,
    ProgramError,
    Refused,
    TuxError,
    UsageError,
)
from tux.base.signals import defer_ending, handle_ending
from tux.checkpoint.saved import SavedState
from tux.checkpoint.shard import Digest
from tux.cluster.job import job_folder
from tux.cluster.job.job import Job
from tux.cluster.recovery.incarnations import Incarnations
from tux.cluster.recovery.restarts import Restarts, Start
from tux.cluster.rendezvous.attendance import MachineLeft, NotJoined

LOST = PeerLost("worker 1 was killed")


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (LOST, True),
        (DeadlinePassed("waited 600 s for epoch 3"), True),
        (NotJoined("waited 600 s for machine 1"), False),
        (MachineLeft("machine 1 was ended there by the user"), False),
        (DataError("user 3: f became nan"), False),
        (ProgramError("division by zero"), False),
        (UsageError("no such flag"), False),
        (DiskError("no space"), False),
        (Refused("another version"), False),
        (TuxError("a fault of tux"), False),
    ],
)
def test_only_a_lost_worker_is_started_again(error, retried):
    assert Restarts(3).allow_restart(error, 0) == retried


def test_a_new_checkpoint_refills_the_allowance():
    restarts = Restarts(2, begun=3)
    assert [restarts.allow_restart(LOST, 3) for _ in range(3)] == [True, True, False]
    assert restarts.allow_restart(LOST, 4) and str(restarts) == "restart 1 of 2"
    restarts.note_start(4)
    assert restarts.allow_restart(LOST, 4) and not restarts.allow_restart(LOST, 4)
    assert restarts.allow_restart(LOST, 5) and restarts.allow_restart(LOST, 5)
    restarts.note_start(6)  # it became whole while the workers ended
    assert str(restarts) == "restart 1 of 2"
    assert restarts.allow_restart(LOST, 7)
    restarts.note_start(6)  # 7 was damaged
    assert restarts.allow_restart(LOST, 6) and not restarts.allow_restart(LOST, 6)
    assert not Restarts(0).allow_restart(LOST, 7)


def test_a_start_in_words():
    assert str(Start()) == "the beginning"
    assert str(Start(4, 12)) == "checkpoint 4, the end of epoch 12"
    assert str(Start(4, 12, 7)) == "checkpoint 4, clock 7 of epoch 13"


class Launching:
    """A launcher whose incarnation does what a test says: at the start an error or nothing, then
    records, and an error or nothing.
    """

    seconds, best_epoch, ended_early, has_model = 1.0, 0, False, True

    def __init__(self, job, log, start=None, records=(), end=None):
        self.job, self.log, self.script, self.ended = job, log, (start, records, end), None
        self.socket_thread = self

    def start(self):
        if self.script[0]:
            raise self.script[0]

    def end_when(self, asked, tell):
        self.log.append("end_when")

    def give_model_to(self, take):
        self.log.append("give_model_to")

    def epochs(self, most, **how):
        yield from self.script[1]
        if self.script[2]:
            raise self.script[2]

    def close(self, why="", *, again=False, interrupted=False, patience=2.0):
        if self.ended is None:
            self.ended = why, again
            self.log.append(self.ended)

    def wait_for_disk(self):
        return True

    def wait_until_closed(self, seconds):
        return True


class ScriptedCheckpoints:
    """The checkpoints of a run: `starts` are found, one after the other."""

    def __init__(self, log, *starts, latest=0):
        self.log, self.starts, self.number = log, [*starts], latest

    def latest(self):
        return self.number

    def newest(self):
        return self.starts.pop(0)

    def go_on(self, start, why, count):
        self.log.append((start.checkpoint, why, count))


@pytest.fixture
def begin(tmp_path):
    """Return a function that makes a job whose incarnations are scripted: ``begin(restarts, points,
    *scripts)``. The launchers made so far are in ``begin.made``.
    """
    folder = tmp_path / "job"

    def start(restarts, recovery, *scripts):
        folder.mkdir()
        scripts, start.made = iter(scripts), []

        def launch(job):
            start.made.append(Launching(job, start.log, *next(scripts)))
            return start.made[-1]

        job = job_in(folder, restarts=restarts, graph=str(tmp_path))
        return Incarnations(job, folder, launch, recovery)

    start.log, start.made = [], []
    yield start
    assert not folder.exists()


def test_workers_go_on_from_the_newest_checkpoint_under_a_nonce_of_their_own(begin):
    state = SavedState("file", Digest(1, "x"))
    points = ScriptedCheckpoints(begin.log, Start(2, 1, 0, [state] * 2), Start())
    with begin(2, points, (None, [1, 2], LOST), (LOST,), (None, [1, 2, 3])) as training:
        training.end_when(lambda: None, lambda: None)
        training.give_model_to(lambda model: None)
        assert [*training.epochs(3)] == [1, 2, 1, 2, 3]
        jobs = [launcher.job for launcher in begin.made]
        assert len({job.nonce for job in jobs}) == len({job.number for job in jobs}) == 3
        assert len({job.launcher for job in jobs}) == len({job.listen for job in jobs}) == 3
        assert [job.resume for job in jobs] == [[], [state] * 2, []]
        assert Job.read(training._folder).nonce == jobs[2].nonce
    gone = (LOST.what, True)
    assert begin.log == [
        "end_when",
        "give_model_to",
        gone,
        (2, LOST.what, "restart 1 of 2"),
        "give_model_to",
        "end_when",
        gone,
        (0, LOST.what, "restart 2 of 2"),
        "give_model_to",
        "end_when",
        ("", False),
    ]


def test_the_last_restart_is_told_and_other_machines_then_end(begin):
    lost = PeerLost("worker 0 was killed", do="look")
    with (
        pytest.raises(PeerLost) as caught,
        begin(
            1, ScriptedCheckpoints(begin.log, Start()), (None, [1], LOST), (None, [1], lost)
        ) as training,
    ):
        list(training.epochs(3))
    assert (
        caught.value.what == "worker 0 was killed; the 1 restart of --restarts is used up"
        and caught.value.do == "look"
    )
    assert begin.log[-1] == (caught.value.what, False)


def test_a_checkpoint_of_other_workers_is_no_start(begin):
    """It is from before `--resume --workers N`, and the newer ones are damaged."""
    states = [SavedState("file", Digest(1, "x"))] * 4
    with (
        pytest.raises(PeerLost, match="killed; the newest checkpoint that is whole, 2, is of 4 wo"),
        begin(
            3,
            ScriptedCheckpoints(begin.log, Start(2, 1, 0, states)),
            (None, [1], PeerLost("worker 1 was killed")),
        ) as training,
    ):
        list(training.epochs(3))
    assert len(begin.made) == 1


def test_a_checkpoint_that_cannot_be_read_ends_the_run_and_both_causes_are_told(begin):
    class Unreadable(ScriptedCheckpoints):
        def newest(self):
            raise DiskError("a.shard cannot be read", where="/out/a.shard", do="see to the cause")

    with pytest.raises(DiskError) as caught:
        with begin(3, Unreadable(begin.log), (None, [1], LOST)) as training:
            list(training.epochs(3))
    assert caught.value.what == (
        "worker 1 was killed, and all cannot be started again: a.shard cannot be read"
    )
    assert (caught.value.where, caught.value.do) == ("/out/a.shard", "see to the cause")
    assert len(begin.made) == 1


@pytest.mark.parametrize("error", [ProgramError("1 / 0"), NotJoined("machine 1")])
def test_what_would_come_again_is_not_retried(begin, error):
    with (
        pytest.raises(type(error)) as caught,
        begin(3, ScriptedCheckpoints(begin.log), (None, [1], error)) as training,
    ):
        list(training.epochs(3))
    assert caught.value is error and begin.log == [(error.what, False)]


def test_a_job_without_restarts_says_nothing_of_them(begin):
    with (
        pytest.raises(PeerLost, match=r"worker 1 was killed$"),
        begin(
            0, ScriptedCheckpoints(begin.log), (None, [1], PeerLost("worker 1 was killed"))
        ) as training,
    ):
        list(training.epochs(3))


def test_whoever_has_asked_to_end_is_not_made_to_wait(begin):
    with (
        pytest.raises(PeerLost, match=r"worker 1 was killed$"),
        begin(
            3, ScriptedCheckpoints(begin.log), (None, [1], PeerLost("worker 1 was killed"))
        ) as training,
    ):
        training.end_when(lambda: 0.1, lambda: None)
        list(training.epochs(3))


def test_ctrl_c_ends_a_restart(begin):
    """While a checkpoint is looked for: the new workers are not started."""

    class Interrupted(ScriptedCheckpoints):
        def newest(self):
            signal.raise_signal(signal.SIGINT)
            return Start()

    restore = handle_ending()
    try:
        with pytest.raises(KeyboardInterrupt):
            with begin(3, Interrupted(begin.log), (None, [1], LOST)) as training:
                list(training.epochs(3))
    finally:
        restore()
    assert begin.log == [(LOST.what, True)] and len(begin.made) == 1


def test_a_noted_ctrl_c_ends_a_restart(begin):
    """As in a run with a folder, where the first one is only noted."""

    class Interrupted(ScriptedCheckpoints):
        def newest(self):
            signal.raise_signal(signal.SIGINT)
            return Start()

    with defer_ending() as asked, pytest.raises(KeyboardInterrupt):
        with begin(3, Interrupted(begin.log), (None, [1], LOST)) as training:
            training.end_when(asked.seconds)
            list(training.epochs(3))
    assert len(begin.made) == 1


def test_a_job_that_is_over_removes_its_folder(tmp_path, begin):
    folder, parts = job_folder.make(None)
    job_folder.remove(folder)
    assert not parts.exists()
    with begin(0, None, (None, [1])) as training:
        assert [*training.epochs(1)] == [1]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), Interrupted("after 2 epochs"), None])
def test_the_workers_hear_whether_the_user_has_ended_the_job(begin, monkeypatch, error):
    """So that the commands of other machines end with the same code."""
    told = []
    close = Launching.close

    def note_close(self, why="", *, interrupted=False, **how):
        told.append(interrupted)
        close(self, why, **how)

    monkeypatch.setattr(Launching, "close", note_close)
    caught = pytest.raises(type(error)) if error else nullcontext()
    with caught, begin(2, ScriptedCheckpoints(begin.log, Start()), (None, [1], None)):
        if error:
            raise error
    assert told[0] == (error is not None)
