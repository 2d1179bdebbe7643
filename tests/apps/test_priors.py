"""Priors of LDA: Minka's step against its formula, both samplers where topics differ in alpha,
and what optimisation is good for.
"""

from math import lgamma
from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.lda_team import Sampling, bags, counts, draw_documents, tokens
from support.machines.warplda_team import FINE, FixedNumbers, WarpTeam, occurrence
from support.oracles import lda_oracle as oracle
from support.programs.programs import drive, start

from tux.apps.lda import conditional, lda, priors, warplda
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import PROPOSED, TOPIC, WarpLDA
from tux.arrays.arrow import read_parquet
from tux.base.errors import UsageError
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.program.stage import Cluster
from tux.runs.session import run
from tux.stages import Exchange

KINDS = {LDA: Sampling, WarpLDA: WarpTeam}
either = pytest.mark.parametrize("kind", KINDS)

# By the rules, in plain Python.


def rise(prior, n):
    """Return psi(prior + n) - psi(prior), as psi(x + 1) = psi(x) + 1 / x."""
    return sum(1 / (prior + i) for i in range(int(n)))


def slow_step(alpha, by_document):
    """Return the priors after one step of equation 55, for counts (D, K)."""
    below = sum(rise(sum(alpha), row.sum()) for row in by_document)
    return [
        a * sum(rise(a, n) for n in column) / below
        for a, column in zip(alpha, by_document.T, strict=True)
    ]


def slow_symmetric(prior, counts):
    """Return the prior after one step, where all entries of a row have one prior; counts are (D,
    K).
    """
    size = counts.shape[1]
    return (
        prior
        * sum(rise(prior, n) for n in counts.ravel())
        / (size * sum(rise(size * prior, row.sum()) for row in counts))
    )


def slow_likelihood(by_document, by_word, alpha, beta):
    """Return the log-likelihood per token, whatever the alphas."""
    known = sum(lgamma(sum(alpha)) - lgamma(sum(alpha) + row.sum()) for row in by_document)
    known += sum(
        lgamma(a + n) - lgamma(a) for row in by_document for a, n in zip(alpha, row, strict=True)
    )
    words = oracle.log_likelihood(np.zeros((0, len(alpha)), int), by_word, 1.0, beta)
    return (known + words) / by_word.sum()


PSI = {
    1e-3: -1000.5755719318103,
    0.5: -1.9635100260214235,
    1: -0.5772156649015329,
    2: 0.42278433509846714,
    10: 2.251752589066721,
}


@pytest.mark.parametrize("x", PSI)
def test_digamma(x):
    assert priors.digamma(x) == pytest.approx(PSI[x], rel=1e-13)


@pytest.mark.parametrize("x", [1e-6, 0.013, 3.7, 9.99, 10.0, 250.5])
def test_digamma_rises_as_it_should(x):
    assert priors.rise(priors.digamma, x, 30) == pytest.approx(rise(x, 30), rel=1e-12)


# A step, and its likelihood.


@pytest.mark.long
@either
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.parametrize("asymmetric", [True, False])
def test_steps_are_those_of_the_formula(kind, k, asymmetric):
    """Every second epoch, by counts that stay exact."""
    program = kind(topics=4, parts=3, alpha=0.3, beta=0.2, optimise=2, asymmetric=asymmetric)
    team = KINDS[kind](program, draw_documents(documents=30, words=12, mean=15), k=k)
    alpha, beta = [0.3] * 4, 0.2
    for epoch in range(1, 5):
        team.epoch()
        by_document, by_word = counts(team.check().workers)
        for _ in range(priors.STEPS if epoch % 2 == 0 else 0):
            alpha = (
                slow_step(alpha, by_document)
                if asymmetric
                else [slow_symmetric(alpha[0], by_document)] * 4
            )
            beta = slow_symmetric(beta, by_word[by_word.sum(1) > 0].T)
        for worker in team.workers:
            np.testing.assert_allclose(worker.tau.alpha, alpha, rtol=1e-5)
            assert worker.tau.beta == pytest.approx(beta, rel=1e-5)
            assert worker.tau.smooth == pytest.approx(beta * (by_word.sum(1) > 0).sum(), rel=1e-5)
        found = [float(x) for x in team.workers[0].tau.alpha]
        assert team.likelihood() == pytest.approx(
            slow_likelihood(by_document, by_word, found, team.workers[0].tau.beta), rel=1e-9
        )
    assert (len(set(found)) == 4) == asymmetric and beta != 0.2


@pytest.mark.long
@pytest.mark.slow
@either
def test_a_topic_without_words_keeps_a_prior(kind):
    program = kind(topics=40, optimise=1, asymmetric=True)
    team = KINDS[kind](program, bags([0], [0]))
    for _ in range(3):
        team.epoch()
        team.check()
    assert (team.workers[0].tau.alpha > 0).all() and np.isfinite(team.likelihood())


def test_without_documents_there_is_no_step():
    nothing = Row(due=True, V=0, beta=0.1, alpha_down=0.0, n=np.zeros(2))
    priors.step(nothing, Row())
    assert nothing.beta == 0.1


@pytest.mark.long
def test_priors_stay_as_given_otherwise():
    """Nothing is added to an epoch."""
    for kind, stages in ((LDA, 1), (WarpLDA, 3)):
        program = kind(topics=3, alpha=0.4, beta=0.3)
        assert len(program.stages(Cluster())) == stages
        worker = drive(start(program, draw_documents()), *program.setup(Cluster()))
        drive(worker, *program.stages(Cluster()))
        assert worker.tau.alpha.tolist() == [np.float32(0.4)] * 3 and worker.tau.beta == np.float32(
            0.3
        )
        assert worker.tau.lean.tolist() == [1] * 3


def test_asymmetric_alone_is_refused():
    with pytest.raises(UsageError, match="no estimate"):
        run(LDA(topics=3, asymmetric=True), draw_documents(), options=RunOptions(epochs=1))


# Drawing by priors that differ.

LEAN = np.array([2.0, 0.5, 1.25, 0.25])


def test_draw_takes_each_topic_in_its_share(monkeypatch):
    monkeypatch.setattr(conditional, "GROUP", 2)
    q, p = np.array([0.4, 1.5, 0.7, 1.1]), Row(topics=4)
    document = Row(topics=np.array([3, 1, 0]), times=np.array([2, 1, 0]), size=2)
    sums, room = np.add.reduceat(q * LEAN, [0, 2]), np.empty(4)
    share = (np.array([0, 1, 0, 2]) + 0.6 * LEAN) * q
    draws, places, _ = zip(
        *(
            conditional.draw(
                document,
                q,
                sums,
                room,
                sums.sum(),
                -1,
                0.0,
                0.6,
                p,
                FixedNumbers((i + 0.5) / FINE),
                LEAN,
            )
            for i in range(FINE)
        ),
        strict=True,
    )
    np.testing.assert_allclose(
        np.bincount(draws, minlength=4) / FINE, share / share.sum(), atol=2.5 / FINE
    )
    listed = [(k, i) for k, i in zip(draws, places, strict=True) if i >= 0]
    assert set(listed) == {(3, 0), (1, 1)}


@pytest.mark.parametrize("u", [0.05, 0.3, 0.5, 0.7, 0.95])
def test_draw_leaves_out_the_occurrence_itself(u):
    """Its topic is in the list once; of the list, only the others are drawn."""
    q, p = np.array([0.4, 1.5, 0.7]), Row(topics=3)
    document = Row(topics=np.array([2, 1, 0]), times=np.array([1.0, 1.0, 2.0]), size=3)
    none = np.zeros(1)
    k, to, at = conditional.draw(
        document, q, none, np.empty(3), 1e-9, 1, q[1], 1e-9, p, FixedNumbers(u)
    )
    assert at == 1 and (k, to) == ((2, 0) if u < 0.7 / 1.5 else (0, 2))


@pytest.mark.slow
def test_a_document_proposes_and_accepts_by_its_alphas():
    """Topic 1 waits for an occurrence of topic 0; what is proposed next and what is accepted now
    are independent.
    """
    alpha, n, totals, smooth, fine = (
        0.6 * LEAN,
        np.array([2, 1, 0, 1]),
        np.array([9, 8, 2, 5]),
        2.0,
        8 * FINE,
    )
    proposed, got = np.zeros((2, 4)), np.zeros(4)
    for i in range(fine):
        edges = [occurrence(0, 1), occurrence(0), occurrence(1), occurrence(3)]
        tau = Row(n=totals.copy(), V=4, beta=smooth / 4)
        rng = FixedNumbers((i + 0.5) / fine, 0.5, 0.5, 0.5)
        warplda.walk(
            edges, np.empty(0, int), n.copy(), 0.6, tau, Row(topics=4), rng, LEAN, np.cumsum(LEAN)
        )
        moved = int(edges[0].z[TOPIC] == 1)
        proposed[moved, edges[0].z[PROPOSED]] += 1 / fine
        got[edges[0].z[TOPIC]] += 1 / fine
    chance = (
        (n[1] + alpha[1])
        * (totals[0] - 1 + smooth)
        / ((n[0] - 1 + alpha[0]) * (totals[1] + smooth))
    )
    assert 0.3 < chance < 0.9
    np.testing.assert_allclose(got, [1 - chance, chance, 0, 0], atol=0.002)
    share = (n + alpha) / (n + alpha).sum()
    np.testing.assert_allclose(proposed, share * np.array([[1 - chance], [chance]]), atol=0.002)


def test_the_very_ends_of_random_numbers():
    upto = np.cumsum(LEAN) - 1e-9
    places = [priors.place_unevenly(y, LEAN, upto) for y in (0.0, 1.9999, 2.0, 3.99, 4.0)]
    assert (
        [int(y) for y in places] == [0, 0, 1, 3, 3]
        and places[0] == pytest.approx(0, abs=1e-8)
        and places[4] < 4
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("udf", "right"),
    [pytest.param(lda.sample_by_alpha, True, marks=pytest.mark.slow), (lda.sample, False)],
)
def test_states_are_visited_as_the_posterior_says(udf, right):
    program = LDA(topics=3, alpha=0.5, beta=0.3, optimise=1000, asymmetric=True)
    worker = drive(
        start(program, bags([0, 0, 1, 1, 2], [0, 1, 1, 2, 0])), *program.setup(Cluster())
    )
    worker.tables["tau"].arrays["alpha"][0] = [1.2, 0.1, 0.4]
    priors.follow_alpha(worker.tau)
    truth = oracle.Tiny(*tokens(worker)[:2], 3, np.array([1.2, 0.1, 0.4]), 0.3)
    step, place, visits, apart = (
        Exchange(udf, over="word").prepare(worker),
        3 ** np.arange(5)[::-1],
        np.zeros(3**5),
        truth.mixing_sweeps(),
    )
    for _ in range(1500):
        for _ in range(apart):
            worker.epoch += 1
            step.run()
        visits[worker.graph.edges.fields["topic"] @ place] += 1
    chance = oracle.chance(visits, truth.posterior())
    assert chance > 0.001 if right else chance < 1e-6


# The use of such priors.

ALPHA = np.array([2.0, 0.6, 0.2, 0.06])


def draw_uneven_documents(documents=300, length=40, vocabulary=80, seed=2):
    """Return documents drawn by ALPHA, and the topics' words (K, V): each topic has some of its
    own, and a tenth of the others'.
    """
    rng = np.random.default_rng(seed)
    own = np.kron(np.eye(len(ALPHA)), np.ones(vocabulary // len(ALPHA)))
    phi, theta = (
        0.1 / vocabulary + 0.9 * own / own.sum(1, keepdims=True),
        rng.dirichlet(ALPHA, documents),
    )
    z = np.array([rng.choice(len(ALPHA), length, p=mixed) for mixed in theta]).ravel()
    w = np.array([rng.choice(vocabulary, p=phi[k]) for k in z])
    return bags(np.repeat(np.arange(documents), length), w), phi


@pytest.fixture(scope="module")
def corpus():
    return draw_uneven_documents()


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        (LDA, 2),
        (WarpLDA, 1),
        *(pytest.param(*each, marks=pytest.mark.long) for each in ((LDA, 1), (WarpLDA, 2))),
    ],
)
def test_priors_are_recovered_and_make_topics_likelier(corpus, kind, workers):
    edges, phi = corpus
    teams = [
        Sampling(
            kind(topics=4, alpha=0.1, beta=0.01, parts=2, optimise=every, asymmetric=every > 0),
            edges,
            k=workers,
            seed=1,
        )
        for every in (0, 5)
    ]
    for _ in range(300):
        for team in teams:
            team.epoch()
    found = [team.likelihood() for team in teams]
    assert found[1] > found[0] + 0.02
    tau, by_word = teams[1].workers[0].tau, teams[1].gather("word", "n")
    true = phi[:, edges.ids["word"].values]
    likeness = (by_word.T / np.linalg.norm(by_word.T, axis=1, keepdims=True)) @ (
        true / np.linalg.norm(true, axis=1, keepdims=True)
    ).T
    order = likeness.argmax(0)
    assert sorted(order) == [0, 1, 2, 3]
    alpha = tau.alpha[order]
    assert (np.diff(alpha) < 0).all()
    np.testing.assert_allclose(alpha, ALPHA, rtol=0.3, atol=0.1)
    assert 0.1 < tau.beta < 0.5


@pytest.mark.long(after=1)
@pytest.mark.parametrize("sampler", ["sparse", "warp"])
@pytest.mark.slow
def test_a_model_keeps_its_priors(tmp_path, monkeypatch, sampler):
    """And foretells by them: a document without known words has what the priors say."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text("ash bay elm ash\nash ash bay\nfir oak fir\nash elm\n" * 3)
    (tmp_path / "new.txt").write_text("yew\nash bay\n")
    flags = (
        f"run lda train.txt --form text --sampler {sampler} --topics 2 --optimise 2 --asymmetric "
        "--epochs 6 --out out"
    )
    assert main(flags.split()) == 0
    stored = read_parquet(tmp_path / "out" / "model" / "tau.parquet")
    alpha = np.array(stored["alpha"][0])
    assert alpha[0] != alpha[1] and stored["beta"][0] != np.float32(0.01)
    assert "lean" not in stored and "upto" not in stored
    assert main("predict out new.txt --form text --out topics.csv".split()) == 0
    rows = np.loadtxt(tmp_path / "topics.csv", delimiter=",", skiprows=1)[:, 1:]
    np.testing.assert_allclose(rows[0], alpha / alpha.sum(), atol=1e-5)
    assert main("export out --format pyldavis --out a.npz".split()) == 0
    with np.load("a.npz") as made:
        lengths, shares = made["doc_lengths"], made["doc_topic_dists"]
    implied = shares * (lengths + alpha.sum())[:, None] - alpha
    np.testing.assert_allclose(implied, implied.round(), atol=1e-4)
