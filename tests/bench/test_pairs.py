"""bench/pairs.py: its table at a tiny size, without the peers, and its precision."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

from tux.arrays.edges import EdgeData
from tux.inputs.load import Inputs

ROOT = Path(__file__).parents[2]
TINY = "--rank 2 --epochs 2 --repeats 1 --threads 1 --data".split()


@pytest.fixture
def pairs(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("bench.pairs")


@pytest.mark.slow
def test_without_peers(pairs, monkeypatch, capsys, tmp_path):
    for name in ("implicit.cpu.bpr", "lightfm"):
        monkeypatch.setitem(sys.modules, name, None)
    rows = [f"{u}::{i}::{1 + (u * i) % 5}\n" for u in range(1, 21) for i in range(1, 16)]
    parts = {pairs.TRAIN: rows[::2], pairs.TEST: rows[1::2]}
    for name, some in parts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(some))
    pairs.main([*TINY, str(tmp_path)])
    out = capsys.readouterr().out
    assert "implicit is missing" in out and "lightfm is missing" in out
    assert out.count("\nbpr   tux ") == out.count("\nwarp  tux ") == 1


def test_precision(pairs):
    ends = ("user", "item")
    train = EdgeData.of(ends, [0, 1], [0, 1], {}, vertices={"item": range(30)})
    test = EdgeData.of(ends, [0, 0, 0, 1], [1, 2, 29, 0], {}, against=train.ids)
    users, items = np.ones((2, 1), "f4"), -np.arange(30.0, dtype="f4")[:, None]
    # of user 0 the best 10 are 1..10, two of them held out; of user 1 they are 0, 2..10, and one is
    found = pairs.precision(Inputs(train, test), pairs.Ranked(0.0, users, items))
    assert found == pytest.approx((2 / 10 + 1 / 10) / 2)
