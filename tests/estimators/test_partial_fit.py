"""Estimators that go on with new data: `partial_fit` as runs that begin with a model do."""

import numpy as np
import pytest
from scipy import sparse

import tux

RATINGS = {"user": ["a", "a", "b", "c"], "item": [1, 2, 2, 3], "rating": [5.0, 3.0, 4.0, 1.0]}
LATER = {"user": ["d", "b"], "item": [1, 4], "rating": [2.0, 5.0]}


@pytest.mark.parametrize(
    "make",
    [
        lambda: tux.MatrixFactorization(3, max_iter=3, random_state=1),
        lambda: tux.AlternatingLeastSquares(3, max_iter=3, random_state=1),
    ],
)
def test_factors_go_on(make):
    model = make().partial_fit(RATINGS)  # the first time it is fit
    first = make().fit(RATINGS)
    assert np.array_equal(model.user_factors_, first.user_factors_)
    model = model.partial_fit(LATER)
    assert model.user_ids_.tolist() == ["a", "b", "c", "d"]
    assert model.item_ids_.tolist() == [1, 2, 3, 4]
    same = (model.user_factors_[:3] == first.user_factors_).all(axis=1)
    assert same.tolist() == [True, False, True]
    program = first._program()
    old = tux.run(program, RATINGS, epochs=3, seed=1, progress=False)
    new = tux.run(program, LATER, from_run=old, seed=1, progress=False)
    assert np.array_equal(model.user_factors_, new.vertices["user"]["f"])
    assert len(model.recommend(["d"], 2)) == 2


def test_topics_count_on():
    counts = sparse.csr_matrix(np.array([[2, 1, 0, 0], [0, 1, 3, 0], [1, 0, 0, 2]]))
    model = tux.LatentDirichletAllocation(2, max_iter=4, random_state=1).fit(counts)
    seen = model.components_.sum() - model.components_.size * model.topic_word_prior_
    model.partial_fit(sparse.csr_matrix(np.array([[0, 0, 1, 4]])))
    both = model.components_.sum() - model.components_.size * model.topic_word_prior_
    assert round(seen) == 10 and round(both) == 15
    assert model.transform(counts).shape == (3, 2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_centers_go_on(kind):
    first = np.array([[0.0, 0.0], [0.0, 2.0], [9.0, 9.0], [9.0, 7.0]])
    model = tux.KMeans(2, random_state=0).fit(kind(first))
    model.partial_fit(kind(np.array([[0.0, 4.0], [9.0, 5.0]])))
    found = sorted(model.cluster_centers_.tolist())
    np.testing.assert_allclose(found, [[0.0, 2.0], [9.0, 7.0]], atol=1e-5)
    assert model.labels_.shape == (2,)


def test_weights_go_on_and_classes_stay():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    y = np.where(x @ [1.0, -2.0, 0.5, 0.0] > 0, "yes", "no")
    model = tux.LogisticRegression().fit(x[:50], y[:50])
    before = model.coef_.copy()
    model.partial_fit(x[50:], y[50:])
    assert not np.array_equal(before, model.coef_) and np.abs(before - model.coef_).max() < 0.5
    assert model.score(x, y) > 0.9
    model.partial_fit(x[:1], ["yes"])  # one class is enough for more of it
    with pytest.raises(ValueError, match="does not know the class maybe"):
        model.partial_fit(x[:1], ["maybe"])


def test_new_vertices_get_vectors():
    ring = np.array([(n, (n + k) % 10) for n in range(10) for k in (1, 2)])
    model = tux.DeepWalkEmbedding(4, num_walks=2, walk_length=5, window=2, random_state=0)
    before = model.fit(ring).embedding_.copy()
    model.partial_fit(np.concatenate([ring, [(20, 0), (20, 5)]]))
    assert model.node_ids_.tolist()[10:] == [20]
    assert np.array_equal(model.embedding_[:10], before)
    assert np.abs(model.embedding_[10]).max() > 0


def test_pairs_go_on():
    pairs = {name: RATINGS[name] for name in ("user", "item")}
    model = tux.BayesianPersonalizedRanking(3, max_iter=3, random_state=1).fit(pairs)
    before = model.user_factors_
    model.partial_fit({"user": ["d", "b"], "item": [1, 4]})
    assert model.user_ids_.tolist() == ["a", "b", "c", "d"] and len(model.item_biases_) == 4
    same = (model.user_factors_[:3] == before).all(axis=1)
    assert same.tolist() == [True, False, True] and model.n_iter_ == 30
    assert len(model.recommend(["d"], 2)) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [0, 2, 3])
def test_trees_are_added(kinds):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 3))
    y = np.digitize(x[:, 0], [0, 0.8][: kinds - 1]) if kinds else x[:, 0] + x[:, 1]
    kind = tux.BoostedTreesClassifier if kinds else tux.BoostedTreesRegressor
    model = kind(max_iter=3, max_depth=2, random_state=0).fit(x[:60], y[:60])
    before, each = model.trees_["weight"], kinds if kinds > 2 else 1
    model.partial_fit(x[60:], y[60:])
    after = model.trees_["weight"]
    assert len(before) == 3 * each and len(after) == 6 * each  # no more than max_iter at a time
    assert np.array_equal(after[: len(before)], before) and model.n_iter_.tolist() == [6]
    assert model.score(x, y) > 0.5
    again = kind(max_iter=3, max_depth=2, random_state=0).partial_fit(x[:60], y[:60])
    assert np.array_equal(again.trees_["weight"], before)  # the first time it is fit
