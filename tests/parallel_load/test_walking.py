"""Runs of a program that walks, whose loaders are processes: all that they leave is that of a run
that loads whole.
"""

import os
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
from support.machines.loads_all import TOGETHER
from support.machines.run_folders import drop_times, model
from support.machines.watchers import RecordingSilent

from faults.running import Running
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.inputs import serial_reason
from tux.options.options import RunOptions
from tux.run_folder.folder import read_metrics, read_run
from tux.runs.session import run

SMALL = {"dimensions": 4, "num_walks": 1, "walk_length": 5, "window": 2, "hold": 0.2}
SMALL["weighted"] = True
WRAP = [sys.executable, str(Path(__file__).parents[1] / "support" / "machines" / "loads_all.py")]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ends = np.random.default_rng(3).integers(0, 20, (90, 2))
    rows = (f"{u},{v},{1 + (u + v) % 3}\n" for u, v in ends)
    Path("links.csv").write_text("".join(rows))
    return tmp_path


def walk(out):
    """Train two workers of this machine; return what was told."""
    told = RecordingSilent()
    options = RunOptions(workers=2, jit=False, threads=1, out=out)
    run(DeepWalk(**SMALL), os.path.abspath("links.csv"), None, options, told)
    return told


def is_the_same(out):
    assert model(out) == model("whole")
    assert drop_times(read_metrics(out)) == drop_times(read_metrics("whole"))
    one, other = read_run(out), read_run("whole")
    assert (one.data, one.test, one.sizes) == (other.data, other.test, other.sizes)
    return one, other


@pytest.mark.slow
def test_two_workers(here, monkeypatch):
    walk("whole")
    monkeypatch.setattr(serial_reason, "SMALL", 0)
    told = walk("shares")
    assert any(name.startswith("load: 2 processes") for name in told.phases)
    results = drop_times([each.results for each in is_the_same("shares")])
    assert results[0] == results[1] and results[0]["link_auc"] > 0


@pytest.mark.long
def test_two_machines(here):
    walk("whole")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items()]
    what = ["deepwalk", here / "links.csv", *words[:-1], "--weighted"]
    Path("key").write_bytes(bytes(range(32)))
    what += ["--no-jit", "--threads", 1, "--nnodes", 2, "--rdzv", address, "--key-file"]
    machines = []
    for rank in (0, 1):
        Path(f"machine-{rank}").mkdir()
        given = [*what, here / "key", "--node-rank", rank, *(["--out", here / "out"] * (not rank))]
        machines.append(Running(here / f"machine-{rank}", "run", *given, wrap=WRAP))
    for each in machines:
        assert each.wait(240.0) == 0, each.output()
        assert TOGETHER in "".join(each.output())
        each.__exit__()
    is_the_same("out")
