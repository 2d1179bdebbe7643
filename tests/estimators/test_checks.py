"""scikit-learn's own checks of estimators, and the few that do not hold."""

import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import estimator_checks as checks
from support.messages import message

from tux.base.errors import DataError, UsageError
from tux.estimators import (
    AlternatingLeastSquares,
    BayesianPersonalizedRanking,
    BoostedTreesClassifier,
    BoostedTreesRegressor,
    DeepWalkEmbedding,
    ElasticNet,
    KMeans,
    LatentDirichletAllocation,
    LogisticRegression,
    MatrixFactorization,
    SparseLogisticRegression,
    conventions,
)

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"

OF_MATRICES = [
    LogisticRegression(tol=1e-11, random_state=0),
    SparseLogisticRegression(random_state=0),
    ElasticNet(alpha=0.1, random_state=0),
    KMeans(n_clusters=3, random_state=0),
    LatentDirichletAllocation(n_components=3, max_iter=5, random_state=0),
    BoostedTreesClassifier(max_iter=10, random_state=0),
    BoostedTreesRegressor(max_iter=10, random_state=0),
]
ONE_OF_A_KIND = [
    each
    for each in OF_MATRICES
    if isinstance(each, LogisticRegression | KMeans | BoostedTreesRegressor)
]
"""One classifier, one clusterer, one regressor."""

REASON = "slopes are kept in 32 bits, so optima agree to 1e-5, where 1e-7 is asked for"
ROUNDED = "slopes are rounded to 2^-29 of the largest, so splits of equal gains may differ"
EXCEPTIONS = {
    "SparseLogisticRegression": {
        "check_sample_weight_equivalence_on_dense_data": REASON,
        "check_sample_weight_equivalence_on_sparse_data": REASON,
    },
    "ElasticNet": {
        "check_sample_weight_equivalence_on_dense_data": REASON,
        "check_sample_weight_equivalence_on_sparse_data": REASON,
    },
    "BoostedTreesClassifier": {
        "check_sample_weight_equivalence_on_dense_data": ROUNDED,
        "check_sample_weight_equivalence_on_sparse_data": ROUNDED,
    },
}
"""By estimator: checks that fail, and why."""

# of estimators whose data are no matrices of numbers, and for which scikit-learn has no data
OF_PARAMETERS = [
    checks.check_estimator_cloneable,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_mixin_order,
    checks.check_valid_tag_types,
    checks.check_do_not_raise_errors_in_init_or_set_params,
]

# scikit-learn's data are fractions, where documents have counts; and classes that are hard to fit
pytestmark = [
    pytest.mark.filterwarnings("ignore:LatentDirichletAllocation counts whole occurrences"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def expected_failures(estimator):
    """Return the checks that fail, and why."""
    return EXCEPTIONS.get(type(estimator).__name__, {})


@pytest.mark.long(after=35)
@pytest.mark.slow
@checks.parametrize_with_checks(ONE_OF_A_KIND, expected_failed_checks=expected_failures)
def test_a_check_of_scikit_learn_holds(estimator, check):
    check(estimator)


@pytest.mark.long
@checks.parametrize_with_checks(
    [each for each in OF_MATRICES if each not in ONE_OF_A_KIND],
    expected_failed_checks=expected_failures,
)
def test_a_check_of_scikit_learn_holds_for_the_others(estimator, check):
    check(estimator)


OF_PAIRS = [
    MatrixFactorization,
    AlternatingLeastSquares,
    BayesianPersonalizedRanking,
    DeepWalkEmbedding,
]


@pytest.mark.parametrize("kind", OF_PAIRS)
@pytest.mark.parametrize("check", OF_PARAMETERS, ids=lambda check: check.__name__)
def test_a_check_of_parameters_holds(kind, check):
    check(kind.__name__, kind())


X = np.array([[1.0, 9], [2, 3], [3, 4], [0, 1]])
Y = np.array([1, 0, 1, 0])
HIDDEN, NONE = np.ma.masked_greater_equal(X, 9), np.ma.masked_greater_equal(X, 99)


@pytest.mark.parametrize("estimator", OF_MATRICES, ids=lambda each: type(each).__name__)
def test_masked_samples_are_refused(estimator):
    with pytest.raises(DataError, match=message("an-array-has", "1 masked value")):
        clone(estimator).fit(HIDDEN, Y)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LogisticRegression, BoostedTreesClassifier])
def test_masked_labels_weights_and_new_samples_are_refused(kind):
    hidden = np.ma.masked_equal(Y, 1)
    with pytest.raises(DataError, match="2 masked values"):
        kind().fit(X, hidden)
    with pytest.raises(DataError, match="2 masked values"):
        kind().fit(X, Y, sample_weight=np.ma.masked_equal([1.0, 2, 1, 2], 2))
    fitted = kind(max_iter=2).fit(NONE, Y)
    with pytest.raises(DataError, match="1 masked value"):
        fitted.predict(HIDDEN)
    assert fitted.predict(NONE).tolist() == fitted.predict(X).tolist()


def test_masked_pairs_are_refused():
    pairs = np.array([[1, 2], [2, 3]])
    for given in (
        (np.ma.masked_equal(pairs, 3), [1.0, 2]),
        (pairs, np.ma.masked_equal([1.0, 2], 2)),
    ):
        with pytest.raises(DataError, match="1 masked value"):
            MatrixFactorization(n_components=1, max_iter=1).fit(*given)


def test_few_checks_are_excepted():
    assert sum(map(len, EXCEPTIONS.values())) <= 6


def test_without_scikit_learn_one_line_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    with pytest.raises(UsageError, match=message("the-estimators-need-scikit-learn")) as told:
        runpy.run_path(conventions.__file__)
    assert told.value.do == "pip install 'tux[sklearn]'"


@pytest.mark.long
def test_the_programs_of_the_page(tmp_path):
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    path = tmp_path / "page.py"
    path.write_text("\n".join(blocks), encoding="utf-8")
    found = runpy.run_path(str(path))
    assert len(found["best"]) == 10 and found["model"].embedding_.shape == (34, 16)
