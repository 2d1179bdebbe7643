"""bench/ratings.py: the error that it computes for LIBMF, and its table on tiny ratings, without
LIBMF and with a stand-in of it.
"""

import ctypes
import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ratings(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("bench.ratings")


@pytest.fixture
def folder(ratings, tmp_path):
    rng = np.random.default_rng(0)
    for name in (ratings.TRAIN, ratings.TEST):
        path = (tmp_path / name).with_suffix("")
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{rng.integers(9)}::{rng.integers(7)}::{rng.integers(1, 6)}" for _ in range(60)]
        path.write_text("\n".join(lines))
        path.rename(tmp_path / name)  # a format is recognised by what a file holds
    return tmp_path


def test_error_of_factors(ratings):
    users, items = np.array([[1.0, 2.0]]), np.array([[3.0, 0.5], [np.nan, np.nan]])
    test = np.array([[0, 0, 5.0], [0, 1, 2.0], [7, 0, 4.0]])  # 4; never rated; an unknown user
    assert ratings.rmse(users, items, test, 3.0) == pytest.approx(1.0)


def test_what_is_missing_is_said(ratings, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "libmf", None)
    ratings.main(["--data", str(tmp_path)])
    said = capsys.readouterr().out
    assert "libmf is missing" in said and f"no {ratings.TRAIN}" in said


class StandIn:
    """Has the model at once."""

    def __init__(self, **options):
        self.rank = options["k"]

    def fit(self, table):
        assert table.shape[1] == 3 and table.dtype == np.float32
        ones = np.full((20, self.rank), 1.0, np.float32)
        at = np.ctypeslib.as_ctypes(ones.reshape(-1))
        pointer = ctypes.cast(at, ctypes.POINTER(ctypes.c_float))
        self.kept = ones
        self.model = SimpleNamespace(P=pointer, Q=pointer, m=20, n=20, k=self.rank)


def test_table(ratings, folder, capsys, monkeypatch):
    monkeypatch.setattr(ratings, "libmf", lambda: SimpleNamespace(MF=StandIn))
    arguments = ["--threads", "1", "--repeats", "1", "--rank", "2", "--target", "9"]
    ratings.main(["--data", str(folder), *arguments])
    *_, ours, theirs = capsys.readouterr().out.splitlines()
    assert ours.split()[:2] == ["1", "tux"] and ours.split()[-1] == "1.00"
    assert theirs.split()[:2] == ["1", "libmf"] and theirs.split()[3] == str(ratings.FIRST)
