"""Logistic regression as a classifier: the optima of scikit-learn, of two classes and of more."""

import numpy as np
import pytest
import sklearn.linear_model
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from support.messages import message
from support.oracles.estimator_checks import QUICK

from tux.estimators import LogisticRegression

RNG = np.random.default_rng(0)
X = (RNG.normal(size=(90, 6)) * (RNG.random((90, 6)) < 0.6)).astype("f4").astype("f8")
OF = (X @ RNG.normal(size=(6, 3)) + RNG.gumbel(size=(90, 3))).argmax(axis=1)
WEIGHT = RNG.integers(1, 4, 90).astype("f8")


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [["b", "a", "c"], [True, False, False], [5, -1, 7]])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_optimum_is_that_of_scikit_learn(kinds, intercept):
    y = np.array(kinds)[OF]
    model = LogisticRegression(l2=0.5, fit_intercept=intercept, tol=1e-9).fit(X, y, WEIGHT)
    other = sklearn.linear_model.LogisticRegression(
        C=2, fit_intercept=intercept, tol=1e-10, max_iter=5000
    ).fit(X, y, WEIGHT)
    assert model.classes_.tolist() == other.classes_.tolist()
    assert model.coef_ == pytest.approx(other.coef_, abs=1e-4)
    assert model.intercept_ == pytest.approx(other.intercept_, abs=1e-4)
    assert model.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-4)
    assert model.decision_function(X).shape == other.decision_function(X).shape
    assert (model.predict(X) == other.predict(X)).all()
    assert model.score(X, y) == other.score(X, y) and len(model.n_iter_) == 1
    assert len(model.history_["objective"]) == model.n_iter_[0]


@pytest.mark.slow
def test_samples_may_be_sparse():
    dense, thin = (
        LogisticRegression(random_state=0).fit(each, OF) for each in (X, sparse.csr_array(X))
    )
    assert np.array_equal(dense.coef_, thin.coef_)
    assert np.array_equal(dense.predict(X), thin.sparsify().predict(sparse.csr_matrix(X)))


@pytest.mark.slow
def test_steps_that_are_not_enough():
    with pytest.warns(ConvergenceWarning, match="not converged after 2 steps"):
        LogisticRegression(max_iter=2).fit(X, OF)


def test_what_is_refused():
    with pytest.raises(ValueError, match=message("samples-of-at-least-2")):
        LogisticRegression().fit(X, OF, sample_weight=OF == 1)


@pytest.mark.long
def test_a_grid_search():
    search = GridSearchCV(LogisticRegression(random_state=0), {"l2": [0.1, 10.0]}, cv=2)
    assert search.fit(X, OF).best_params_["l2"] in (0.1, 10.0)


@pytest.mark.slow
@pytest.mark.long(after=2)
@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_check_of_scikit_learn_holds(check):
    check("LogisticRegression", LogisticRegression(random_state=0))
