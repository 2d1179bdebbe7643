"""A run that is interrupted, paused or hung up from outside: it ends or goes on as any program
under a shell.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from queue import Empty
from types import SimpleNamespace

import pytest

from faults.running import Running
from tux.base.errors import DeadlinePassed
from tux.base.processes import is_stopped
from tux.base.signals import check_ending, handle_ending, ignore_ending, last_signal
from tux.cluster.job.launcher import Launcher
from tux.cluster.job.local_workers import LocalWorkers
from tux.cluster.transport import heartbeat, reactor
from tux.cluster.transport.socket_thread import SocketThread

HARD = 60.0  # seconds after which a command counts as hung
ENDLESS = ["--epochs", 1_000_000, "--rank", 4, "--eval-every", 20, "--out", "out"]


def epochs(running):
    """Return the epochs that a run has written."""
    path = running.folder / "out" / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def at_work(running, more=3):
    """Wait until a run has written some more epochs."""
    before = epochs(running)
    assert running.until(lambda: epochs(running) >= before + more, HARD), running.output()


@pytest.fixture
def start(tmp_path):
    """Start ``tux run mf`` on generated data, without end."""
    running = []

    def begin(*argv):
        folder = tmp_path / str(len(running))
        folder.mkdir()
        running.append(Running(folder, "run", "mf", *ENDLESS, *argv))
        return running[-1]

    yield begin
    for each in running:
        each.__exit__()


# ---- signals that ask to end


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "workers"),
    [
        (signal.SIGTERM, 2),
        (signal.SIGHUP, 1),
        pytest.param(signal.SIGTERM, 1, marks=pytest.mark.long),
        pytest.param(signal.SIGHUP, 2, marks=pytest.mark.long),
    ],
)
def test_a_signal_ends_a_run_as_an_interrupt_does(start, number, workers):
    running = start("--workers", workers)
    at_work(running)
    os.kill(running.process.pid, number)
    assert running.wait(HARD) == 130
    err = running.output()[1]
    assert (
        err.startswith("error: interrupted after ")
        and "Traceback" not in err
        and err.count("error") == 1
    )
    assert running.until(lambda: not running.leftovers()), running.leftovers()


def test_what_was_ignored_before_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        restore = handle_ending()
        os.kill(os.getpid(), signal.SIGHUP)
        assert last_signal() is None
        restore()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_nested_and_put_back(monkeypatch):
    monkeypatch.setattr("tux.base.signals.IMPATIENT", 0.0)
    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    outer, inner = handle_ending(), handle_ending()
    for again in (inner, outer):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        assert last_signal() == signal.SIGTERM
        with pytest.raises(KeyboardInterrupt):
            check_ending()
        with ignore_ending():
            signal.raise_signal(signal.SIGINT)
        again()
    assert {number: signal.getsignal(number) for number in before} == before
    check_ending()  # what comes later in this process was not asked to end


class StubbornProcess:
    """A worker process that ends only when it is killed, and then not at once."""

    def __init__(self, log, rank):
        self.log, self.rank, self.killed = log, rank, False

    def kill(self):
        self.killed = True
        self.log.append(("kill", self.rank))

    def wait(self, timeout=None):
        if not self.killed:
            raise subprocess.TimeoutExpired("worker", timeout)
        self.log.append(("gone", self.rank))


def test_workers_that_cannot_leave_by_themselves_are_killed_at_once(tmp_path):
    """None is waited for while others still take the processor from it."""
    log, workers = [], LocalWorkers(None, tmp_path / "job", range(3))
    workers.processes = {rank: StubbornProcess(log, rank) for rank in range(3)}
    workers.end(leaving=[1], patience=0.0)
    assert log[:2] == [("kill", 0), ("kill", 2)]
    assert log.index(("kill", 1)) < log.index(("gone", 1))
    log.clear()
    workers.end(patience=0.0)
    assert sorted(log[:3]) == [("gone", 0), ("gone", 1), ("gone", 2)]


def test_ctrl_c_while_workers_are_ended_to_be_started_again_is_heard(tmp_path):
    log, workers = [], LocalWorkers(None, tmp_path / "job", range(1))

    class Slow(StubbornProcess):
        def kill(self):
            super().kill()
            signal.raise_signal(signal.SIGINT)

    workers.processes = {0: Slow(log, 0)}
    closing = SimpleNamespace(
        _over=False,
        _checkpointing=None,
        _pausing=ExitStack(),
        job=SimpleNamespace(workers=0),
        here=workers,
        socket_thread=SimpleNamespace(close=log.append),
    )
    restore = handle_ending()
    try:
        Launcher.close(closing, again=True, patience=0.0)
        with pytest.raises(KeyboardInterrupt):
            check_ending()
    finally:
        restore()
    assert log[-1] == 0  # all was closed


# ---- pauses


@pytest.mark.long
def test_ctrl_z_pauses_all_processes_and_fg_goes_on(start):
    """Longer than any silence that is put up with."""
    running = start("--workers", 2)
    at_work(running)
    processes = [running.process.pid, *running.workers().values()]
    os.kill(running.process.pid, signal.SIGTSTP)
    assert running.until(lambda: all(map(is_stopped, processes)), HARD)
    before = epochs(running)
    time.sleep(heartbeat.SILENCE + 4)
    assert epochs(running) == before and running.process.poll() is None
    os.killpg(running.process.pid, signal.SIGCONT)
    at_work(running)
    assert [running.process.pid, *running.workers().values()] == processes
    os.kill(running.process.pid, signal.SIGTERM)
    assert running.wait(HARD) == 130, running.output()


@pytest.mark.long
def test_workers_wait_for_a_launcher_that_is_stopped(start):
    running = start("--workers", 2)
    at_work(running)
    workers = running.workers()
    os.kill(running.process.pid, signal.SIGSTOP)
    time.sleep(heartbeat.SILENCE + 4)
    assert running.workers() == workers
    os.kill(running.process.pid, signal.SIGCONT)
    at_work(running)
    os.kill(running.process.pid, signal.SIGTERM)
    assert running.wait(HARD) == 130, running.output()


def test_where_no_shell_could_continue_it_nothing_is_stopped():
    """In a process group without a parent in its session, the system ignores what Ctrl-Z sends."""
    code = """if True:
        import os, signal
        from tux.base.signals import handle_pause
        with handle_pause(lambda: print("pause"), lambda: print("resume")):
            os.kill(os.getpid(), signal.SIGTSTP)
        print("end")"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=HARD,
    )
    assert done.stdout.split() == ["pause", "resume", "end"], done.stderr


def test_time_in_which_a_member_did_not_listen_is_not_the_others_silence(tmp_path, monkeypatch):
    """As if the process had been stopped in between: the clock went on, the thread did not."""
    now = [1000.0]
    monkeypatch.setattr(reactor.time, "monotonic", lambda: now[0])
    addresses = [f"ipc://{tmp_path}/{number}" for number in range(2)]
    member = SocketThread(0, addresses, 7, lambda message: False, partners=[1], largest=1 << 16)
    member.reactor.sockets.dealers._by_member[1] = type(
        "Nobody", (), {"send": lambda *_, **__: None, "close": lambda *_: None}
    )()
    try:
        member.reactor._probe()
        member.reactor.heartbeat.heard[1] = now[0]
        now[0] += heartbeat.SILENCE + 100
        member.reactor._probe()
        assert member.inbox.empty()
        for _ in range(int(heartbeat.SILENCE) + 2):  # and now it does listen
            now[0] += 1
            member.reactor._probe()
        assert "has been silent" in str(member.inbox.get_nowait())
    finally:
        member.close(0)


def test_a_silence_that_has_a_reason_is_no_loss(tmp_path, monkeypatch):
    monkeypatch.setattr(heartbeat, "SILENCE", -1.0)
    monkeypatch.setattr(heartbeat, "HEARTBEAT", 0.0)
    for excused in (True, False):
        member = SocketThread(
            0,
            [f"ipc://{tmp_path}/{excused}", ""],
            7,
            lambda message: False,
            partners=[1],
            largest=1 << 16,
            excused=lambda member, seconds, excused=excused: excused,
        )
        member.reactor.heartbeat.heard[1] = time.monotonic()
        member.reactor._probe()
        assert member.inbox.empty() == excused
        member.close(0)


def test_a_deadline_counts_the_waiting_not_the_clock(tmp_path, monkeypatch):
    """Of a process that was stopped for an hour in the midst of a wait, a wait of 3 s still has
    2 s left.
    """
    member = SocketThread(
        0, [f"ipc://{tmp_path}/0"], 7, lambda message: False, partners=[], largest=1 << 16
    )
    waits = []

    def get(timeout):
        waits.append(timeout)
        raise Empty

    monkeypatch.setattr(member, "inbox", SimpleNamespace(get=get))
    with pytest.raises(DeadlinePassed, match="waited 3 s for a message"):
        member.receive(3, "a message")
    assert waits == [1.0, 1.0, 1.0]
    member.close(0)
