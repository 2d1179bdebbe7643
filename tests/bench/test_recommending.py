"""bench/recommending.py: its table at a tiny size, without implicit and with a stand-in of it."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tux.base import parallel

ROOT = Path(__file__).parents[2]
TINY = "--items 300 --users 20 --rank 4 --top 5 --seen 7 --repeats 1 --threads 1,2".split()


@pytest.fixture
def recommending(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setattr(parallel, "_chosen", [])
    return importlib.import_module("bench.recommending")


class SortingRecommender:
    """Sorts all scores."""

    def __init__(self, factors, num_threads):
        assert factors == 4 and num_threads in (1, 2)

    def recommend(self, users, liked, count):
        scores = self.user_factors @ self.item_factors.T
        scores[liked.toarray() > 0] = -np.inf
        places = np.argsort(-scores, axis=1)[:, :count]
        return places, np.take_along_axis(scores, places, axis=1)


@pytest.mark.slow
def test_without_implicit(recommending, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", None)
    recommending.main(TINY)
    out = capsys.readouterr().out
    assert "implicit is missing" in out and out.count("\n      1 tux ") == 1
    assert out.count("\n      2 tux ") == 1


@pytest.mark.slow
def test_beside_a_stand_in(recommending, monkeypatch, capsys):
    pytest.importorskip("scipy", reason="scipy is not installed")
    library = ModuleType("implicit.cpu.als")
    library.AlternatingLeastSquares = SortingRecommender
    for name in ("implicit", "implicit.cpu"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "implicit.cpu.als", library)
    recommending.main(TINY)
    out = capsys.readouterr().out
    assert out.count(" implicit ") == 2 and out.count("100.00% of the items") == 2
