"""LDA on corpora, by both samplers: counts that stay true on many workers, topics that are known,
corner cases, and real data.
"""

import numpy as np
import pytest
from support.machines.lda_team import (
    CORNERS,
    ENDS,
    Sampling,
    bags,
    counts,
    draw_documents,
    read_kos,
)
from support.machines.warplda_team import WarpTeam
from support.oracles import lda_oracle as oracle
from support.programs.programs import start

from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import WarpLDA
from tux.arrays.edges import EdgeData
from tux.engine.training import Training


@pytest.mark.long(after=4)
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "sampler"), [(Sampling, LDA), (WarpTeam, WarpLDA)])
@pytest.mark.parametrize("k", [1, 3, 2, 4])
@pytest.mark.parametrize("slack", [0, 2])
def test_counts_are_true_after_every_epoch(kind, sampler, k, slack):
    program = sampler(topics=5, parts=4)
    team = kind(program, draw_documents(), k=k, slack=slack, delivery=k).check()
    before = counts(team.workers)[1]
    for _ in range(4):
        team.epoch()
        team.check()
        assert team.likelihood() == pytest.approx(team.true_likelihood(), rel=1e-10)
    assert not np.array_equal(counts(team.workers)[1], before)


# Whole runs.

KNOWN = oracle.corpus(150, 40, vocabulary=60, topics=5, alpha=0.1, beta=0.1, seed=1)
MANY = oracle.corpus(500, 40, vocabulary=300, topics=30, alpha=0.5, beta=0.2, seed=1)


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.long), 2])
def test_known_topics_are_found(k):
    """By the best of six chains, as every other joins two topics for long (by 12 seeds: 6 of one
    worker, 5 of two, do not).
    """
    edges = bags(KNOWN.documents, KNOWN.words)
    ids = edges.ids["word"].values
    by_document, by_word = (
        oracle.count_topics(rows, KNOWN.topics, rows.max() + 1, 5)
        for rows in (KNOWN.documents, KNOWN.words)
    )
    best, topics = -np.inf, None
    for seed in range(6):
        team = Sampling(LDA(topics=5, alpha=0.1, beta=0.1, parts=8), edges, k=k, seed=seed)
        for _ in range(30):
            team.epoch()
            if (found := team.likelihood()) > best:
                best, topics = found, team.gather("word", "n").T.copy()
    assert best >= oracle.log_likelihood(by_document, by_word, 0.1, 0.1) / len(KNOWN.words)
    assert oracle.likeness(topics, KNOWN.phi[:, ids]) >= 0.9


def mean_likelihood(k, slack):
    """Return the log-likelihood per token after some epochs: the mean of eight seeds, and of the
    last four epochs of each.
    """
    edges, found = bags(MANY.documents, MANY.words), []
    for seed in range(8):
        team = Sampling(
            LDA(topics=30, alpha=0.5, beta=0.2, parts=8),
            edges,
            k=k,
            slack=slack,
            seed=seed,
            delivery=seed,
        )
        for epoch in range(10):
            team.epoch()
            if epoch >= 6:
                found.append(team.likelihood())
    return np.mean(found)


@pytest.fixture(scope="module")
def single_worker_likelihood():
    return mean_likelihood(1, 0)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "slack"),
    [(4, 2), *(pytest.param(*case, marks=pytest.mark.long) for case in ((2, 0), (2, 2), (4, 0)))],
)
def test_many_workers_get_as_far_as_one(single_worker_likelihood, k, slack):
    assert mean_likelihood(k, slack) == pytest.approx(single_worker_likelihood, abs=0.03)


@pytest.mark.slow
@pytest.mark.long(after=11)
@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize(
    ("kind", "program", "k"),
    [
        (Sampling, LDA(topics=33), 1),
        (WarpTeam, WarpLDA(topics=300), 1),
        (Sampling, LDA(topics=2), 3),
        (WarpTeam, WarpLDA(topics=2), 3),
    ],
)
def test_corner_cases(name, kind, program, k):
    team = kind(program, CORNERS[name], k=k).check()
    for _ in range(3):
        team.epoch()
        assert team.check().likelihood() == pytest.approx(team.true_likelihood(), rel=1e-10)


# Real data.


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "epochs", "least"), [(LDA, 10, -8.75), (WarpLDA, 20, -8.95)])
def test_kos(real_data, sampler, epochs, least):
    document, word, count = read_kos(real_data)
    edges = EdgeData.of(ENDS, document, word, {"count": count})
    training = Training(start(sampler(topics=100, alpha=0.1, beta=0.01), edges))
    *_, record = training.epochs(epochs, every=epochs)
    assert record["loglik_per_token"] > least
