"""Ctrl-C while a name of tux is first used."""

import signal
import sys
import threading

import pytest

import tux
from tux.base import signals

MODULE = """
import signal

for _ in range({times}):
    signal.raise_signal(signal.SIGINT)
late = 7
"""


@pytest.fixture(autouse=True)
def as_in_python():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


@pytest.fixture
def late(monkeypatch, tmp_path):
    """Make `tux.late` a name whose module gets some signals while it is imported. Return a function
    that uses it first.
    """

    def make(times):
        (tmp_path / "late_part.py").write_text(MODULE.format(times=times))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(tux._MODULES, "late", "late_part")
        return lambda: tux.late

    yield make
    sys.modules.pop("late_part", None)
    vars(tux).pop("late", None)


def test_an_import_is_whole_before_the_first_is_handled(late):
    use = late(1)
    with pytest.raises(KeyboardInterrupt):
        use()
    assert sys.modules["late_part"].late == 7 and use() == 7


def test_a_later_one_ends_an_import(late, monkeypatch):
    monkeypatch.setattr(signals, "IMPATIENT", 0.0)
    with pytest.raises(KeyboardInterrupt):
        late(2)()
    assert "late_part" not in sys.modules


def test_an_import_in_another_thread_leaves_signals_alone(late):
    use, found = late(0), []
    thread = threading.Thread(target=lambda: found.append(use()))
    thread.start()
    thread.join(60)
    assert found == [7]
