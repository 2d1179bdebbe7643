"""Sparse logistic regression as a classifier: the optimum, classes of any type, weights."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from support.messages import message
from support.oracles.estimator_checks import QUICK

from tux.base.errors import UsageError
from tux.estimators import SparseLogisticRegression, matrices


@pytest.fixture(scope="module")
def clicks():
    """Return 60 samples of 12 features, of which two decide the class."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 12)) * (rng.random((60, 12)) < 0.5)
    return x, np.where(3 * x[:, 0] - 2 * x[:, 3] + rng.normal(size=60) > 0, "yes", "no")


def small_regression(**given):
    return SparseLogisticRegression(random_state=0, **given)


def slopes(model, x, sign, weight=1.0):
    """Return the slopes of the loss along each weight and the intercept; `sign` (n,) is +-1."""
    r = -weight * sign * expit(-sign * (x @ model.coef_[0] + model.intercept_[0]))
    return x.T @ r, r.sum()


def is_optimal(model, x, sign, weight=1.0):
    """Assert the conditions of an optimum under an L1 penalty, to three digits of it."""
    along, of_all = slopes(model, x, sign, weight)
    w, near = model.coef_[0], 1e-3 * model.l1
    assert np.abs(along[w == 0]).max(initial=0) <= model.l1 + near
    assert np.abs(along + np.sign(w) * model.l1)[w != 0].max(initial=0) <= near
    assert abs(of_all) <= near * len(x)


@pytest.mark.slow
def test_it_finds_the_optimum(clicks):
    x, y = clicks
    model = SparseLogisticRegression(l1=2.0, tol=1e-10).fit(x, y)
    is_optimal(model, x, np.where(y == "yes", 1, -1))
    assert 0 < np.count_nonzero(model.coef_) < x.shape[1]
    assert model.classes_.tolist() == ["no", "yes"] and model.n_features_in_ == 12
    assert model.score(x, y) > 0.7
    chances = model.predict_proba(x)
    np.testing.assert_allclose(chances[:, 1], expit(model.decision_function(x)))
    np.testing.assert_allclose(chances.sum(axis=1), 1)


@pytest.mark.slow
def test_weights_of_samples_and_classes(clicks):
    x, y = clicks
    weight = np.where(np.arange(len(y)) % 3, 1.0, 2.5)
    model = SparseLogisticRegression(tol=1e-10, class_weight={"no": 1, "yes": 3})
    model.fit(x, y, sample_weight=weight)
    is_optimal(model, x, np.where(y == "yes", 1, -1), weight * np.where(y == "yes", 3, 1))


@pytest.mark.slow
def test_sparse_samples_are_the_same(clicks):
    x, y = clicks
    dense, thin = (small_regression().fit(each, y) for each in (x, sparse.coo_array(x)))
    assert np.array_equal(dense.coef_, thin.coef_)
    assert np.array_equal(dense.predict(x), thin.sparsify().predict(sparse.csr_matrix(x)))
    assert np.array_equal(thin.densify().coef_, dense.coef_)


@pytest.mark.slow
def test_three_classes_are_one_against_the_rest(clicks):
    x = clicks[0]
    y = np.argmax(x[:, :3], axis=1) + 5
    model = small_regression(l1=0.5).fit(x, y)
    alone = small_regression(l1=0.5).fit(x, y == 6)
    assert np.array_equal(model.coef_[1], alone.coef_[0])
    assert model.coef_.shape == (3, 12) and model.n_iter_.shape == (3,)
    assert model.score(x, y) > 0.7
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1)
    np.testing.assert_allclose(model.predict_log_proba(x), np.log(model.predict_proba(x)))


@pytest.mark.slow
def test_a_search_in_a_pipeline(clicks):
    x, y = clicks
    steps = make_pipeline(MaxAbsScaler(), SparseLogisticRegression())
    search = GridSearchCV(steps, {"sparselogisticregression__l1": [0.1, 100.0]}, cv=2)
    search.fit(sparse.csr_array(x), y)
    assert search.best_params_ == {"sparselogisticregression__l1": 0.1}


@pytest.mark.slow
def test_it_says_that_it_has_not_converged(clicks):
    with pytest.warns(ConvergenceWarning, match="not converged after 2 passes"):
        SparseLogisticRegression(l1=0.1, max_iter=2).fit(*clicks)


def test_what_cannot_be_fitted(clicks):
    x, y = clicks
    with pytest.raises(ValueError, match=message("samples-of-at-least-2", "yes")):
        SparseLogisticRegression().fit(x, y, sample_weight=y == "yes")
    with pytest.raises(ValueError, match="Negative"):
        SparseLogisticRegression().fit(x, y, sample_weight=np.full(len(y), -1))
    with pytest.raises(ValueError, match="n_jobs is 0"):
        SparseLogisticRegression(n_jobs=0).fit(x, y)
    with pytest.raises(UsageError, match="l1 = -1"):
        SparseLogisticRegression(l1=-1).fit(x, y)
    with pytest.raises(ValueError, match=message("x-has-values-that-are")):
        SparseLogisticRegression().fit(x * 1e300, y)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.__name__)
def test_a_check_of_scikit_learn_holds(check):
    check("SparseLogisticRegression", small_regression())


@pytest.mark.slow
def test_entries_that_stand_twice_are_added_up(clicks):
    x, y = clicks
    rows = sparse.csr_array(x)
    pieces = np.stack([rows.data + 3e4, np.full(rows.nnz, -3e4)], axis=1)
    twice = sparse.csr_array(
        (pieces.ravel(), np.repeat(rows.indices, 2), 2 * rows.indptr), shape=rows.shape
    )
    model = small_regression().fit(twice, y)
    assert twice.nnz == 2 * rows.nnz  # those of the caller are not changed
    assert np.allclose(model.coef_, small_regression().fit(x, y).coef_, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_dense_and_sparse_samples_give_the_same_model(clicks, dtype, monkeypatch):
    x, y = clicks[0].astype(dtype), clicks[1]
    before, rows = x.copy(), sparse.csr_array(x)
    expected = small_regression().fit(rows, y).coef_
    for piece in (1, 30, 10**6):  # of a row, of some, of all
        monkeypatch.setattr(matrices, "PIECE", piece)
        assert np.array_equal(small_regression().fit(x, y).coef_, expected)
    assert np.array_equal(x, before) and np.array_equal(rows.toarray(), before)
