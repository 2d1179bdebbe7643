"""bench/serving.py: its lines at a tiny size."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TINY = "--items 300 --users 40 --rank 4 --top 5 --clients 2 --seconds 0.2 --lengths 0.5".split()


@pytest.mark.long
def test_its_lines(monkeypatch, capsys):
    for library in ("uvicorn", "httptools"):
        pytest.importorskip(library, reason=f"{library}, of the extra serve, is not installed")
    monkeypatch.syspath_prepend(ROOT)
    serving = importlib.import_module("bench.serving")
    monkeypatch.setattr(serving, "WARM_SECONDS", 0.0)
    serving.main(TINY)
    first, second, third, last = capsys.readouterr().out.splitlines()
    assert first == "300 items, rank 4, the best 5" and second.startswith("search alone ")
    assert third.startswith("2 clients: p50 ") and " answers a second, " in last
