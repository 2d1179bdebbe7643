"""Boosted trees for counts beside a plain oracle: losses, trees, workers, predictions, and what is
refused.
"""

import json
import math

import numpy as np
import pytest
from support.machines.team import Team
from support.messages import message
from support.oracles.gbdt_oracle import FIELDS, draw_samples, edges_of, grow, score_samples

import tux
from tux.apps.gbdt.gbdt import GBDT
from tux.apps.gbdt.losses import LOSSES, MAX_STEP
from tux.base.errors import DataError
from tux.cli.main import main
from tux.inputs.load import load

DEPTH = 2
PLAIN = {"jit": False, "progress": False}


def draw(seed=3, n=120, p=6):
    """Draw samples whose labels are counts, some of them far above their mean."""
    x, score = draw_samples(n=n, p=p, seed=seed, numbers=True)
    return x, np.random.default_rng(seed).poisson(np.exp(1.5 * score)).astype("f4")


def forest(context, trees):
    return {name: np.asarray(context[name]).reshape(trees, -1) for name in FIELDS}


def nloglik(y, m):
    """Return the mean negative log likelihood."""
    return np.mean(np.exp(m) - np.multiply(y, m)) + np.mean([math.lgamma(each + 1) for each in y])


@pytest.mark.parametrize("m", [-3.0, 0.0, 1.5])
@pytest.mark.parametrize("y", [0.0, 1.0, 4.5])
def test_derivatives(y, m):
    loss, step = LOSSES["poisson"], 1e-4
    g, h = loss.slopes(y, m, 0.5)
    low, at, high = (loss.value(y, m + d, 0.5) for d in (-step, 0, step))
    assert g == pytest.approx((high - low) / (2 * step), abs=1e-6)
    assert h == pytest.approx(math.exp(MAX_STEP) * (high - 2 * at + low) / step**2, abs=1e-4)
    assert at == pytest.approx(nloglik([y], m))
    assert loss.start(2.5) == math.log(2.5) and loss.response(m) == math.exp(m)
    assert math.isfinite(loss.value(y, 1e6, 0.5)) and all(
        map(math.isfinite, loss.slopes(y, 1e6, 0.5))
    )


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("k", [1, 2])
def test_trees_are_those_of_the_oracle(k):
    (x, y), new = draw(), draw(seed=4, n=40)
    wanted, m = grow(x, y, "poisson", trees=3, depth=DEPTH)
    edges = edges_of(x, y)
    how = {"by": "target", "slack": 1} if k > 1 else {}
    program = GBDT(loss="poisson", max_iter=3, max_depth=DEPTH)
    team = Team(program, edges, edges_of(*new, train=edges), k=k, jit=False, **how).train(3)
    assert abs(wanted["weight"]).max() == np.float32(0.3 * MAX_STEP)  # the bound matters here
    for name in FIELDS:
        found = np.array(getattr(team.tau, name))
        assert found == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name
    assert team.history("objective")[-1] / len(y) == pytest.approx(nloglik(y, m), rel=1e-6)
    scores = score_samples(wanted, new[0], math.log(y.mean()))
    assert team.history("test_loss")[-1] == pytest.approx(nloglik(new[1], scores))
    error = np.sqrt(np.mean((np.exp(scores) - new[1]) ** 2))
    assert team.history("test_rmse")[-1] == pytest.approx(error)


def test_new_trees_predictions_and_the_document(tmp_path):
    x, y = draw(n=30)
    program = GBDT(loss="poisson", max_iter=2, max_depth=DEPTH)
    old = tux.run(program, edges_of(*draw(n=60)), epochs=1, **PLAIN)
    new = tux.run(program, edges_of(x, y), from_run=old, epochs=1, **PLAIN)
    base = float(old.context["base"][0])
    before = {name: field[:1] for name, field in forest(old.context, 2).items()}
    how = {"scores": score_samples(before, x, base), "copies": 3.0}
    more, m = grow(x, y, "poisson", trees=1, depth=DEPTH, **how)
    found = new.export("trees")
    for name in FIELDS:
        assert found[name][1:] == pytest.approx(more[name], rel=1e-5, abs=1e-6), name
    assert np.asarray(new.predict(edges_of(x, y))) == pytest.approx(np.exp(m), rel=1e-5)
    learner = new.export("xgboost")["learner"]
    assert learner["objective"]["name"] == "count:poisson"
    assert float(learner["learner_model_param"]["base_score"]) == pytest.approx(math.exp(base))


@pytest.mark.slow
def test_they_are_the_trees_of_xgboost(tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    x, y = draw()
    found = tux.run(GBDT(loss="poisson", max_iter=3, max_depth=3), edges_of(x, y), **PLAIN)
    means = np.asarray(found.predict(edges_of(x, y)))
    (tmp_path / "model.json").write_text(json.dumps(found.export("xgboost")))
    data = xgboost.DMatrix(x, y)
    booster = xgboost.Booster(model_file=str(tmp_path / "model.json"))
    assert booster.predict(data) == pytest.approx(means, rel=1e-5)
    how = {"objective": "count:poisson", "max_depth": 3, "base_score": float(y.mean())}
    peer = xgboost.train(how | {"tree_method": "hist", "nthread": 1}, data, 3)
    assert peer.predict(data) == pytest.approx(means, rel=1e-4)


def test_labels_that_are_no_counts_are_refused():
    x, y = draw(n=20)
    program = GBDT(loss="poisson", max_iter=1, max_depth=DEPTH)
    bad = np.where(np.arange(20) < 3, -1, y).astype("f4")
    with pytest.raises(DataError, match="are to be finite numbers from 0"):
        tux.run(program, edges_of(x, bad), **PLAIN)
    edges = edges_of(x, y)
    with pytest.raises(DataError, match="are to be finite numbers from 0"):
        tux.run(program, edges, test=edges_of(x, bad, train=edges), **PLAIN)
    with pytest.raises(DataError, match=message("all-labels-are-0")):
        tux.run(program, edges_of(x, 0 * y), **PLAIN)
    with pytest.raises(tux.UsageError, match=message("the-loss-is-for-classes", "softmax")):
        tux.BoostedTreesRegressor(loss="softmax").fit(np.nan_to_num(x), y)


def test_labels_of_a_partitioned_folder_that_are_no_counts_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.svm").write_text("1 1:1\n-2 1:2 2:1\n3 2:1\n-1 1:3\n")
    words = "partition a.svm --parts 1 --method bicut --numeric --out parts"
    assert main(words.split()) == 0
    with pytest.raises(DataError, match=message("labels-below-the-first-is")) as error:
        load(GBDT(loss="poisson"), "parts")
    assert "below 0: 2; the first is -2, of sample 2" in error.value.what
    assert len(load(GBDT(loss="squared"), "parts").train.ids["sample"]) == 4


@pytest.mark.long
def test_the_estimator_is_the_program():
    x, y = draw()
    x = np.nan_to_num(x)
    model = tux.BoostedTreesRegressor(2, loss="poisson", max_depth=DEPTH).fit(x, y)
    there = edges_of(np.where(x == 0, np.nan, x), y)
    run = tux.run(GBDT(loss="poisson", max_iter=2, max_depth=DEPTH), there, **PLAIN)
    assert model.predict(x) == pytest.approx(np.asarray(run.predict(there)), rel=1e-6)
