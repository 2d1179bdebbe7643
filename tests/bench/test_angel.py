"""bench.angel: what it reads from curves, and its tables on tiny data."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from support.machines.lda_team import bags
from support.machines.team import Team

from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.inputs.samples import samples_to_edges
from tux.synthetic.clicks import clicks

ROOT = Path(__file__).parents[2]


@pytest.fixture
def curves(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("bench.curves")


@pytest.fixture
def late(curves):
    return importlib.import_module("bench.late")


@pytest.fixture
def angel(curves):
    return importlib.import_module("bench.angel")


def test_a_curve_has_median_seconds(curves):
    runs = [
        [{"seconds": s * k, "F": 9.0 - k, "wait_s": s} for k in (1, 2, 3)] for s in (1.0, 5.0, 2.0)
    ]
    curve = curves.Curve.of(runs, "F", rises=False)
    assert curve.seconds.tolist() == [2.0, 4.0, 6.0] and curve.metric.tolist() == [8.0, 7.0, 6.0]
    assert curve.wait == 6.0 and curve.an_epoch == 2.0
    assert curve.until(7.5) == (2, 4.0) and curve.until(6.0) == (3, 6.0)
    assert curve.after(2) == 7.0 and curve.after(99) == 6.0
    assert np.isnan(curve.at(1.9)) and curve.at(2.0) == 8.0 and curve.at(99.0) == 6.0


def test_the_target_is_what_all_reach(curves):
    falling = [curves.Curve(np.ones(2), np.array(m), False, 0.0) for m in ([5, 3], [4, 4])]
    assert curves.target_of(falling) == 4
    rising = [curve._replace(rises=True) for curve in falling]
    assert curves.target_of(rising) == 4 and rising[0].until(4) == (1, 1.0)


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_waits_change_no_step_of_a_linear_model(late, solver):
    edges = samples_to_edges(clicks(60, 30, 6, 5).split()[0], Linear())

    def objectives(program):
        return Team(program, edges, by=edges.src % 2).train(2).history("objective")

    given = {"solver": solver, "batch_size": 20}
    assert objectives(late.LateLinear(**given, length=1e-4)) == objectives(Linear(**given))


def test_waits_change_no_draw_of_lda(late):
    edges = bags([0, 3, 0, 3, 0], [2, 1, 2, 0, 1])

    def likelihoods(program):
        return Team(program, edges, by=edges.src % 2).train(2).history("loglik_per_token")

    given = {"topics": 3, "sampler": "sparse"}
    assert likelihoods(late.LateLDA(**given, length=1e-4)) == likelihoods(LDA(**given))


def test_each_block_has_its_wait(late):
    (_, batch), (_, waiting) = (
        late.straggling(Linear(solver="adam").stages(), length) for length in (0.0, 0.1)
    )
    assert [stage.label for stage in waiting.inside[1:]] == [stage.label for stage in batch.inside]
    assert waiting.inside[0].length == 0.1 and waiting.size == batch.size


def told_by(angel, capsys, *flags):
    sizes = "--tokens 400 --topics 3 --samples 150 --features 60 --epochs 4 --runs 2".split()
    angel.main([*sizes, *flags])
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def made_up(angel, monkeypatch):
    """Return runs that take 1 s an epoch, divided among all threads, and more where workers are
    late and slack hides nothing.
    """

    def records(app, edges, way, epochs, given):
        second = 1 / (way.workers * way.threads) + 10 * way.late / (way.slack + 1)
        sign = 1 if app.rises else -1
        return [
            {"seconds": second * e, app.metric: sign * e, "wait_s": 0.5}
            for e in range(1, epochs + 1)
        ]

    monkeypatch.setattr(angel, "records", records)


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("name", [pytest.param("lda", marks=pytest.mark.long), "adam", "lbfgs"])
def test_a_line_for_each_layout_and_a_picture(angel, made_up, capsys, tmp_path, name):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "curves.png"
    flags = ["--parts", "parallel", "--apps", name, "--plot", str(picture)]
    told = told_by(angel, capsys, *flags)[4:]
    layouts = ["one thread", "data parallel", "model parallel", "hybrid"]
    assert [line[:16].strip() for line in told] == layouts
    layout, first, last, *by_time, epochs, seconds, times = (
        told[-1][16:].replace(" x ", "x").split()
    )
    sign = "" if name == "lda" else "-"
    assert (layout, first, last) == ("2x2", f"{sign}1", f"{sign}4")
    assert by_time == [f"{sign}{k}" for k in (1, 2, 4)]
    assert (epochs, seconds, times) == ("4", "1.000", "4.00")
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["lda", "adam"])
def test_a_line_for_each_slack(angel, made_up, capsys, name):
    told = told_by(angel, capsys, "--parts", "overlap", "--apps", name, "--late", "0.1")
    lines = [line.split() for line in told if line.startswith("slack")]
    assert [line[1] for line in lines] == ["0", "1", "0", "1"]
    assert [line[3] for line in lines] == ["1.00", "1.00", "1.00", "1.50"]  # 1.5 s and 1 s
    assert any("late by 100 ms in 1 of 8 blocks" in line for line in told)


def test_lbfgs_has_no_blocks_to_be_late_in(angel, made_up, capsys):
    assert len(told_by(angel, capsys, "--parts", "overlap", "--apps", "lbfgs")) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["lda", "adam", "lbfgs"])
def test_two_workers(angel, capsys, name):
    told = told_by(angel, capsys, "--apps", name, "--late", "0.001")
    lines = [line for line in told if " x " in line and "W x T" not in line]
    last = {line[:16].strip(): float(line[16:].replace(" x ", "x").split()[2]) for line in lines}
    assert last["one thread"] == last["model parallel"]
    assert last["data parallel"] == last["hybrid"]
