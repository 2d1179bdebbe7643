"""LDA: each UDF as plain Python, and the likelihood against its formula."""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.lda_team import Sampling, draw_documents, settle
from support.machines.warplda_team import FixedNumbers
from support.oracles import lda_oracle as oracle
from support.programs.programs import both

from tux.apps.lda import conditional, lda, likelihood, report, topic_lists
from tux.apps.lda.lda import LDA
from tux.predict.topics import by_words
from tux.program.report import Model

# The functions, one by one.


def parameters(topics=4, alpha=0.5, beta=0.25):
    return Row(topics=topics, alpha=alpha, beta=beta)


def listing(topics, times, room=6):
    return Row(
        topics=np.array([*topics, *[0] * (room - len(topics))]),
        times=np.array([*times, *[0] * (room - len(times))]),
        size=len(topics),
    )


def test_weight_and_weigh():
    p, topics = parameters(topics=70), 70
    n_w, n = np.arange(topics) % 5, 10 + np.arange(topics) % 7
    word, tau = Row(n=n_w), Row(n=n, smooth=3.0, beta=0.25)
    expected = (n_w + 0.25) / (n + 3.0)
    assert conditional.weight(word, 6, tau) == pytest.approx(expected[6])
    q, sums = np.empty(70), np.empty(3)
    assert lda.weigh(word, q, sums, tau, p) == pytest.approx(expected.sum(), rel=1e-6)
    np.testing.assert_allclose(q, expected, rtol=1e-6)
    np.testing.assert_allclose(
        sums, [expected[:32].sum(), expected[32:64].sum(), expected[64:].sum()], rtol=1e-6
    )


def drawn_topic(document, q, sums, whole, old, own, p, number):
    """Return the topic that a random number draws, if the places that come with it are right."""
    topic, at, place = lda.draw(
        document, q, sums, np.empty(p.topics), whole, old, own, p.alpha, p, FixedNumbers(number)
    )
    listed = document.topics[: document.size].tolist()
    assert at < 0 or listed[at] == topic
    assert old < 0 or listed[place] == old
    return topic


@pytest.mark.parametrize("old", [-1, 2, 40])
def test_draw_takes_each_topic_in_its_share(old):
    """On a fine grid of numbers every topic is drawn as often as p(k) ~ (n_dk + alpha) q_k says,
    the own token taken out.
    """
    topics, p = 70, parameters(topics=70)
    q = np.random.default_rng(0).uniform(0.1, 2, topics)
    sums = np.array([q[:32].sum(), q[32:64].sum(), q[64:].sum()])
    document, n_d = listing([40, 3, 2], [1, 5, 2]), np.zeros(topics)
    n_d[[40, 3, 2]] = 1, 5, 2
    if old >= 0:
        n_d[old] -= 1
    share = (n_d + p.alpha) * q
    share /= share.sum()
    fine = 4000
    own = q[old] if old >= 0 else 0.0
    drawn = [
        drawn_topic(document, q, sums, q.sum(), old, own, p, (i + 0.5) / fine) for i in range(fine)
    ]
    found = np.bincount(drawn, minlength=topics) / fine
    np.testing.assert_allclose(found, share, atol=2.5 / fine)


def test_draw_at_the_very_end_is_a_topic():
    """Sums in single precision may be too small by a hair."""
    p, q = parameters(topics=33), np.full(33, 1.0)
    sums, almost = np.array([31.9, 0.9]), 1 - 1e-9
    assert drawn_topic(listing([], []), q, sums, 33.0, -1, 0.0, p, almost) == 32
    assert 0 <= drawn_topic(listing([7, 9], [1, 2]), q, sums, 33.0, 7, 1.0, p, 0.0) < 33


def test_add_and_drop():
    document = listing([5, 2], [1, 3])
    topic_lists.add(document, 2)
    topic_lists.add(document, 9)
    assert (
        document.topics[:3].tolist() == [5, 2, 9]
        and document.times[:3].tolist() == [1, 4, 1]
        and document.size == 3
    )
    topic_lists.drop(document, 0)
    assert (
        document.topics[:2].tolist() == [9, 2]
        and document.times[:2].tolist() == [1, 4]
        and document.size == 2
    )
    topic_lists.drop(document, 1)
    assert document.times[:2].tolist() == [1, 3] and document.size == 2
    topic_lists.drop(document, 0)
    assert document.topics[:1].tolist() == [2] and document.size == 1


def test_count():
    tau, word = Row(n=np.full(40, 6), smooth=2.0, beta=0.25), Row(n=np.full(40, 3))
    q, sums = np.full(40, 3.25 / 8), np.array([32 * 3.25 / 8, 8 * 3.25 / 8])
    change = lda.count(word, q, sums, 35, 1, tau)
    assert (
        word.n[35] == 4
        and tau.n[35] == 7
        and word.n.sum() == 121
        and q[35] == pytest.approx(4.25 / 9)
    )
    assert change == pytest.approx(4.25 / 9 - 3.25 / 8) and sums[1] == pytest.approx(
        7 * 3.25 / 8 + 4.25 / 9
    )
    assert (
        change + lda.count(word, q, sums, 35, -1, tau) == pytest.approx(0)
        and word.n[35] == 3
        and tau.n[35] == 6
    )


def test_begin_and_sample_in_plain_python():
    p, rng = parameters(topics=3), np.random.default_rng(1)
    word, tau = (
        Row(n=np.zeros(3, int)),
        Row(n=np.zeros(3, int), smooth=1.0, alpha_mean=0.5, beta=0.25),
    )
    first, second = listing([], []), listing([], [])
    edges = [
        Row(document=first, topic=0),
        Row(document=second, topic=0),
        Row(document=second, topic=0),
    ]
    for udf in (lda.begin, *[lda.sample] * 20):
        udf(word, edges, tau, p, rng)
        topics = np.bincount([edge.topic for edge in edges], minlength=3)
        assert word.n.tolist() == tau.n.tolist() == topics.tolist()
        assert sorted(np.repeat(first.topics[: first.size], first.times[: first.size])) == [
            edges[0].topic
        ]
        assert sorted(
            np.repeat(second.topics[: second.size], second.times[: second.size])
        ) == sorted(e.topic for e in edges[1:])


def test_likelihood_in_plain_python():
    p, empty = parameters(topics=3), {name: np.zeros(3) for name in ("alpha", "lean", "upto")}
    tau = Row(words=0, likelihood=0.0, tokens=0.0, n=np.zeros(3, int), **empty)
    words = [Row(seen=0) for _ in range(3)]
    for word, edges in zip(words, ([1, 2], [], [3]), strict=True):
        likelihood.tally(word, edges)
        likelihood.occurs(word, tau)
    likelihood.set_priors(tau, p)
    assert (tau.V, tau.smooth, tau.seeded) == (2, 0.5, 0)
    tau.n = np.array([3, 0, 2])
    by_document, by_word = np.array([[2, 0, 2], [1, 0, 0]]), np.array([[3, 0, 1], [0, 0, 1]])
    likelihood.likely_topics(listing([2, 0], [2, 2]), tau)
    likelihood.likely_topics(listing([0], [1]), tau)
    likelihood.likely_topics(listing([], []), tau)
    for n in by_word:
        likelihood.likely_words(Row(n=n), tau, p)
    likelihood.report(tau)
    nothing = Row(tokens=0, loglik_per_token=np.nan)
    likelihood.report(nothing)
    assert np.isnan(nothing.loglik_per_token)
    assert tau.tokens == 5 and tau.loglik_per_token * 5 == pytest.approx(
        oracle.log_likelihood(by_document, by_word, 0.5, 0.25), rel=1e-12
    )


def test_topics_told_by_their_words():
    counts = np.array([[3, 0, 9], [0, 0, 2], [4, 0, 0]])
    told = by_words(np.array(["ash", "bay", "elm"]), counts, 10)
    assert (
        told["words"] == ["ash bay", "elm ash", ""]
        and told["tokens"].tolist() == [11, 7, 0]
        and told["topic"].tolist() == [2, 0, 1]
    )
    assert (
        report.TopicReport().tables(
            LDA(topics=3), Model({"word": {"n": counts}}, {"word": ["ash", "bay", "elm"]})
        )["topics"]["words"]
        == told["words"]
    )


# The likelihood.


@pytest.mark.slow
@both
def test_likelihood_of_any_state(jit):
    team = Sampling(
        LDA(topics=7, alpha=0.1, beta=0.01), draw_documents(documents=20, words=15), jit=jit
    )
    rng, seen = np.random.default_rng(3), set()
    for _ in range(5):
        settle(team.workers[0], rng.integers(0, 7, len(team.workers[0].graph.edges)))
        assert team.check().likelihood() == pytest.approx(team.true_likelihood(), rel=1e-10)
        seen.add(team.true_likelihood())
    assert len(seen) == 5
