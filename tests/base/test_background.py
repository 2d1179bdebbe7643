"""Work on a thread: one at a time, and its outcome told once; Ctrl-C and errors leave it usable."""

import _thread
import subprocess
import sys
import threading
import time

import pytest

from tux.base.background import Background, Outcome
from tux.base.errors import DiskError, TuxError

LONG = 60.0  # seconds; only guards against a hang


def wait_for_outcome(background):
    """Wait until there is an outcome, and return it."""
    assert background.wait(time.monotonic() + LONG)
    return background.poll()


def test_the_outcome_is_told_once():
    background = Background()
    assert background.poll() is None and background.wait(0.0)
    assert background.start(lambda: 3)
    assert wait_for_outcome(background) == Outcome(3, None)
    assert background.poll() is None


def test_one_at_a_time():
    background, go = Background(), threading.Event()
    assert background.start(lambda: go.wait(LONG))
    assert background.is_busy() and background.poll() is None
    assert not background.start(lambda: 5)
    assert not background.wait(time.monotonic() - 1)
    go.set()
    assert wait_for_outcome(background) == Outcome(True, None)
    assert background.start(lambda: 6) and wait_for_outcome(background) == Outcome(6, None)


def test_work_that_is_done_makes_room_though_nobody_asked():
    background = Background()
    assert background.start(lambda: 1) and background.wait(time.monotonic() + LONG)
    assert background.start(lambda: 2)
    assert wait_for_outcome(background) == Outcome(2, None)


def fail(error):
    raise error


def test_a_full_disk_is_an_outcome():
    background, error = Background(), DiskError("full")
    assert background.start(lambda: fail(error))
    assert wait_for_outcome(background) == Outcome(None, error)
    assert background.start(lambda: 1) and wait_for_outcome(background) == Outcome(1, None)


@pytest.mark.parametrize("error", [ValueError("a fault"), KeyboardInterrupt()], ids=repr)
def test_other_errors_are_raised_where_the_outcome_is_asked_for(error):
    background = Background()
    assert background.start(lambda: fail(error))
    with pytest.raises(type(error)):
        wait_for_outcome(background)
    assert background.start(lambda: 1) and wait_for_outcome(background) == Outcome(1, None)


def test_other_errors_are_raised_before_new_work_begins():
    background = Background()
    assert background.start(lambda: fail(ValueError("a fault")))
    assert background.wait(time.monotonic() + LONG)
    with pytest.raises(ValueError, match="a fault"):
        background.start(lambda: 1)
    assert background.start(lambda: 2) and wait_for_outcome(background) == Outcome(2, None)


@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupted_start_leaves_it_usable(monkeypatch, begun):
    """Ctrl-C comes before the thread is there, or just after."""
    start, here, done = _thread.start_new_thread, threading.Event(), []

    def work():
        done.append(1)
        here.set()

    def interrupt_start(work, given):
        if begun:
            start(work, given)
            assert here.wait(LONG)
        raise KeyboardInterrupt

    background = Background()
    with monkeypatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", interrupt_start)
        with pytest.raises(KeyboardInterrupt):
            background.start(work)
    assert wait_for_outcome(background) == (Outcome(None, None) if begun else None)
    assert done == [1] * begun
    assert background.start(lambda: 2) and wait_for_outcome(background) == Outcome(2, None)


def test_a_thread_that_comes_late_does_nothing(monkeypatch):
    """Its start was interrupted, and the work was given up in between."""
    late, done = [], []

    def interrupt_start(work, _):
        late.append(work)
        raise KeyboardInterrupt

    background = Background()
    with monkeypatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", interrupt_start)
        with pytest.raises(KeyboardInterrupt):
            background.start(lambda: done.append(1))
    assert not background.is_busy() and not background.is_busy()
    late[0]()
    assert done == [] and background.poll() is None


INTERRUPTED = """
import signal, sys, threading, time
from tux.base.background import Background
running, went, told, interrupts = [], 0, 0, 0
def interrupt(*_):
    raise KeyboardInterrupt
def work():
    running.append(1)
    time.sleep(1e-4)
    assert len(running) == 1
    running.pop()
    return 7
signal.signal(signal.SIGALRM, interrupt)
sys.unraisablehook = lambda _: None  # Python drops an interrupt in a destructor
background = Background()
for number in range(1000):
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-5 + number * 1e-6)
        for _ in range(10):
            went += background.start(work)
            background.wait(time.monotonic() + 60)
            outcome = background.poll()
            assert outcome is None or outcome == (7, None)
            told += outcome is not None
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        interrupts += 1
assert background.wait(time.monotonic() + 60) and background.poll() in (None, (7, None))
assert background.start(lambda: 8) and background.wait(time.monotonic() + 60)
assert background.poll() == (8, None) and went > 0 and told > 0 and interrupts > 0
"""


def test_it_may_be_interrupted_anywhere():
    """Up to 1,000 times; never are two pieces of work under way, and none hangs."""
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=LONG
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_an_interrupted_wait_leaves_the_work(monkeypatch):
    background, go = Background(), threading.Event()
    background.start(lambda: go.wait(LONG))
    with monkeypatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: fail(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            background.wait(LONG)
    assert background.is_busy()
    go.set()
    assert wait_for_outcome(background) == Outcome(True, None)


def test_a_system_without_threads_is_told(monkeypatch):
    background = Background()
    with monkeypatch.context() as patch:
        patch.setattr(_thread, "start_new_thread", lambda *_: fail(RuntimeError("no more")))
        with pytest.raises(TuxError, match="no more"):
            background.start(lambda: 1)
    assert background.start(lambda: 1) and wait_for_outcome(background) == Outcome(1, None)


AT_EXIT = """
import sys, time
from tux.base.background import Background
def work():
    time.sleep(0.2)
    sys.stdout.write("whole")
Background().start(work)
"""


def test_the_interpreter_waits_for_work():
    ran = subprocess.run(
        [sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=LONG
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "whole", "")
