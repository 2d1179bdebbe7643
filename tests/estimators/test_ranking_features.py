"""Features of users and items in estimators: what is refused, and which argument is told."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from support.messages import message

from tux import DataError, UsageError
from tux.estimators import (
    AlternatingLeastSquares,
    BayesianPersonalizedRanking,
    MatrixFactorization,
)
from tux.estimators.fitting import fit
from tux.estimators.parameters import make_program
from tux.estimators.tables import features_of

HAS = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
PAIRS = sparse.csr_array(np.eye(5, 4))


def error_of(features):
    """Return the error of a fit with these features of items."""
    with pytest.raises(DataError) as error:
        BayesianPersonalizedRanking(2, max_iter=1).fit(PAIRS, item_features=features)
    return f"{error.value.what} {error.value.where} {error.value.do}"


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (sparse.csr_array(HAS.T), ["item_features is a matrix of 3 x 4", "5 x 4", "fewer rows"]),
        (sparse.csr_array(HAS * [[1.0, 2, 3]]), ["item_features has the entries", "ranges"]),
        (sparse.csr_array(HAS * -1.0), ["item_features has the entry -1", "ranges"]),
        (sparse.csr_array(HAS.shape), ["item_features has no entry"]),
        (HAS, ["item_features is an array of shape (4, 3)", "csr_array"]),
        (HAS[0], ["item_features is an array of shape (3,)"]),
        (pd.DataFrame({"item": [0], "age": [0.5]}), ["given as item_features", "into ranges"]),
        (pd.DataFrame({"user": [0], "feature": ["a"]}), ["called as a user"]),
        (pd.DataFrame({"item": [0, 1], "a": [3, 1], "value": [0, 1]}), ["rows with 0 or nothing"]),
    ],
)
def test_features_that_cannot_be_meant(features, words):
    told = error_of(features)
    assert [word for word in words if word not in told] == []
    assert "columns=" not in told


def test_entries_of_0_are_no_features():
    every = np.indices(HAS.shape).reshape(2, -1)
    matrix = sparse.coo_array((HAS.ravel(), every), shape=HAS.shape)
    rows, columns = features_of("item_features", matrix)
    assert sorted(zip(rows.tolist(), columns.tolist(), strict=True)) == [
        tuple(pair) for pair in np.argwhere(HAS).tolist()
    ]


@pytest.mark.parametrize(
    ("model", "program"),
    [(MatrixFactorization(2), "FeatureMF"), (AlternatingLeastSquares(2), "FeatureALS")],
)
def test_ratings_with_features_name_their_program(model, program):
    with pytest.raises(UsageError, match=message("has-no", "item_features", program)):
        model.fit(PAIRS, item_features=HAS)
    with pytest.raises(TypeError, match="unexpected keyword argument 'item_feature'"):
        model.fit(PAIRS, item_feature=HAS)


def test_the_penalty_of_features():
    from tux.apps.bpr import BPR, FeatureBPR

    model = BayesianPersonalizedRanking(2, feature_reg=7)
    assert make_program(model, FeatureBPR, rank="n_components").parameters["feature_reg"] == 7
    assert "feature_reg" not in make_program(model, BPR, rank="n_components").parameters


def test_data_by_edge_type_are_refused_with_a_name():
    given = {"pair": PAIRS, "item_features": sparse.csr_array(HAS)}
    with pytest.raises(UsageError) as error:
        BayesianPersonalizedRanking(2).fit(given)
    assert error.value.do.startswith("FeatureBPR has it")


def test_errors_name_no_option_that_a_fit_has_not():
    table = pd.DataFrame({"item": [1, 2], "a": [1, 2], "b": [3, 4], "c": [5, 6]})
    model = BayesianPersonalizedRanking(2, max_iter=1)
    with pytest.raises(DataError) as error:
        fit(model, model._program(), table)
    assert "columns=" not in error.value.do and error.value.do.endswith("needed alone.")
