"""Boosted trees that rank, as an estimator."""

import numpy as np
import pytest
from support.oracles.ranking_oracle import draw_queries, ndcg

import tux

FEW = {"max_iter": 3, "max_depth": 2, "min_child_weight": 0.1}
X, Y, QUERY = draw_queries([12, 1, 9, 14])


@pytest.mark.slow
def test_it_is_the_run_of_the_program():
    words = np.array(["one", "two", "three", "four"])[QUERY]
    # queries by turns; equal scores keep their order, so that of each query stays
    mixed = np.lexsort((QUERY, np.arange(len(Y)) - np.searchsorted(QUERY, QUERY)))
    model = tux.BoostedTreesRanker(**FEW, ndcg_at=5).fit(X, Y, QUERY)
    run = tux.run(tux.GBDT(loss="lambdarank", **FEW), (X, Y, None, QUERY), progress=False)
    scores = model.predict(X)
    assert scores == pytest.approx(np.asarray(run.predict(X)), abs=1e-6)
    assert model.score(X, Y, QUERY) == pytest.approx(ndcg(scores, Y, QUERY, 5))
    other = tux.BoostedTreesRanker(**FEW).fit(X[mixed], Y[mixed], words[mixed])
    assert np.array_equal(other.predict(X), scores)
    assert len(model.history_["train_ndcg"]) == 3
    model.partial_fit(X, Y, QUERY)
    assert model.n_iter_[0] == 6 and model.contributions(X).sum(axis=1) == pytest.approx(
        model.predict(X), abs=1e-5
    )


@pytest.mark.slow
def test_a_sample_of_weight_0_keeps_its_rank_as_in_a_run():
    weight = (np.arange(len(Y)) % 3 > 0).astype(float)
    model = tux.BoostedTreesRanker(**FEW).fit(X, Y, QUERY, weight)
    run = tux.run(tux.GBDT(loss="lambdarank", **FEW), (X, Y, weight, QUERY), progress=False)
    assert model.predict(X) == pytest.approx(np.asarray(run.predict(X)), abs=1e-6)


def test_grades_that_are_none_have_no_score():
    model = tux.BoostedTreesRanker(**FEW)
    for wrong in (Y + 0.5, Y - 5.0, Y + 1500.0, Y * np.nan):
        with pytest.raises(ValueError, match="grades are whole numbers from 0 to 31"):
            model.score(X, wrong, QUERY)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X[1:], Y, QUERY)


def test_queries_that_do_not_fit_are_refused():
    model = tux.BoostedTreesRanker(**FEW)
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="pass qid="):
            fit(X, Y)
    with pytest.raises(tux.DataError, match="queries are one column"):
        model.fit(X, Y, np.zeros((len(Y), 2)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, Y, QUERY[1:])
    with pytest.raises(ValueError, match="the query of sample 3 is missing"):
        model.fit(X, Y, [*["a"] * 3, None, *["b"] * (len(Y) - 4)])
