"""bench.ps2: the three places of the update are one method, which is the app's, and send what they
should.
"""

import argparse
import importlib
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.machines.team import Team

from tux.apps.linear.linear import Linear
from tux.inputs.samples import samples_to_edges
from tux.synthetic.clicks import clicks

EPOCHS, STEP = 3, 0.05
WAYS = ("OnDriver", "OnWorker", "OnMasters")


@pytest.fixture
def ways(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    return importlib.import_module("bench.adam_ways")


def make_samples(values):
    """Draw samples whose entries are all 1, as those of clicks, or random."""
    edges = clicks(120, 30, 6, 5).split()[0]
    if values == "random":
        numbers = np.random.default_rng(0).normal(size=len(edges.edges)).astype("f4")
        edges = edges._replace(edges=replace(edges.edges, fields={"value": numbers}))
    return samples_to_edges(edges, Linear())


def train_team(program, edges, k=1):
    return Team(program, edges, k=k, by=edges.src % k, alike=False).train(EPOCHS)


def of_way(ways, name, edges, k):
    """Return a team of one of the ways, and its weights."""
    more = {"features": len(edges.ids["feature"])} if name == "OnDriver" else {}
    team = train_team(getattr(ways, name)(step=STEP, batch=20, **more), edges, k)
    return team, team.tau.w if name == "OnDriver" else team.gather("feature", "w")


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("name", WAYS)
def test_each_way_takes_the_steps_of_the_app(ways, name, k):
    edges = make_samples("random")
    app = train_team(
        Linear(solver="adam", penalty="none", batch_size=20, learning_rate=STEP, decay=0.0), edges
    )
    team, w = of_way(ways, name, edges, k)
    # the app keeps moments in float32
    np.testing.assert_allclose(w, app.gather("feature", "w"), rtol=1e-5, atol=1e-7)
    mean = np.array(app.history("objective")) / 120
    np.testing.assert_allclose(team.history("loss"), mean, rtol=1e-5)


@pytest.mark.slow
def test_the_ways_agree_where_gradients_add_up_to_0_and_the_masters_send_least(ways):
    """At w = 0, entries of 1 in two samples of either class do."""
    edges = make_samples("ones")
    found = {name: of_way(ways, name, edges, 3) for name in WAYS}
    for name in WAYS:
        np.testing.assert_allclose(found[name][1], found["OnMasters"][1], rtol=1e-9, atol=1e-12)
    sent = {name: sum(team.total_sent().values()) for name, (team, _) in found.items()}
    assert sent["OnMasters"] < min(sent["OnWorker"], sent["OnDriver"])


@pytest.fixture
def ps2(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    return importlib.import_module("bench.ps2")


def rows(told, first):
    """Return the numbers of the lines that begin with a word, by what stands before them."""
    lines = [re.split(r"  +", line.strip()) for line in told.splitlines()]
    return {line[0]: line[1:] for line in lines if line[0].startswith(first)}


TINY = "--samples 200 --features 80 --entries 5 --epochs 1 --runs 1".split()


def test_a_line_for_each_way(ps2, capsys):
    given = argparse.Namespace(workers=3, epochs=2)
    taken = {
        "a driver": ps2.EpochCosts(6.0, 4e6, 0.5),
        "a worker": ps2.EpochCosts(3.0, 5e6, 0.5),
        "the masters": ps2.EpochCosts(1.5, 2e6, 0.5),
    }
    ps2.table(taken, 1000, given)
    told = capsys.readouterr().out
    assert rows(told, "update on") == {
        "update on a driver": ["6.00", "4.0", "4.00", "2.00", "15.7"],
        "update on a worker": ["3.00", "5.0", "2.00", "2.50", "4.7"],
        "update on the masters": ["1.50", "2.0", "1.00", "1.00", "1.0"],
    }
    # 8 bytes, two ways, between two workers and a third, 200 steps
    assert rows(told, "a driver")["a driver, whole vectors"][1:] == ["6", "-", "3.20"]


def test_one_worker_sends_nothing_to_compare(ps2, capsys):
    with pytest.raises(SystemExit):
        ps2.main([*TINY, "--workers", "1"])
    assert "--workers: at least 2" in capsys.readouterr().err


def test_a_line_for_each_number_of_features(ps2, monkeypatch, capsys):
    def step(edges, samples, steps, given):
        return len(edges.ids["feature"]) / 1000 / steps

    monkeypatch.setattr(ps2, "step", step)
    ps2.main([*TINY, "--parts", "features", "--sizes", "40,3000"])
    told = capsys.readouterr().out
    assert rows(told, "40")["40"][1:] == ["0.400", "1.00", "40.000", "1.00"]
    occurring, *taken = rows(told, "3,000")["3,000"]
    assert taken == ["30.000", "75.00", "3000.000", "75.00"]
    assert int(occurring) <= 1000  # as there are entries
    assert "PS2 8.5 times, MLlib 168 times" in told


def test_other_losses_end_it(ps2):
    taken = [ps2.EpochCosts(1.0, 0.0, loss) for loss in (0.5, 0.5 + 1e-8, 0.50001)]
    assert ps2.check(taken[:2]) == 0.5
    with pytest.raises(SystemExit, match="the ways end with other losses"):
        ps2.check(taken)


@pytest.mark.long
@pytest.mark.parametrize("part", ["update", pytest.param("link", marks=pytest.mark.long)])
def test_three_ways_on_two_workers(ps2, capsys, part):
    if why := part == "link" and ps2.Link.missing():
        pytest.skip(why)
    ps2.main([*TINY, "--parts", part, "--workers", "2"])
    told = capsys.readouterr().out
    sent = {name: float(line[1]) for name, line in rows(told, "update on").items()}
    assert sent["update on the masters"] <= sent["update on a worker"]
    assert ("a link of 200 Mbit/s" in told) is (part == "link")


@pytest.mark.long
def test_steps_with_more_features(ps2, capsys):
    ps2.main([*TINY, "--parts", "features", "--workers", "1", "--sizes", "40,3000"])
    told = capsys.readouterr().out
    assert len(rows(told, "40")["40"]) == len(rows(told, "3,000")["3,000"]) == 5
