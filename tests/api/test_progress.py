"""The choice of the watcher that shows how a run goes on."""

import logging
import sys
from types import ModuleType, SimpleNamespace

import pytest
from support.machines.watchers import RecordingSilent

from tux import UsageError
from tux.api.progress import (
    CLEAR,
    Notebook,
    OneLine,
    ProgressLines,
    WarningsOnly,
    epoch_line,
    watching,
)

RECORD = {"epoch": 3, "clock": 1, "seconds": 1.5, "rmse": 0.87654321, "edges_per_second": 1e6}


def play(progress):
    """Return a short run, told to a watcher."""
    with watching(progress) as watch:
        watch.phase("load")
        watch.share(0.5)
        watch.say("data: 3 users")
        watch.phase("epoch 1")
        for epoch in range(1, 5):
            watch.epoch(RECORD | {"epoch": epoch}, 4)
        watch.phase("tables")
    return watch


def test_an_epoch_in_one_line():
    assert epoch_line(RECORD, 20) == "epoch 3 of 20: rmse 0.87654, 1.50 s"
    assert epoch_line({"epoch": 1, "clock": 1, "seconds": 2.0}, 1) == "epoch 1 of 1: 2.00 s"


def test_plain_lines_without_a_terminal(capsys):
    assert type(play(None)) is ProgressLines
    out, err = capsys.readouterr()
    lines = err.splitlines()
    assert not out and lines[:2] == ["load ...", "data: 3 users"]
    assert lines[-1] == "tables ..." and lines[-2].startswith("epoch 4 of 4: ")
    assert "\r" not in err and "\x1b" not in err


def test_nothing(capsys, caplog):
    with caplog.at_level(logging.WARNING):
        play(False).warn("3 bad rows")
    assert capsys.readouterr() == ("", "") and caplog.messages == ["3 bad rows"]


def test_one_line_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert type(play(True)) is OneLine
    err = capsys.readouterr().err
    assert "\n" not in err and f"{CLEAR}load ..." in err and err.endswith(CLEAR)


def test_a_bar_in_a_notebook(monkeypatch):
    shown = []
    handle = SimpleNamespace(update=lambda each, raw: shown.append(each))
    display = ModuleType("IPython.display")

    def first(each, *, raw, display_id):
        shown.append(each)
        return handle

    display.display = first
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert type(play(None)) is Notebook
    assert shown[0]["text/plain"] == "load ..." and "<progress" in shown[0]["text/html"]
    assert shown[-1]["text/plain"].startswith("epoch 4 of 4: ")
    assert 'value="1.000"' in shown[-1]["text/html"]


def test_a_watcher_of_ones_own():
    mine = RecordingSilent()
    assert play(mine) is mine and mine.lines == ["data: 3 users"] and mine.records[-1] == (4, 4)


def test_what_is_no_watcher():
    with pytest.raises(UsageError, match="progress is 'yes'"), watching("yes"):
        pass


def test_a_quiet_one_is_a_watcher():
    for name in ("phase", "share", "say", "warn", "epoch"):
        assert callable(getattr(WarningsOnly(), name))
