"""Boosted trees as estimators, beside XGBoost's where it is installed, and by their own command."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.messages import message
from support.oracles.estimator_checks import QUICK

import tux

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5)).round(1)
STEP = np.where(X[:, 0] < 0.3, 1.0, -1.0) + np.where(X[:, 2] < -0.2, 4.0, 0.0)
KIND = np.array(["roach", "perch", "bream"])[np.digitize(X[:, 1] + X[:, 3], [-0.7, 0.7])]
FEW = {"max_iter": 20, "max_depth": 3, "random_state": 0}


@pytest.mark.long
def test_numbers():
    model = tux.BoostedTreesRegressor(**FEW).fit(X, STEP)
    assert model.score(X, STEP) > 0.99
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 2}
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert model.history_["objective"][-1] < model.history_["objective"][0]
    thin = tux.BoostedTreesRegressor(**FEW).fit(sparse.csr_matrix(X), STEP)
    assert np.array_equal(thin.predict(sparse.csr_array(X)), model.predict(X))


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_classes(classes):
    there = np.isin(KIND, ["bream", "perch", "roach"][:classes])
    x, y = X[there], KIND[there]
    model = tux.BoostedTreesClassifier(**FEW).fit(x, y)
    assert model.classes_.tolist() == ["bream", "perch", "roach"][:classes]
    chances = model.predict_proba(x)
    assert chances.shape == (len(x), classes) and chances.sum(axis=1) == pytest.approx(1)
    assert (model.predict(x) == model.classes_[chances.argmax(axis=1)]).all()
    assert model.score(x, y) > 0.9
    assert model.n_iter_.tolist() == [20]
    assert model.history_["objective"][-1] < model.history_["objective"][0]


def test_they_are_the_trees_of_xgboost():
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    model = tux.BoostedTreesClassifier(**FEW).fit(X, STEP > 2)
    peer = xgboost.XGBClassifier(
        n_estimators=20, max_depth=3, learning_rate=0.3, tree_method="hist", n_jobs=1, missing=0
    ).fit(X, STEP > 2)
    assert model.predict_proba(X) == pytest.approx(peer.predict_proba(X), abs=1e-4)


@pytest.mark.slow
def test_several_classes_are_those_of_the_program():
    _, kinds = np.unique(KIND, return_inverse=True)
    few = {"max_iter": 2, "max_depth": 2}
    model = tux.BoostedTreesClassifier(**few).fit(X, KIND)
    program = tux.GBDT(loss="softmax", classes="0,1,2", **few)
    run = tux.run(program, (sparse.csr_matrix(X), kinds), progress=False)
    chances = run.predict(sparse.csr_matrix(X))
    assert np.array_equal(model.predict_proba(X), np.asarray(chances, np.float64))


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_contributions_sum_to_the_scores(classes):
    labels = np.minimum(np.digitize(X[:, 1], [-0.4, 0.4]), classes - 1)
    model = tux.BoostedTreesClassifier(max_iter=3, max_depth=2).fit(X, labels)
    found = model.contributions(X[:20])
    assert found.shape == ((20, 6) if classes == 2 else (20, 3, 6))
    scores = found.sum(axis=-1)
    if classes == 2:
        scores = np.column_stack([np.zeros(20), scores])
    chances = np.exp(scores)
    np.testing.assert_allclose(
        model.predict_proba(X[:20]), chances / chances.sum(axis=1, keepdims=True), atol=1e-6
    )
    used = np.abs(found).reshape(-1, 6).max(axis=0) > 0
    assert (used[:-1] == (model.feature_importances_ > 0)).all()
    thin = model.contributions(sparse.csr_matrix(X[:20]))
    assert np.array_equal(thin, found)


@pytest.mark.slow
def test_contributions_to_numbers():
    model = tux.BoostedTreesRegressor(**FEW).fit(X, STEP)
    found = model.contributions(X)
    np.testing.assert_allclose(found.sum(axis=1), model.predict(X), atol=1e-5)
    assert np.argsort(-np.abs(found[:, :-1]).mean(axis=0))[:2].tolist() == [2, 0]


@pytest.mark.long
def test_weights_count():
    weight = np.append(1 + (STEP > 2), np.zeros(5))  # the last are left out
    x, y = np.concatenate([X, X[:5] * 3]), np.append(STEP, [9] * 5)
    heavy = tux.BoostedTreesRegressor(**FEW).fit(x, y, sample_weight=weight)
    twice = np.concatenate([np.arange(len(X)), np.flatnonzero(STEP > 2)])
    repeated = tux.BoostedTreesRegressor(**FEW).fit(X[twice], STEP[twice])
    assert heavy.predict(X) == pytest.approx(repeated.predict(X), abs=1e-5)


def test_what_is_refused():
    with pytest.raises(ValueError, match=message("samples-of-at-least-2")):
        tux.BoostedTreesClassifier().fit(X, np.ones(len(X)))
    with pytest.raises(tux.UsageError, match="max_depth"):
        tux.BoostedTreesRegressor(max_depth=40).fit(X, STEP)


@pytest.mark.long
@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.__name__)
def test_a_check_of_scikit_learn_holds(check):
    check("BoostedTreesRegressor", tux.BoostedTreesRegressor(max_iter=5, random_state=0))


@pytest.mark.slow
def test_predictions_follow_the_model_that_was_fitted():
    x = np.random.default_rng(2).normal(size=(60, 3))
    model = tux.BoostedTreesRegressor(max_iter=3, loss="poisson").fit(x, np.abs(x[:, 0]))
    before = model.predict(x)
    assert model.set_params(loss="squared", quantile=0.9).predict(x).tolist() == before.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True])
def test_monotone_features_are_those_of_the_program(named):
    """An array of directions, and a dict by the names of columns, go on with `partial_fit`."""
    x, y = X[:80] + 10, STEP[:80]
    frame = pd.DataFrame(x, columns=list("abcde")) if named else x
    given = {"a": 1, "c": -1} if named else [1, 0, -1, 0, 0]
    model = tux.BoostedTreesRegressor(2, max_depth=2, monotonic_cst=given).fit(frame, y)
    program = tux.GBDT(loss="squared", max_iter=2, max_depth=2, monotone="0:1,2:-1")
    run = tux.run(program, (sparse.csr_matrix(x), y), progress=False)
    assert np.array_equal(model.predict(frame), np.asarray(run.predict(sparse.csr_matrix(x))))
    model.partial_fit(frame, y)
    with pytest.raises(tux.UsageError, match=message("of-a-model-cannot-change", "monotone")):
        model.set_params(monotonic_cst=None).partial_fit(frame, y)


def test_wrong_directions_are_refused():
    frame = pd.DataFrame(X, columns=list("abcde"))
    for given, samples, why in (
        ([1, 0], X, r"the shape \(2,\), and X has 5 features"),
        (1, X, r"the shape \(\), and X has 5 features"),
        ([2, 0, 0, 0, 0], X, "other directions than 1, -1 and 0"),
        ([0.5, 0, 0, 0, 0], X, "other directions than 1, -1 and 0"),
        (["up", 0, 0, 0, 0], X, "other directions than 1, -1 and 0"),
        ({"a": 1}, X, "names 'a', and X has no column"),
        ({"a": 1, "f": 1}, frame, "names 'f', and X has no column"),
        ({"a": np.nan}, frame, "other directions than 1, -1 and 0"),
    ):
        with pytest.raises(ValueError, match=f"^monotonic_cst .*{why}"):
            tux.BoostedTreesRegressor(monotonic_cst=given).fit(samples, STEP)
    quantile = tux.BoostedTreesRegressor(loss="quantile", monotonic_cst=[1, 0, 0, 0, 0])
    with pytest.raises(tux.UsageError, match="^monotonic_cst cannot hold with the loss quantile"):
        quantile.fit(X, STEP)
