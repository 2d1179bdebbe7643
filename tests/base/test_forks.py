"""Forks: what they make is taken, what fails is done here, and none is left."""

import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Lock
from types import SimpleNamespace

import pytest

from tux.base.forks import Forks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    """Forks are started however little memory is free now."""
    monkeypatch.setattr("tux.base.forks.free", lambda: 1 << 62)


def await_file(path):
    while not path.exists():
        time.sleep(0.001)


def is_running(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_what_a_fork_leaves_in_a_file_is_taken(tmp_path):
    file = tmp_path / "made"
    with Forks(2) as forks:
        fork = forks.start("one", lambda: file.write_text(str(os.getpid())), file.read_text)
        assert forks.get("one") is fork and forks.get("two") is None
        forks.await_all()
    assert int(fork.result()) not in (0, os.getpid())
    file.unlink()
    assert int(fork.result()) > 0  # it is taken once


def test_what_a_fork_fails_to_do_is_done_here(tmp_path):
    def fail():
        raise OSError("no room")

    with Forks(2) as forks:
        assert forks.start("one", fail, lambda: "here").result() == "here"


def test_an_error_of_what_is_done_here_is_raised():
    def fail():
        raise ValueError("it is wrong")

    with pytest.raises(ValueError, match="it is wrong"), Forks(2) as forks:
        forks.start("one", fail, fail)
        forks.await_all()


def test_no_more_are_at_work_than_may_be(tmp_path):
    """Each writes that it is at work, and then that it has ended."""
    notes = tmp_path / "notes"

    def work():
        with notes.open("a") as file:
            print("begin", file=file, flush=True)
            time.sleep(0.01)
            print("end", file=file, flush=True)

    with Forks(2) as forks:
        for number in range(6):
            assert forks.start(str(number), work, int)
        forks.await_all()
    lines = notes.read_text().split()
    assert sorted(lines) == ["begin"] * 6 + ["end"] * 6
    at_work = [lines[:n].count("begin") - lines[:n].count("end") for n in range(13)]
    assert max(at_work) <= 2
    with Forks(1) as forks:
        assert forks.start("a", int, int) is None


def test_none_is_started_where_memory_may_not_suffice(monkeypatch):
    monkeypatch.setattr("tux.base.forks.free", lambda: 1 << 20)
    with Forks(2) as forks:
        assert forks.start("a", int, int) is None


@pytest.fixture
def lock(monkeypatch):
    """A lock that a thread has while processes are forked."""
    lock = Lock()
    with lock:
        yield lock


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when a test says so."""
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr("tux.base.forks.monotonic", lambda: clock.now)
    return clock


def test_what_a_fork_does_not_do_in_time_is_done_here(lock, clock, tmp_path):
    def work():
        write_own_number(tmp_path)
        lock.acquire()

    with Forks(2) as forks:
        forks.start("one", work, lambda: "here")
        await_file(tmp_path / "number")
        clock.now = 1e6
        assert forks.get("one").result() == "here"
    assert not is_running(int((tmp_path / "number").read_text()))


def test_forks_that_take_too_long_make_room(lock, clock):
    with Forks(2) as forks:
        hung = [forks.start(name, lock.acquire, lambda: "here") for name in "ab"]
        clock.now = 1e6
        assert forks.start("c", int, lambda: "made").result() == "made"
        assert [each.is_at_work for each in hung] == [False, False]
        assert [each.result() for each in hung] == ["here", "here"]


def test_none_is_left_behind(tmp_path):
    with Forks(2) as forks:
        forks.start("one", lambda: (write_own_number(tmp_path), time.sleep(3600)), int)
        await_file(tmp_path / "number")
    assert not is_running(int((tmp_path / "number").read_text()))


def write_own_number(folder):
    file = folder / "writing"
    file.write_text(str(os.getpid()))
    file.rename(folder / "number")


def test_a_fork_writes_nothing(capfd):
    with Forks(2) as forks:
        forks.start("one", lambda: (print("said"), os.write(2, b"told")), int)
        forks.await_all()
    assert capfd.readouterr() == ("", "")


ENDED = """
import os, sys, time
from pathlib import Path
import tux.base.forks
from tux.base.forks import Forks

tux.base.forks.free = lambda: 1 << 62

def work():
    file = Path(sys.argv[1], "writing")
    file.write_text(str(os.getpid()))
    file.rename(Path(sys.argv[1], "number"))
    time.sleep(3600)

Forks(2).start("one", work, int)
while not Path(sys.argv[1], "number").exists():
    time.sleep(0.001)
os.kill(os.getpid(), 9)
"""


def test_a_fork_ends_with_the_process_that_was_killed(tmp_path):
    subprocess.run([sys.executable, "-c", ENDED, str(tmp_path)], check=False)
    process = int((tmp_path / "number").read_text())
    while is_running(process):
        time.sleep(0.001)
