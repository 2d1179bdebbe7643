"""Threads of a run: what is said of them, and that the model does not depend on them."""

import json
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest
from support.machines.watchers import RecordingSilent

from faults.running import Running, without_warnings
from tux import Context, Edge, Program, Vertex, shared, total
from tux.apps.blockpg import BlockPG
from tux.apps.bpr import BPR
from tux.apps.mf import MF
from tux.options.options import RunOptions, RunPlan
from tux.options.watcher import Phases
from tux.runs.begin import tell_few_compared, tell_serial
from tux.runs.context import RunContext
from tux.runs.session import run
from tux.stages import Exchange, ForEach, GlobalSync, MiniBatch

HARD = 300.0  # seconds after which a command counts as hung


def pull(src, dst, tau):
    src.x += dst.x
    tau.n += 1


def push(dst):
    dst.x += 1


def nothing(tau):
    pass


class Pulls(Program):
    page = Vertex(x=shared("f4"))
    link = Edge("page", "page")
    tau = Context(n=total())

    def stages(self):
        return [
            Exchange(pull),
            Exchange(pull),
            Exchange(push),
            MiniBatch(ForEach("dst", push, once=True), vertices=9),
            GlobalSync(nothing),
        ]


def thread_lines(**options):
    """Return the lines of a run that are about threads."""
    watch = RecordingSilent()
    run(Pulls(), options=RunOptions(epochs=0, **options), watch=watch)
    return [line for line in watch.lines if "thread" in line]


@pytest.mark.slow
def test_stages_on_one_thread_are_told_once():
    place = f"test_threads.py:{pull.__code__.co_firstlineno + 1}"
    assert thread_lines(threads=2) == [
        f"Exchange(pull) runs on one thread: `pull` ({place}) changes src.x, which is read or "
        "changed by way of dst",
        "MiniBatch(ForEach(dst, push)) runs on one thread: blocks run one after the other",
    ]
    assert thread_lines(threads=1) == thread_lines(threads=2, jit=False) == []


@pytest.mark.long
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 2])
def test_the_model_does_not_depend_on_threads(tmp_path, workers):
    rng = np.random.default_rng(3)
    users, items = rng.integers(0, 3000, 100_000), rng.integers(0, 1000, 100_000)
    table = tmp_path / "ratings.csv"
    stars = rng.integers(1, 6, 100_000)
    table.write_text("".join(f"{u},{i},{s}\n" for u, i, s in zip(users, items, stars, strict=True)))
    found = []
    for threads in (1, 3):
        argv = ["run", "mf", table, "--rank", 32, "--epochs", 3, "--workers", workers]
        argv += ["--threads", threads, "--out", f"out{threads}"]
        with Running(tmp_path, *argv) as running:
            assert running.wait(HARD) == 0, running.output()
            assert running.leftovers() == [] and not without_warnings(running.output()[1])
        out = tmp_path / f"out{threads}"
        files = {path.name: path.read_bytes() for path in (out / "model").iterdir()}
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        rmse = [record["train_rmse"] for record in records]
        found.append((files, rmse))
        assert json.loads((out / "run.json").read_text())["options"]["threads"] == threads
    assert found[0] == found[1]


@pytest.mark.parametrize(("threads", "told"), [(None, False), (2, True)])
def test_of_an_app_they_are_told_where_threads_are_asked_for(threads, told, monkeypatch):
    """Its user cannot change it."""
    monkeypatch.setattr("tux.options.options.cores", lambda: 2)
    options, watch = RunOptions(threads=threads), RecordingSilent()
    context = RunContext(BlockPG(), options, Phases(watch), ExitStack())
    context.plan, context.inputs = RunPlan(1, 1, "bicut", options), SimpleNamespace(test=None)
    tell_serial(context)
    assert any("runs on one thread" in line for line in watch.lines) == told


@pytest.mark.parametrize(
    ("program", "workers", "items", "told"),
    [
        (BPR(), 2, 3_700, "Exchange(bpr, over=item) compares items of one block, about 925"),
        (BPR(loss="warp"), 2, 3_700, "compares items of one block, about 925 of 3,700"),
        (BPR(), 2, 4_000, ""),
        (BPR(), 1, 300, ""),
        (MF(), 4, 300, ""),
    ],
)
def test_workers_that_compare_with_few_are_told(program, workers, items, told):
    watch, options = RecordingSilent(), RunOptions()
    context = RunContext(program, options, Phases(watch), ExitStack())
    context.plan = RunPlan(1, workers, "aweto", options)
    context.inputs = SimpleNamespace(test=None, sizes={"vertices": {"user": 9, "item": items}})
    tell_few_compared(context)
    assert len(watch.lines) == bool(told) and all(told in line for line in watch.lines)
