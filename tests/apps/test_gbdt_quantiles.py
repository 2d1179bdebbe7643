"""Boosted trees for quantiles beside a plain oracle: digits, trees, weights, workers, new data."""

import math
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.team import Team
from support.messages import message
from support.oracles.gbdt_oracle import FIELDS, draw_samples, edges_of, grow, score_samples

import tux
from tux.apps.gbdt import quantiles
from tux.apps.gbdt.gbdt import GBDT

DEPTH = 2
PLAIN = {"jit": False, "progress": False}


def draw(seed=3, n=90, p=5):
    return draw_samples(n=n, p=p, seed=seed, numbers=True)


def program(alpha, **of):
    return GBDT(**{"loss": "quantile", "quantile": alpha, "max_iter": 2, "max_depth": DEPTH} | of)


def forest(context, trees):
    return {name: np.asarray(context[name]).reshape(trees, -1) for name in FIELDS}


def pinball(y, m, alpha):
    return np.mean(np.where(y > m, alpha * (y - m), (1 - alpha) * (m - y)))


def test_places_are_in_the_order_of_numbers():
    rng = np.random.default_rng(0)
    numbers = np.sort((rng.normal(size=60) * 10.0 ** rng.integers(-40, 38, 60)).astype("f4"))
    numbers = np.concatenate([[-np.inf], numbers, [0.0, 1.0, np.inf]]).astype("f4")
    places = np.array([quantiles.place(each) for each in numbers])
    assert (places >= 0).all() and (places < 2**32).all()
    assert np.array_equal(np.argsort(numbers, kind="stable"), np.argsort(places, kind="stable"))
    assert np.array_equal(quantiles.number_at(places), numbers)
    assert quantiles.place(-0.0) == quantiles.place(0.0)


def test_a_loss_and_its_slope():
    for y, m, alpha in ((2.0, 0.5, 0.9), (0.5, 2.0, 0.9), (-1.0, 3.0, 0.2)):
        assert quantiles.loss(y, m, alpha) == pytest.approx(pinball(y, m, alpha))
        change = (pinball(y, m + 1e-3, alpha) - pinball(y, m - 1e-3, alpha)) / 2e-3
        assert quantiles.slopes(y, m, alpha) == (pytest.approx(change), 1.0)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.85])
def test_digits_are_those_of_weighted_quantiles(alpha):
    rng = np.random.default_rng(1)
    label = rng.normal(size=40).astype("f4").round(1)
    weight, node = rng.integers(0, 5, 40), rng.integers(1, 4, 40)
    whole = {name: np.zeros(8, np.int64) for name in ("found", "rank")}
    tau = Row(**whole, held=np.zeros((8, 16), np.int64), digits=0, tree=0, copies=2.0)
    tau.weight = np.full((1, 8), 9.0, "f4")
    for _ in range(8):
        for y, c, leaf in zip(label, weight, node, strict=True):
            sample = Row(label=y, score=0.25, node=leaf, state=[0, c])
            quantiles.sort_sample(sample, tau)
        quantiles.find_digit(tau, Row(quantile=alpha, learning_rate=0.5))
        tau.held[:] = 0
    for leaf in range(8):
        own = np.sort(np.repeat(label[node == leaf], weight[node == leaf]).astype("f8") - 0.25)
        wanted = own[math.ceil(alpha * len(own) - 1e-9) - 1] / 4 if len(own) else 9.0
        assert tau.weight[0, leaf] == pytest.approx(wanted, rel=1e-6), leaf


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("alpha", "k"), [(0.8, 1), (0.5, 2), (0.1, 3)])
def test_trees_are_those_of_the_oracle(alpha, k):
    (x, y), new = draw(), draw(seed=4, n=40)
    wanted, m = grow(x, y, "quantile", trees=2, depth=DEPTH, alpha=alpha)
    edges = edges_of(x, y)
    how = {"by": "target", "slack": k - 1, "delivery": k} if k > 1 else {}
    held = edges_of(*new, train=edges)
    team = Team(program(alpha), edges, held, k=k, jit=False, **how).train(2)
    for name in FIELDS:
        found = np.array(getattr(team.tau, name))
        assert found == pytest.approx(wanted[name], rel=1e-5, abs=1e-6), name
    assert team.history("objective")[-1] / len(y) == pytest.approx(pinball(y, m, alpha), rel=1e-6)
    base = np.sort(y)[math.ceil(alpha * len(y) - 1e-9) - 1]
    scores = score_samples(wanted, new[0], base)
    told = team.history("test_loss")[-1]
    assert told == pytest.approx(pinball(new[1], scores, alpha))


@pytest.mark.slow
def test_new_trees_predictions_and_the_document():
    x, y = draw(n=30)
    old = tux.run(program(0.7), edges_of(*draw(seed=5, n=60)), epochs=1, **PLAIN)
    new = tux.run(program(0.7), edges_of(x, y), from_run=old, epochs=1, **PLAIN)
    base = float(old.context["base"][0])
    before = {name: field[:1] for name, field in forest(old.context, 2).items()}
    how = {"scores": score_samples(before, x, base), "copies": 3.0, "alpha": 0.7}
    more, m = grow(x, y, "quantile", trees=1, depth=DEPTH, **how)
    found = new.export("trees")
    for name in FIELDS:
        assert found[name][1:] == pytest.approx(more[name], rel=1e-5, abs=1e-6), name
    assert np.asarray(new.predict(edges_of(x, y))) == pytest.approx(m, rel=1e-5, abs=1e-6)
    objective = new.export("xgboost")["learner"]["objective"]
    settings = {"quantile_loss_param": {"quantile_alpha": "[0.7]"}}
    assert objective == {"name": "reg:quantileerror", **settings}


@pytest.mark.long
def test_the_estimator_is_as_good_as_that_of_scikit_learn():
    from sklearn.ensemble import HistGradientBoostingRegressor

    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 4))
    y = x[:, 0] + np.abs(x[:, 1]) * rng.normal(size=2000)
    own = tux.BoostedTreesRegressor(50, loss="quantile", quantile=0.9, learning_rate=0.1)
    own.set_params(max_depth=4, min_child_weight=20).fit(x[:1500], y[:1500])
    peer = HistGradientBoostingRegressor(
        loss="quantile", quantile=0.9, max_iter=50, max_depth=4, early_stopping=False
    ).fit(x[:1500], y[:1500])
    lost = [pinball(y[1500:], model.predict(x[1500:]), 0.9) for model in (own, peer)]
    assert lost[0] < 1.03 * lost[1]
    assert np.mean(y[1500:] <= own.predict(x[1500:])) == pytest.approx(0.9, abs=0.05)


def test_a_quantile_of_other_losses_is_refused():
    with pytest.raises(
        tux.UsageError, match=message("has-no-effect-with-the-3", "quantile", "poisson")
    ):
        GBDT(loss="poisson", quantile=0.9)
