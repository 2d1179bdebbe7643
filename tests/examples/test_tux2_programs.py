"""The programs of TUX2's figures, `docs/examples/tux2_*.py`: against numpy and scikit-learn, on
several workers.
"""

from math import lgamma

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.machines.team import train_team
from support.oracles.blockpg_oracle import draw_samples, objective

from tux.arrays.edges import EdgeData
from tux.arrays.networks import from_arrays
from tux.program.sources import find
from tux.synthetic.ratings import ratings

FACTORS, BLOCKS, TOPICS = (
    find(f"docs/examples/tux2_{name}.py").program for name in ("mf", "blockpg", "lda")
)
WORKERS = pytest.mark.parametrize(
    ("k", "slack", "jit"),
    [(1, 0, False), (2, 0, False), (3, 2, False), pytest.param(1, 0, True, marks=pytest.mark.slow)],
)


# ---- matrix factorization


def plant_ratings():
    split = ratings(30, 20, 400, rank=3, step=0, test_share=0.1, seed=1, noise=0.2).split()
    train, test = split
    edges = from_arrays(train["user"], train["item"], ends=("user", "item"), value=train["rating"])
    fields = {"value": test["rating"]}
    return edges, EdgeData.of(
        ("user", "item"), test["user"], test["item"], fields, against=edges.ids
    )


def follow_mean_gradients(program, edges, p, q, epochs):
    """Return the factors of users and items, and the error of each epoch before its step."""
    src, dst, errors = edges.src, edges.dst, []
    for _ in range(epochs):
        error = edges.fields["value"] - (p[src] * q[dst]).sum(axis=1)
        errors.append(np.sqrt((error**2).mean()))
        steps = []
        for x, y, at, other in ((p, q, src, dst), (q, p, dst, src)):
            gradient = np.zeros_like(x)
            np.add.at(gradient, at, error[:, None] * y[other])
            mean = gradient / np.bincount(at, minlength=len(x))[:, None]
            steps.append(program.step * (mean - program.reg * x))
        p, q = p + steps[0], q + steps[1]
    return p, q, errors


@WORKERS
def test_factors_follow_the_mean_gradients(k, slack, jit):
    """All items are one mini-batch, so each epoch is one step."""
    edges, held = plant_ratings()
    program = FACTORS(rank=3)
    start = train_team(program, edges, 0, k=1)
    before = [start.gather(end, "f").astype(float) for end in ("user", "item")]
    team = train_team(program, edges, 20, held, k=k, slack=slack, jit=jit)
    p, q, errors = follow_mean_gradients(program, edges, *before, 20 if slack == 0 else 0)
    if slack == 0:
        np.testing.assert_allclose(team.gather("user", "f"), p, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(team.gather("item", "f"), q, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(team.history("train_rmse"), errors, rtol=1e-4)
    for error in ("train_rmse", "test_rmse"):
        assert team.history(error)[-1] < 0.5 * team.history(error)[0]


@pytest.mark.parametrize("batch", [1, 5])
def test_the_error_falls_with_mini_batches(batch):
    """Also with slack, at which gradients are some mini-batches old."""
    edges, _ = plant_ratings()
    team = train_team(FACTORS(rank=3, batch=batch), edges, 30, k=2, slack=2)
    assert team.history("train_rmse")[-1] < 0.4 * team.history("train_rmse")[0]


# ---- sparse logistic regression


@pytest.mark.slow(after=2)
@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 0), (3, 2)])
def test_blocks_reach_the_optimum_of_scikit_learn(k, slack):
    data = draw_samples(n=150, p=40, share=0.2, seed=5)
    best = LogisticRegression(
        C=1.0, l1_ratio=1.0, fit_intercept=False, solver="liblinear", tol=1e-6, max_iter=10_000
    ).fit(data.x, data.y)
    least = objective(data, best.coef_[0], 1.0)
    program = BLOCKS(block=5)
    team = train_team(program, data.edges(), 50, k=k, slack=slack, by="bicut", jit=True)
    found = team.history("objective")
    assert found[-1] < 1.01 * least < found[0]
    weights = team.gather("feature", "w")
    assert objective(data, weights, 1.0) == pytest.approx(found[-1], rel=1e-9)


def test_blocks_judge_held_out_samples():
    data, new = draw_samples(n=60, p=12, seed=1), draw_samples(n=30, p=12, seed=2)
    edges = data.edges()
    team = train_team(BLOCKS(block=4), edges, 3, new.edges(edges), k=2, by="bicut")
    margins = new.y * (new.x @ team.gather("feature", "w"))
    loss = np.logaddexp(0, -margins).mean()
    assert team.history("test_logloss")[-1] == pytest.approx(loss, rel=1e-6)


# ---- topics of documents


def corpus():
    """Return 20 documents of 40 words each, of which half have words 0 to 9, half 10 to 19, as
    pairs with counts.
    """
    rng = np.random.default_rng(3)
    counts = np.zeros((20, 20), int)
    for document, row in enumerate(counts):
        np.add.at(row, rng.integers(0, 10, 40) + 10 * (document % 2), 1)
    pairs = np.nonzero(counts)
    return EdgeData.of(("document", "word"), *pairs, {"count": counts[pairs]}), counts


def log_likelihood(words, beta):
    """Return log p(words | topics) of an occurrence (Griffiths and Steyvers, equation 2), of the
    counts (words, topics).
    """
    v, _ = words.shape
    logs = [
        lgamma(v * beta) - v * lgamma(beta) + sum(lgamma(n + beta) for n in each)
        - lgamma(each.sum() + v * beta)
        for each in words.T
    ]  # fmt: skip
    return sum(logs) / words.sum()


@WORKERS
def test_topics_are_found_and_counts_are_right(k, slack, jit):
    edges, counts = corpus()
    team = train_team(TOPICS(topics=2), edges, 25, k=k, slack=slack, jit=jit)
    documents, words = (team.gather(end, "topics") for end in ("document", "word"))
    np.testing.assert_array_equal(documents.sum(axis=1), counts.sum(axis=1))
    np.testing.assert_array_equal(words.sum(axis=1), counts.sum(axis=0))
    np.testing.assert_array_equal(words.sum(axis=0), team.tau.topics)
    found = team.history("log_likelihood")
    assert found[-1] == pytest.approx(log_likelihood(words, 0.01), rel=1e-9)
    assert found[0] < found[-1]
    # the two kinds of documents have nearly all of one topic each
    halves = documents[::2].sum(axis=0), documents[1::2].sum(axis=0)
    assert np.abs(halves[0] - halves[1]).sum() > 0.9 * counts.sum()


def test_occurrences_of_a_pair_have_topics_of_their_own():
    edges = EdgeData.of(("document", "word"), [0], [0], {"count": np.array([400])})
    team = train_team(TOPICS(topics=4), edges, 0, k=1)
    assert team.gather("word", "topics").min() > 50


def test_draws_are_those_of_the_formula():
    """Each document has a word of its own, twice: given the other occurrence in topic j, p(j) ~
    (1 + alpha) (1 + beta) and p(other) ~ alpha beta, as both topics are equally frequent in all.
    """
    ends = np.arange(4000)
    edges = EdgeData.of(("document", "word"), ends, ends, {"count": np.full(4000, 2)})
    program = TOPICS(topics=2, alpha=1.0, beta=1.0)
    team = train_team(program, edges, 3, k=1, jit=True)
    alike = (team.gather("document", "topics").max(axis=1) == 2).mean()
    assert alike == pytest.approx(4 / 5, abs=0.03)
