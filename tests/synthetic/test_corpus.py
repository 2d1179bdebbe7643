"""Synthetic corpora: exact sizes, the model's own distributions, and files that hold what was
made.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.examples import examples

from tux.arrays.arrow import read_parquet
from tux.base.errors import DiskError, UsageError
from tux.io.bags.bags import read_bags
from tux.synthetic.corpus import corpus, write_corpus


@settings(max_examples=examples(50), deadline=None)
@given(
    st.integers(1, 30),
    st.integers(1, 40),
    st.integers(1, 6),
    st.integers(0, 500),
    st.integers(-(2**70), 2**70),
)
def test_sizes_are_exact(documents, vocabulary, topics, more, seed):
    made = corpus(documents, vocabulary, topics, documents + more, seed=seed)
    assert made.count.sum() == made.lengths.sum() == documents + more and made.count.min() >= 1
    pairs = made.document.astype(int) * (vocabulary + 1) + made.word
    assert (np.diff(pairs) > 0).all()  # in order of documents and words, and no pair twice
    assert (
        set(made.document) == set(range(1, documents + 1))
        and made.word.min() >= 1
        and made.word.max() <= vocabulary
    )
    assert np.bincount(made.document, made.count)[1:].tolist() == made.lengths.tolist()
    assert made.phi.shape == (topics, vocabulary) and made.theta.shape == (documents, topics)
    for simplex in (made.phi, made.theta):
        assert simplex.min() >= 0 and np.allclose(simplex.sum(axis=1), 1, atol=1e-5)


def test_same_seed_same_corpus():
    one, again, other = (corpus(seed=seed) for seed in (3, 3, 4))
    for name in ("document", "word", "count", "phi", "theta"):
        assert np.array_equal(getattr(one, name), getattr(again, name)) and not np.array_equal(
            getattr(one, name), getattr(other, name)
        )


def test_topics_of_tokens_are_counted():
    made = corpus(60, 50, 4, 20_000)
    documents, words = made.assignments()
    assert documents.sum(axis=1).tolist() == made.lengths.tolist()
    assert (
        words.sum(axis=0).tolist() == np.bincount(made.word - 1, made.count, minlength=50).tolist()
    )
    assert documents.sum(axis=0).tolist() == words.sum(axis=1).tolist()
    shares = words / words.sum(axis=1, keepdims=True)
    cosine = (
        (shares * made.phi).sum(axis=1)
        / np.linalg.norm(shares, axis=1)
        / np.linalg.norm(made.phi, axis=1)
    )
    assert cosine.min() > 0.99


def test_tokens_follow_the_topics():
    made = corpus(40, 60, 5, 400_000, beta=0.5, alpha=0.5)
    documents, words = made.assignments()
    for found, share, total in (
        (documents, made.theta, made.lengths[:, None]),
        (words, made.phi, documents.sum(axis=0)[:, None]),
    ):
        expected = share.astype(float) * total
        likely = expected > 5
        deviation = ((found - expected) ** 2 / np.where(likely, expected, 1))[likely].sum()
        freedom = int(likely.sum()) - len(share)
        assert 1e-4 < stats.chi2.sf(deviation, freedom) < 1 - 1e-4


def test_priors_have_the_stated_moments():
    for alpha in (0.05, 0.7, 3.0):
        theta = corpus(4000, 2, 8, 4000, alpha=alpha).theta.astype(float)
        assert np.allclose(theta.mean(axis=0), 1 / 8, atol=0.02)
        assert theta.var(axis=0).mean() == pytest.approx(
            (1 / 8) * (7 / 8) / (8 * alpha + 1), rel=0.06
        )
        p = stats.kstest(theta[:, 0], stats.beta(alpha, 7 * alpha).cdf).pvalue
        assert p > 1e-4
    phi = corpus(2, 40, 4000, 2, beta=0.2, tail=1.0).phi.astype(float)
    mean = np.sort(phi.mean(axis=0))[::-1]
    law = 1 / (np.arange(1, 41) + 2.7)
    assert np.allclose(mean, law / law.sum(), rtol=0.3)
    assert np.allclose(
        corpus(2, 40, 4000, 2, beta=0.2, tail=0).phi.mean(axis=0), 1 / 40, atol=0.005
    )


def test_words_and_lengths_have_tails():
    made = corpus(2000, 3000, 20, 400_000)
    frequency = np.sort(np.bincount(made.word, made.count))[::-1]
    # flat, the first would be 0.01
    assert frequency[:30].sum() > 0.2 * 400_000 and frequency[1000:].sum() > 0.01 * 400_000
    logs = np.log(made.lengths)
    assert np.std(logs) == pytest.approx(0.6, rel=0.1) and abs(stats.skew(logs)) < 0.2
    assert set(corpus(100, 50, 2, 1000, spread=0).lengths) == {10}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"documents": 0}, "documents is 0"),
        ({"vocabulary": 0}, "vocabulary is 0"),
        ({"topics": -1}, "topics is -1"),
        ({"documents": 2**31}, "documents is 2,147,483,648"),
        ({"tokens": 9}, "9 tokens are too few for 10 documents"),
        ({"alpha": 0}, "alpha is 0"),
        ({"beta": float("nan")}, "beta is nan"),
        ({"tail": -1}, "tail is -1"),
        ({"spread": float("inf")}, "spread is inf"),
    ],
)
def test_impossible_requests(change, says):
    with pytest.raises(UsageError, match=says) as told:
        corpus(**({"documents": 10, "vocabulary": 20, "topics": 3, "tokens": 100} | change))
    assert told.value.do


@pytest.mark.parametrize("name", ["docword.txt", "docword.txt.gz", "docword.txt.zst"])
def test_docword_files_hold_the_corpus(tmp_path, name):
    made = corpus(30, 40, 3, 900)
    write_corpus(made, tmp_path / name, tmp_path / "vocab.txt")
    for vocab, ids in ((None, np.arange(1, 41)), (tmp_path / "vocab.txt", made.vocabulary)):
        edges = read_bags(tmp_path / name, vocab=vocab).edges
        assert np.array_equal(edges.ids["document"].decode(edges.src), made.document)
        assert np.array_equal(edges.ids["word"].decode(edges.dst), ids[made.word - 1])
        assert np.array_equal(edges.fields["count"], made.count)


def test_tables_hold_the_corpus(tmp_path):
    made = corpus(30, 40, 3, 900)
    write_corpus(made, tmp_path / "c.parquet")
    read = read_parquet(tmp_path / "c.parquet")
    assert all(
        np.array_equal(read[name], getattr(made, name)) for name in ("document", "word", "count")
    )
    for name, separator in (("c.csv", ","), ("c.tsv.gz", "\t")):
        write_corpus(made, tmp_path / name)
        table = np.loadtxt(tmp_path / name, delimiter=separator, skiprows=1)
        assert np.array_equal(table.T, [made.document, made.word, made.count])


def test_files_that_cannot_be(tmp_path):
    made = corpus(5, 5, 2, 50)
    for path, vocab, says in (
        ("a.xls", None, "kind of file"),
        ("a.parquet.gz", None, "kind of file"),
        ("a.txt", "./a.txt", "both"),
    ):
        with pytest.raises(UsageError, match=says):
            write_corpus(made, tmp_path / path, vocab and tmp_path / vocab)
    with pytest.raises(DiskError):
        write_corpus(made, tmp_path / "none" / "a.txt")
    assert not list(tmp_path.iterdir())
