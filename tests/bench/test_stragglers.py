"""bench.stragglers: who is late, and its data."""

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def late(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("bench.late_epochs")


def test_workers_are_late_by_turns(late, monkeypatch):
    slept = []
    monkeypatch.setattr(late.time, "sleep", slept.append)
    for epoch in range(4):
        for rank in range(2):
            worker = SimpleNamespace(rank=rank, workers=2, pass_number=epoch)
            late.LateByTurns(10 * epoch + rank).prepare(worker).run()
    assert slept == [0, 11, 20, 31]


@pytest.mark.parametrize("app", ["pagerank", "als", "lda"])
def test_each_app_has_data(late, app):
    stragglers = importlib.import_module("bench.stragglers")
    assert 0 < len(stragglers.data_of(app, 2000)) <= 2000
