"""LDA as a transformer: topics that are known, and the numbers of a run of the app."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from support.oracles.estimator_checks import QUICK

from tux.estimators import LatentDirichletAllocation


@pytest.fixture(scope="module")
def corpus():
    """Return 40 documents: words 0 to 4 occur in even ones, 5 to 9 in odd ones, 10 never."""
    counts = np.random.default_rng(0).poisson(3, (40, 11))
    counts[::2, 5:], counts[1::2, :5], counts[:, 10] = 0, 0, 0
    return counts


@pytest.fixture(scope="module")
def model(corpus):
    return LatentDirichletAllocation(n_components=2, max_iter=20, random_state=0).fit(corpus)


@pytest.mark.slow
def test_topics_that_are_known(model, corpus):
    theta = model.transform(corpus)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    best = theta.argmax(axis=1)
    assert (best[::2] == best[0]).all() and (best[1::2] == 1 - best[0]).all()
    assert theta.max(axis=1).min() > 0.9
    counts = model.components_ - model.topic_word_prior_
    np.testing.assert_allclose(counts.sum(axis=0), corpus.sum(axis=0), atol=1e-6)
    assert counts[best[0], :5].sum() == pytest.approx(corpus[::2].sum())
    assert model.n_iter_ == 20 and model.n_features_in_ == 11
    assert model.get_feature_names_out().tolist() == [
        "latentdirichletallocation0",
        "latentdirichletallocation1",
    ]


@pytest.mark.slow
def test_words_that_training_has_not_seen_count_nothing(model, corpus):
    more = corpus.copy()
    more[:, 10] = 7
    assert np.array_equal(model.transform(more), model.transform(corpus))
    assert model.perplexity(more) == model.perplexity(corpus)
    assert np.isnan(model.perplexity(np.zeros((2, 11))))
    np.testing.assert_allclose(model.transform(np.zeros((2, 11))), 0.5)


@pytest.mark.slow
def test_matrices_of_any_kind(model, corpus):
    expected = model.transform(corpus)
    for x in (sparse.csr_matrix(corpus), sparse.coo_array(corpus), corpus.astype(float)):
        assert np.array_equal(model.transform(x), expected)
    assert model.transform(corpus.astype(np.float32)).dtype == np.float32


@pytest.mark.slow
def test_one_topic(corpus):
    model = LatentDirichletAllocation(n_components=1, max_iter=2).fit(corpus)
    np.testing.assert_allclose(model.transform(corpus), 1)


@pytest.mark.slow
def test_texts_in_a_pipeline():
    texts = ["cat dog cat", "dog cat", "sun moon", "moon sun sun"] * 5
    topics = LatentDirichletAllocation(n_components=2, max_iter=30, random_state=1)
    steps = make_pipeline(CountVectorizer(), topics)
    theta = steps.fit_transform(texts)
    best = theta.argmax(axis=1)
    assert best[0] == best[1] != best[2] == best[3]
    assert np.array_equal(steps.transform(["moon"]).argmax(axis=1), best[2:3])


@pytest.mark.slow
def test_what_cannot_be_fitted(corpus):
    with pytest.raises(ValueError, match="no word occurs"):
        LatentDirichletAllocation().fit(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="Negative values"):
        LatentDirichletAllocation().fit(-corpus)
    with pytest.warns(DataConversionWarning, match="fractions of X are rounded"):
        LatentDirichletAllocation(n_components=2, max_iter=1).fit(corpus + 0.2)
    with pytest.raises(NotFittedError):
        LatentDirichletAllocation().transform(corpus)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:LatentDirichletAllocation counts whole occurrences")
@pytest.mark.parametrize("check", QUICK, ids=lambda check: check.__name__)
def test_a_check_of_scikit_learn_holds(check):
    topics = LatentDirichletAllocation(n_components=2, max_iter=2, random_state=0)
    check("LatentDirichletAllocation", topics)
