"""Signals that ask a run to end."""

import signal
import subprocess
import sys

import pytest

from tux.base import signals


@pytest.fixture(autouse=True)
def handle_endings():
    restore = signals.handle_ending()
    yield
    restore()


def test_a_second_signal_at_once_is_the_same_wish():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)  # an impatient user, while the run ends
    assert signals.last_signal() == signal.SIGINT
    with pytest.raises(KeyboardInterrupt):
        signals.check_ending()


def test_a_later_signal_interrupts_again(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(signals, "IMPATIENT", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_signal_during_a_clean_up_is_heard_after_it():
    with signals.note_ending():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signals.check_ending()


def test_a_signal_during_a_clean_up_is_told_where_the_end_is_deferred():
    with signals.defer_ending() as ending, signals.note_ending():
        signal.raise_signal(signal.SIGTERM)
        assert ending.seconds() is not None
    signals.check_ending()


def test_what_was_dropped_is_sent_again():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        signals.resend_signal()
        for _ in range(1000):  # where it is handled
            pass


ENDLESS = """
import os, signal, sys, threading
from numba import njit
from tux.base import endless, signals

endless.GRACE = float(sys.argv[1])

@njit(nogil=True)
def forever(n):
    while n > 0:
        n = n % 7 + 1

forever(0)
signals.handle_ending()
with endless.end_by_signals():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    forever(1) if sys.argv[2] == "compiled" else threading.Event().wait()
"""


@pytest.mark.long
@pytest.mark.parametrize(("grace", "what"), [("0.3", "compiled"), ("60", "python")])
def test_compiled_code_that_does_not_end_is_ended(grace, what):
    done = subprocess.run(
        [sys.executable, "-c", ENDLESS, grace, what], capture_output=True, text=True, timeout=60
    )
    if what == "compiled":
        assert done.returncode == 130 and "a vertex function may loop for ever" in done.stderr
    else:
        assert "KeyboardInterrupt" in done.stderr and "for ever" not in done.stderr


def test_what_asks_the_process_to_end_ends_it_after_the_body():
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as left, signals.pass_on_termination():
            with signals.defer_ending() as ending:
                signal.raise_signal(signal.SIGTERM)
                assert ending.seconds() is not None
            done = True
        assert done and left.value.code == 143
        with signals.pass_on_termination(), signals.defer_ending():
            signal.raise_signal(signal.SIGINT)  # is for the body alone
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_handler_that_was_there_before_gets_the_signal():
    came, before = [], signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        with signals.pass_on_termination(), signals.defer_ending():
            signal.raise_signal(signal.SIGTERM)
            assert came == []
        assert came == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
