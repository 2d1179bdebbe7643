"""Bayesian personalised ranking as an estimator: its numbers are those of its arrays in numpy."""

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support.messages import message

from tux.base.errors import DataError, UsageError
from tux.estimators import BayesianPersonalizedRanking

USERS, ITEMS = 30, 20


@pytest.fixture(scope="module")
def pairs():
    """Return users and items of pairs, each of which is there once."""
    rng = np.random.default_rng(0)
    return np.divmod(rng.permutation(USERS * ITEMS)[:200], ITEMS)


@pytest.fixture(scope="module")
def model(pairs):
    return small_ranking().fit(pairs)


def small_ranking(**given):
    return BayesianPersonalizedRanking(4, max_iter=5, random_state=3).set_params(**given)


def scores_of(model):
    """Return the scores of all pairs, in the order of the model's ids."""
    return model.user_factors_ @ model.item_factors_.T + model.item_biases_


def test_scores_of_pairs(model):
    users, items = np.divmod(np.arange(USERS * ITEMS), ITEMS)
    every = model.predict((users, items)).reshape(USERS, ITEMS)
    expected = scores_of(model)[np.ix_(model.user_ids_.argsort(), model.item_ids_.argsort())]
    np.testing.assert_allclose(every, expected, rtol=1e-5, atol=1e-7)


def test_what_is_unknown_gets_the_bias_of_the_item_or_nothing(model):
    bias = dict(zip(model.item_ids_.tolist(), model.item_biases_.tolist(), strict=True))
    asked = [(999, 3), (0, 999), (999, 999), (999, 7)]
    with pytest.warns(UserWarning, match="each gets the bias of the item"):
        found = model.predict(asked)
    np.testing.assert_allclose(found, [bias[3], 0, 0, bias[7]], rtol=1e-6)


def test_recommendations_are_the_largest_scores(model, pairs):
    seen = np.zeros((USERS, ITEMS), bool)
    seen[pairs] = True
    seen = seen[np.ix_(model.user_ids_, model.item_ids_)]
    left = np.where(seen, -np.inf, scores_of(model))
    found = model.recommend(None, 4, exclude=pairs)
    best = np.argsort(-left, axis=1, kind="stable")[:, :4]
    assert found["item"].reshape(USERS, 4).tolist() == model.item_ids_[best].tolist()
    np.testing.assert_allclose(
        found["score"].reshape(USERS, 4), np.take_along_axis(left, best, axis=1), rtol=1e-4
    )
    with pytest.raises(DataError, match=message("training-has-not-seen", "the user 999")):
        model.recommend([999])


def test_pairs_in_any_form(model, pairs):
    users, items = pairs
    rated = {"user": users, "item": items, "rating": np.ones(len(users))}
    matrix = sparse.coo_array((np.ones(len(users)), (users, items)))
    for form in (np.column_stack(pairs), {"user": users, "item": items}):
        assert np.array_equal(small_ranking().fit(form).user_factors_, model.user_factors_)
    with pytest.warns(UserWarning, match="columns that are not used: rating"):
        of_rated = small_ranking().fit(rated)
    assert np.array_equal(of_rated.user_factors_, model.user_factors_)
    of_matrix = small_ranking().fit(matrix.tocsr())
    assert sorted(of_matrix.user_ids_.tolist()) == [*range(USERS)]
    assert len(of_matrix.predict(matrix)) == len(users)


def test_ids_of_text_come_back(pairs):
    users, items = (
        np.array([f"{name}{each}" for each in ids]) for name, ids in zip("ui", pairs, strict=True)
    )
    model = small_ranking(loss="warp", max_sampled=3).fit((users, items))
    assert model.user_ids_.dtype == object and {*model.item_ids_} == {*items.tolist()}
    assert {*model.similar(["i3"], 2)["similar"].tolist()} < {*items.tolist()}


def test_it_is_pickled_and_cloned(model, pairs, tmp_path):
    joblib.dump(model, tmp_path / "model")
    again = joblib.load(tmp_path / "model")
    assert np.array_equal(again.predict(pairs), model.predict(pairs))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "item_biases_")
    assert np.array_equal(fresh.fit(pairs).item_factors_, model.item_factors_)


def test_a_parameter_without_effect_is_refused(pairs):
    with pytest.raises(UsageError, match=message("max-sampled-has-no-effect", "bpr")):
        small_ranking(max_sampled=3).fit(pairs)
