"""bench/walking.py: its table on a tiny graph, with gensim and without it."""

import importlib
import sys
from pathlib import Path

import pytest
from support.programs.programs import random_pairs

ROOT = Path(__file__).parents[2]


@pytest.fixture
def walking(monkeypatch, home, tmp_path):
    """Return the module bench.walking, with a graph of 40 vertices, half of them labelled."""
    monkeypatch.syspath_prepend(ROOT)
    found = importlib.import_module("bench.walking")
    (tmp_path / "graph.txt").write_text(
        "".join(f"{a} {b}\n" for a, b in zip(*random_pairs(40, 40, 90, seed=3), strict=True))
    )
    (tmp_path / "labels.txt").write_text("".join(f"{v} {v % 2}\n" for v in range(40)))
    tiny = {"tiny": ("graph.txt", "labels.txt"), "absent": ("none.txt", "labels.txt")}
    monkeypatch.setattr(found, "SETS", tiny)
    monkeypatch.setattr(found, "DIMENSIONS", 8)
    return found


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("installed", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_table(walking, installed, capsys, monkeypatch, tmp_path):
    if not installed:
        monkeypatch.setitem(sys.modules, "gensim.models", None)
    walking.main(["--data", str(tmp_path), "--repeats", "1"])
    told = capsys.readouterr().out
    systems = ["tux", "gensim"] if installed else ["tux"]
    rows = [line.split() for line in told.splitlines() if line.startswith("tiny")]
    assert [(row[1], row[2]) for row in rows] == [(s, t) for s in systems for t in "12"]
    assert all(0 < float(row[5]) < 1 for row in rows) and rows[0][4] == "1.00"
    assert "absent: no none.txt in" in told
    assert ("gensim is missing: pip install -e '.[bench]'" in told) == (not installed)
