"""Parameters of estimators that have another name now."""

import numpy as np
import pytest
from sklearn.base import clone
from support.messages import message

import tux
from tux.base.errors import UsageError

rng = np.random.default_rng(0)
RATINGS = np.stack([*divmod(rng.permutation(81)[:60], 9), rng.integers(1, 6, 60)], axis=1)
MADE = {
    tux.MatrixFactorization: (dict(max_iter=2), RATINGS, {"step": ("learning_rate", 0.05)}),
    tux.DeepWalkEmbedding: (
        dict(window=2),
        RATINGS[:, :2],
        {"walks": ("num_walks", 2), "length": ("walk_length", 5), "step": ("learning_rate", 0.05)},
    ),
}


def fitted_factors(model):
    return model.user_factors_ if hasattr(model, "user_factors_") else model.embedding_


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_a_former_name_fits_the_same_with_a_warning(kind):
    common, data, names = MADE[kind]
    common = {"n_components": 2, "random_state": 0, "n_jobs": 1, **common}
    now = kind(**common, **dict(names.values())).fit(data)
    before = clone(kind(**common, **{former: value for former, (_, value) in names.items()}))
    with pytest.warns(FutureWarning, match="is called") as told:
        before.fit(data)
    assert {each.filename for each in told} == {__file__} and len(told) == len(names)
    assert np.array_equal(fitted_factors(before), fitted_factors(now))


@pytest.mark.parametrize("kind", MADE, ids=lambda kind: kind.__name__)
def test_both_names_are_an_error(kind):
    with pytest.raises(
        UsageError, match=message("and-are-both-given-and", "step", "learning_rate")
    ):
        kind(learning_rate=0.2, step=0.3).fit(MADE[kind][1])


def test_a_model_that_was_pickled_under_the_former_name_predicts():
    model = tux.MatrixFactorization(2, max_iter=1, random_state=0).fit(RATINGS)
    found = model.predict(RATINGS[:, :2])
    del model.learning_rate
    model.step = 0.1
    with pytest.warns(FutureWarning):
        assert np.array_equal(model.predict(RATINGS[:, :2]), found)


def test_errors_of_trees_have_the_name_of_the_estimator():
    with pytest.raises(UsageError, match="^max_features = 0.0 is out of range"):
        tux.BoostedTreesRegressor(max_features=0).fit(RATINGS, RATINGS[:, 0])
