"""bench.mllib_star: its table, from scripted runs and from real ones."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def star(monkeypatch, home):
    """Return the module bench.mllib_star."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    return importlib.import_module("bench.mllib_star")


def rows(told):
    return [row.split() for row in told.splitlines() if row.split()[:1] == ["avazu"]]


@pytest.mark.slow
def test_a_table_of_scripted_runs(star, monkeypatch, capsys, tmp_path):
    def script_records(problem, steps, goal, given):
        """Return records whose distances to the optimum of the mean loss fall only with the right
        step.
        """
        suits = given["learning_rate"] == 1
        reach = {"sgd": 8 if problem.l2 else 90, "averaging": 2}[given["solver"]]
        ends = min(reach if suits else steps, steps)
        last = goal if suits and reach <= steps else 2 * goal
        return [{"objective": 3 * goal - k * (3 * goal - last) / ends} for k in range(1, ends + 1)]

    monkeypatch.setattr(star, "simulate_to_goal", script_records)
    monkeypatch.setattr(star, "optimum", lambda problem: 0.0)
    seconds = {"sgd": 6.0, "averaging": 2.0}
    monkeypatch.setattr(
        star, "time_workers", lambda problem, least, found: seconds[found.way["solver"]]
    )
    curves = tmp_path / "curves.png"
    sizes = ["--sets", "avazu", "--scale", "0.01", "--steps", "30"]
    star.main([*sizes, "--plot", str(curves)])
    steps = [row[3:6] + row[8:10] for row in rows(capsys.readouterr().out)]
    assert steps == [["inf", "2", "2", ">15.0", ">3.0"], ["8", "2", "2", "4.0", "3.0"]]
    assert curves.stat().st_size > 1000


def test_what_it_compares_is_told(star, capsys):
    with pytest.raises(SystemExit):
        star.main(["--sets", "avazu,url"])
    assert "there is no 'url'; there are: avazu,kdd12" in capsys.readouterr().err


@pytest.mark.long
def test_a_table(star, monkeypatch, capsys):
    monkeypatch.setattr(star, "STEPS", {name: ways[:1] for name, ways in star.STEPS.items()})
    star.main(["--sets", "avazu", "--scale", "0.05", "--steps", "300"])
    for row in rows(capsys.readouterr().out):
        assert float(row[4]) < float(row[3])


@pytest.mark.long
def test_simulated_workers_take_the_steps_of_processes(star):
    problem = star.problems(["avazu"], "hinge", 0.01)[1]
    way = star.STEPS["averaging"][0]
    told = star.simulate_to_goal(problem, 2, 0.0, way)
    real = star.train_to_goal(problem, 2, 0.0, star.WORKERS, way)
    assert [r["objective"] for r in told] == pytest.approx([r["objective"] for r in real])
