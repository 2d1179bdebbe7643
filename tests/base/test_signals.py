"""Signals that ask a run to end."""

import signal

import pytest

from tux.base import signals


@pytest.fixture(autouse=True)
def handled():
    restore = signals.handle_ending()
    yield
    restore()


def test_a_second_signal_at_once_is_the_same_wish():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGINT)  # an impatient user, while the run ends
    assert signals.received() == signal.SIGINT
    with pytest.raises(KeyboardInterrupt):
        signals.check_ending()


def test_a_later_signal_interrupts_again(monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(signals, "IMPATIENT", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_what_was_dropped_is_sent_again():
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        signals.send_again()
        for _ in range(1000):  # where it is handled
            pass
