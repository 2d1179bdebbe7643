"""Lasso and ElasticNet beside scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import linear_model as peers
from sklearn.base import clone

import tux

RNG = np.random.default_rng(0)
X = np.where(RNG.random((80, 30)) < 0.4, RNG.normal(size=(80, 30)), 0).astype("f4").astype("f8")
Y = (X[:, :3] @ [2.0, -1.0, 0.5] + 3 + 0.1 * RNG.normal(size=80)).astype("f4").astype("f8")
WEIGHT = 1.0 + (np.arange(80) % 3)
TIGHT = {"tol": 1e-12, "max_iter": 100_000}


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_weights_are_those_of_scikit_learn(intercept, weight):
    for own, peer in (
        (tux.Lasso(0.05, fit_intercept=intercept), peers.Lasso),
        (tux.ElasticNet(0.05, l1_ratio=0.7, fit_intercept=intercept), peers.ElasticNet),
    ):
        of = {"alpha": 0.05, "fit_intercept": intercept}
        of |= {"l1_ratio": 0.7} if peer is peers.ElasticNet else {}
        wanted = peer(**of, **TIGHT).fit(X, Y, sample_weight=weight)
        found = own.set_params(tol=1e-10, random_state=0).fit(X, Y, sample_weight=weight)
        assert (found.coef_ != 0).tolist() == (wanted.coef_ != 0).tolist()
        np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-4)
        assert found.intercept_ == pytest.approx(wanted.intercept_, abs=1e-4)
        assert 0 <= found.dual_gap_ < 1e-5 and found.n_iter_ <= 500
        np.testing.assert_allclose(found.predict(X), wanted.predict(X), atol=1e-3)
        thin = clone(own).fit(sparse.csr_matrix(X), Y, sample_weight=weight)
        assert np.array_equal(thin.coef_, found.coef_)
        np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), found.predict(X))


def test_parameters_that_cannot_be_used():
    with pytest.raises(tux.UsageError, match="alpha = -1.0 is out of range"):
        tux.Lasso(alpha=-1.0).fit(X, Y)
    with pytest.raises(tux.UsageError, match="alpha = inf is out of range"):
        tux.Lasso(alpha=np.inf).fit(X, Y)
    with pytest.raises(tux.UsageError, match="l1_ratio = 2 is out of range"):
        tux.ElasticNet(l1_ratio=2).fit(X, Y)
    assert tux.Lasso(0.5).get_params()["alpha"] == 0.5
    assert "l1_ratio" not in tux.Lasso().get_params()


def test_without_a_penalty_it_is_least_squares():
    wanted = peers.LinearRegression().fit(X, Y)
    found = tux.Lasso(alpha=0.0, tol=1e-12, random_state=0).fit(X, Y)
    np.testing.assert_allclose(found.coef_, wanted.coef_, atol=1e-3)
    assert found.intercept_ == pytest.approx(wanted.intercept_, abs=1e-3)
    assert np.isnan(found.dual_gap_)
