"""LDA: each UDF as plain Python, likelihood and sampler against formulas and enumeration, and
counts that stay true on many workers.
"""

import gzip
from types import SimpleNamespace as Row

import lda_oracle as oracle
import numpy as np
import pytest
from lda_team import ENDS, Sampling, bags, counts, drawn, settle, tokens
from programs import both, drive, start

from tux.apps.lda import conditional, lda, likelihood, report
from tux.apps.lda.lda import LDA, add, count, draw, drop, weigh
from tux.arrays.edges import EdgeData
from tux.engine.training import Training
from tux.program.report import Model
from tux.program.stage import Cluster
from tux.run.options import RunOptions
from tux.run.session import run
from tux.stages import Exchange

# The functions, one by one.


def parameters(topics=4, alpha=0.5, beta=0.25):
    return Row(topics=topics, alpha=alpha, beta=beta)


def listing(topics, times, room=6):
    return Row(
        topics=np.array([*topics, *[0] * (room - len(topics))]),
        times=np.array([*times, *[0] * (room - len(times))]),
        size=len(topics),
    )


class Fixed:
    """Random numbers that are known."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def uniform(self):
        return self.numbers.pop(0)


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
        lda.draw(document, q, sums, q.sum(), old, own, p.alpha, p, Fixed((i + 0.5) / fine))
        for i in range(fine)
    ]
    found = np.bincount(drawn, minlength=topics) / fine
    np.testing.assert_allclose(found, share, atol=2.5 / fine)


def test_draw_at_the_very_end_is_a_topic():
    """Sums in single precision may be too small by a hair."""
    p, q = parameters(topics=33), np.full(33, 1.0)
    sums, almost = np.array([31.9, 0.9]), 1 - 1e-9
    assert lda.draw(listing([], []), q, sums, 33.0, -1, 0.0, p.alpha, p, Fixed(almost)) == 32
    assert (
        0 <= lda.draw(listing([7, 9], [1, 2]), q, sums, 33.0, 7, 1.0, p.alpha, p, Fixed(0.0)) < 33
    )


def test_add_and_drop():
    document = listing([5, 2], [1, 3])
    lda.add(document, 2)
    lda.add(document, 9)
    assert (
        document.topics[:3].tolist() == [5, 2, 9]
        and document.times[:3].tolist() == [1, 4, 1]
        and document.size == 3
    )
    lda.drop(document, 5)
    assert (
        document.topics[:2].tolist() == [9, 2]
        and document.times[:2].tolist() == [1, 4]
        and document.size == 2
    )
    lda.drop(document, 2)
    assert document.times[:2].tolist() == [1, 3] and document.size == 2
    lda.drop(document, 9)
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
    tau = Row(words=0, likelihood=0.0, tokens=0.0, n=np.array([3, 0, 2]), **empty)
    words = [Row(seen=0) for _ in range(3)]
    for word, edges in zip(words, ([1, 2], [], [3]), strict=True):
        likelihood.tally(word, edges)
        likelihood.occurs(word, tau)
    likelihood.known(tau, p)
    assert (tau.V, tau.smooth) == (2, 0.5)
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
    told = report.by_words(counts, np.array(["ash", "bay", "elm"]))
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


@both
def test_likelihood_of_any_state(jit):
    team = Sampling(LDA(topics=7, alpha=0.1, beta=0.01), drawn(documents=20, words=15), jit=jit)
    rng, seen = np.random.default_rng(3), set()
    for _ in range(5):
        settle(team.workers[0], rng.integers(0, 7, len(team.workers[0].graph.edges)))
        assert team.check().likelihood() == pytest.approx(team.true_likelihood(), rel=1e-10)
        seen.add(team.true_likelihood())
    assert len(seen) == 5


# The sampler's distribution.

SAMPLES = 1500


def tiny(seed):
    """Program and edges of a corpus of few tokens."""
    rng = np.random.default_rng(seed)
    topics = 2 + seed % 2
    n = int(rng.integers(5, 8 if topics == 2 else 6))
    documents, words = (
        rng.integers(0, 3, n),
        rng.permutation(np.append(rng.integers(0, 3, n - 2), [0, 1])),
    )
    alpha, beta = rng.uniform(0.15, 0.5, 2)
    return LDA(topics=topics, alpha=alpha, beta=beta), bags(documents, words)


def enumerable(worker):
    """The corpus that a worker holds, tokens in the order in which one sweep visits them."""
    program = worker.program
    return oracle.Tiny(*tokens(worker)[:2], program.topics, program.alpha, program.beta)


def visits(worker, step, times):
    """How often each assignment is the state after `step`, in so many calls."""
    truth = enumerable(worker)
    out = np.zeros(truth.topics ** len(truth.words))
    place, topics = (
        truth.topics ** np.arange(len(truth.words))[::-1],
        worker.graph.edges.fields["topic"],
    )
    for _ in range(times):
        step()
        out[topics @ place] += 1
    return out


def sampled(seed, times, udf=lda.sample, jit=True, blocks=False):
    """Chi-square probability of the states that a sampler visits, `times` of them, so far apart
    that they are independent.
    """
    program, edges = tiny(seed)
    worker = drive(start(program, edges, jit=jit), *program.setup(Cluster()))
    stages = program.stages(Cluster()) if blocks else [Exchange(udf, over="word")]
    stages = worker.prepare(stages)
    truth = enumerable(worker)
    apart = truth.apart()

    def step():
        for _ in range(apart):
            worker.epoch += 1
            worker.run(stages)

    step()
    return oracle.chance(visits(worker, step, times), truth.posterior())


@pytest.mark.parametrize("seed", range(30))
def test_states_are_visited_as_the_posterior_says(seed):
    assert sampled(seed, SAMPLES) > 0.001


@pytest.mark.parametrize(
    "options",
    [{"jit": False, "times": 400}, {"blocks": True, "times": 800}],
    ids=["plain", "by blocks"],
)
def test_states_are_visited_likewise(options):
    assert sampled(31, **options) > 0.001


def test_states_are_visited_likewise_with_several_groups(monkeypatch):
    monkeypatch.setattr(lda, "GROUP", 2)
    assert sampled(33, 600, jit=False) > 0.001


def counts_own(word, edges, tau, p, rng):
    """`sample` that leaves the token in the counts of its word and topic while it draws."""
    q, sums = np.empty(p.topics, np.float32), np.empty(1, np.float32)
    whole = weigh(word, q, sums, tau, p)
    for edge in edges:
        old = np.int64(edge.topic)
        k = draw(edge.document, q, sums, whole, old, q[old], tau.alpha_mean, p, rng)
        whole += count(word, q, sums, old, -1, tau)
        whole += count(word, q, sums, k, 1, tau)
        drop(edge.document, old)
        add(edge.document, k)
        edge.topic = k


def counts_own_in_document(word, edges, tau, p, rng):
    """`sample` that leaves the token in the counts of its document while it draws."""
    q, sums = np.empty(p.topics, np.float32), np.empty(1, np.float32)
    whole = weigh(word, q, sums, tau, p)
    for edge in edges:
        old = np.int64(edge.topic)
        whole += count(word, q, sums, old, -1, tau)
        k = draw(edge.document, q, sums, whole, -1, np.float32(0), tau.alpha_mean, p, rng)
        whole += count(word, q, sums, k, 1, tau)
        drop(edge.document, old)
        add(edge.document, k)
        edge.topic = k


@pytest.mark.parametrize("broken", [counts_own, counts_own_in_document])
def test_a_wrong_sampler_is_found_out(broken):
    assert max(sampled(seed, SAMPLES, broken) for seed in (0, 2, 4)) < 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_first_topics_are_drawn_in_turn(seed):
    """Each token's from the conditional given those before it."""
    program, edges = tiny(seed)
    worker = drive(start(program, edges), *program.setup(Cluster())[:-1])
    begin, fresh = (
        Exchange(lda.begin, over="word").prepare(worker),
        {"word": "n", "tau": "n", "document": "size"},
    )

    def step():
        worker.epoch += 1
        for name, field in fresh.items():
            worker.tables[name].arrays[field][:] = 0
        begin.run()

    assert oracle.chance(visits(worker, step, 3000), enumerable(worker).one_by_one()) > 0.001


# Counts on many workers.


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("slack", [0, 2])
def test_counts_are_true_after_every_epoch(k, slack):
    team = Sampling(LDA(topics=5, parts=4), drawn(), k=k, slack=slack, delivery=k).check()
    before = counts(team.workers)[1]
    for _ in range(4):
        team.epoch()
        team.check()
        assert team.likelihood() == pytest.approx(team.true_likelihood(), rel=1e-10)
    assert not np.array_equal(counts(team.workers)[1], before)


def test_counts_in_plain_python():
    team = Sampling(LDA(topics=5, parts=4), drawn(), k=2, slack=1, jit=False)
    for _ in range(2):
        team.epoch()
        team.check()


def test_processes_count_the_same():
    """At slack 0 to the last count, as the order in which changes are folded is that of workers."""
    edges, program = drawn(documents=40, words=20, mean=10), LDA(topics=4, parts=4)
    result, team = (
        run(program, edges, options=RunOptions(workers=2, epochs=3)),
        Sampling(program, edges, k=2, by="bicut"),
    )
    for record in result.records:
        team.epoch()
        assert record["loglik_per_token"] == team.check().likelihood()
    by_word = result.worker.tables["word"].arrays["n"][result.worker.graph.vertices["word"].row_of]
    assert np.array_equal(by_word, team.gather("word", "n")) and np.array_equal(
        result.worker.tau.n, by_word.sum(0)
    )


# Whole runs.

KNOWN = oracle.corpus(150, 40, vocabulary=60, topics=5, alpha=0.1, beta=0.1, seed=1)
MANY = oracle.corpus(500, 40, vocabulary=300, topics=30, alpha=0.5, beta=0.2, seed=1)


@pytest.mark.parametrize("k", [1, 2])
def test_known_topics_are_found(k):
    """By the best of six chains, as every other joins two topics for long (by 12 seeds: 6 of one
    worker, 5 of two, do not).
    """
    edges = bags(KNOWN.documents, KNOWN.words)
    ids = edges.ids["word"].values
    by_document, by_word = (
        oracle.counted(rows, KNOWN.topics, rows.max() + 1, 5)
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


def reached(k, slack):
    """Log-likelihood per token after some epochs: the mean of three seeds, and of the last four
    epochs of each.
    """
    edges, found = bags(MANY.documents, MANY.words), []
    for seed in range(3):
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
def alone():
    return reached(1, 0)


@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("slack", [0, 2])
def test_many_workers_get_as_far_as_one(alone, k, slack):
    assert reached(k, slack) == pytest.approx(alone, abs=0.03)


CORNERS = {
    "one document": bags([0] * 6, [0, 1, 1, 2, 3, 3]),
    "one word": bags([0, 0, 1, 2, 2, 2], [0] * 6),
    "one token": bags([0], [0]),
    "a word of one document": bags([0, 0, 1, 1, 2], [0, 1, 1, 1, 2]),
    "a document that repeats a word": bags([0] * 9 + [1], [4] * 9 + [3]),
    "documents without words": bags([0, 0, 2], [0, 1, 1], vertices={"document": np.arange(5)}),
    "rows that count 0": EdgeData.of(
        ENDS, [0, 0, 1, 2], [0, 1, 1, 0], {"count": np.array([2, 0, 3, 0])}
    ),
    "as many words as tokens": bags([0, 0, 1, 1], [0, 1, 2, 3]),
    "rows that repeat a pair": EdgeData.of(
        ENDS, [0, 0, 1], [0, 0, 1], {"count": np.array([2, 1, 3])}
    ),
}


CORNERS["a word without tokens"] = EdgeData.of(
    ENDS, [0, 0, 1], [0, 1, 2], {"count": np.array([2, 0, 3])}, vertices={"word": [7]}
)


@pytest.mark.parametrize("name", CORNERS)
@pytest.mark.parametrize(("k", "topics"), [(1, 33), (3, 2)])
def test_corner_cases(name, k, topics):
    team = Sampling(LDA(topics=topics), CORNERS[name], k=k).check()
    for _ in range(3):
        team.epoch()
        assert team.check().likelihood() == pytest.approx(team.true_likelihood(), rel=1e-10)


# Real data.


@pytest.mark.slow
def test_kos(real_data):
    with gzip.open(real_data / "corpora" / "kos" / "docword.kos.txt.gz") as file:
        document, word, count = np.loadtxt(file, np.int32, skiprows=3).T
    edges = EdgeData.of(ENDS, document, word, {"count": count})
    records = list(
        Training(start(LDA(topics=100, alpha=0.1, beta=0.01), edges)).epochs(10, every=10)
    )
    assert records[-1]["loglik_per_token"] > -8.75
