"""A path of penalties of linear models beside scipy's optima and runs of one penalty."""

import json

import numpy as np
import pytest
from support.oracles.linear_oracle import MADE, fit, least_objective

from tux.apps.linear.linear import Linear
from tux.apps.linear.path import best_penalty, path_rows
from tux.base.errors import UsageError
from tux.cli.main import main


def ends(team):
    """Return (penalty, objective) of each penalty's last step, in the order of the run."""
    penalties, objectives = team.history("penalty_l2"), team.history("objective")
    return list(dict(zip(penalties, objectives, strict=True)).items())


@pytest.mark.slow
@pytest.mark.long(after=1)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("intercept", [False, True])
def test_each_penalty_ends_at_its_optimum(k, intercept):
    team = fit(MADE, l2=0.1, path=4, tol=1e-9, epochs=400, k=k, fit_intercept=intercept)
    found = ends(team)
    penalties = np.array([penalty for penalty, _ in found])
    assert len(found) == 4 and penalties[-1] == 0.1
    assert np.diff(np.log(penalties)) == pytest.approx(np.log(penalties[-1] / penalties[0]) / 3)
    for penalty, objective in found:
        least = least_objective(MADE, "logistic", penalty, intercept=intercept)
        assert objective == pytest.approx(least, rel=1e-6)


@pytest.mark.slow
def test_the_objective_is_that_of_the_penalty_from_its_first_step_on():
    """F is corrected when the penalty falls: no step of a penalty lies above the one before."""
    team = fit(MADE, l2=0.1, path=3, tol=1e-7)
    penalties, objectives = (
        np.array(team.history("penalty_l2")),
        np.array(team.history("objective")),
    )
    same = np.diff(penalties) == 0
    assert (np.diff(objectives)[same] <= 1e-9 * objectives[0]).all()
    assert (np.diff(objectives)[~same] < 0).all()


@pytest.mark.slow
def test_the_largest_penalty_is_no_smaller_than_the_last():
    assert {penalty for penalty, _ in ends(fit(MADE, l2=1e6, path=3))} == {1e6}


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"penalty": "none"}, "path needs the penalty l2, and not none"),
        ({"solver": "adam"}, "path has no effect with the solver adam"),
        ({"l2": 0.0}, "cannot end at l2 0"),
    ],
)
def test_where_there_is_no_path(parameters, says):
    with pytest.raises(UsageError, match=says):
        Linear(path=3, **parameters)


def record(penalty, objective, loss=None):
    """Return the record of an epoch."""
    of_test = {} if loss is None else {"test_logloss": loss}
    return {"penalty_l2": penalty, "objective": objective, "norm_w": 1.0, **of_test}


def test_the_table_has_the_last_step_of_each_penalty():
    table = path_rows([record(4.0, 9.0), record(4.0, 8.0), record(1.0, 7.0)])
    assert table == {
        "penalty_l2": ["4", "1"],
        "steps": ["2", "1"],
        "objective": ["8", "7"],
        "norm_w": ["1", "1"],
    }


def test_the_best_penalty_is_that_of_the_least_test_loss_at_an_end():
    records = [record(4.0, 9.0, 0.1), record(4.0, 8.0, 0.5), record(2.0, 7.0, 0.3)]
    assert best_penalty(Linear(path=3), [*records, record(1.0, 6.0, 0.4)]) == {
        "best_penalty_l2": 2.0
    }
    assert best_penalty(Linear(path=3), [record(4.0, 9.0)]) == {}
    assert best_penalty(Linear(path=3), [record(4.0, 9.0, np.nan)]) == {}


def metrics(folder):
    """Return the numbers of the last record that do not depend on the clock."""
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    return {name: last[name] for name in ("epoch", "objective", "penalty_l2", "norm_w")}


@pytest.mark.long
def test_a_path_goes_on_where_it_was_stopped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main("generate clicks --samples 300 --features 60 --out a.svm".split()) == 0
    run = "run linear a.svm --loss softmax --l2 0.1 --path 3 --epochs".split()
    assert main([*run, "60", "--out", "whole"]) == 0
    told = capsys.readouterr()
    assert "penalty_l2" in told.out and "the path has ended" not in told.err
    assert main([*run, "9", "--out", "part", "--checkpoint-every", "1"]) == 0
    assert "the path has ended at l2 " in capsys.readouterr().err
    assert main(["run", "--resume", "part", "--epochs", "60"]) == 0
    assert metrics(tmp_path / "part") == metrics(tmp_path / "whole")
    table = (tmp_path / "part" / "model" / "path.tsv").read_text()
    assert table == (tmp_path / "whole" / "model" / "path.tsv").read_text()
