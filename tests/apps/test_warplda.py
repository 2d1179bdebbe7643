"""WarpLDA: its steps as plain Python and against enumeration, topics found, and its choice."""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.lda_team import ENDS, Sampling, bags, draw_documents
from support.machines.warplda_team import FINE, FixedNumbers, occurrence
from support.oracles import lda_oracle as oracle

from tux.apps.lda import lda, warplda
from tux.apps.lda.lda import LDA
from tux.apps.lda.warplda import COUNTED, PROPOSED, TOPIC, WarpLDA
from tux.arrays.edge_facts import EdgeFacts
from tux.arrays.edges import EdgeData
from tux.base.errors import UsageError
from tux.options.options import RunOptions
from tux.options.watcher import NullWatcher
from tux.predict.predict import reopen_program
from tux.run_folder.folder import read_run
from tux.runs.session import run


def parameters(topics=4, alpha=0.5, beta=0.25):
    return Row(topics=topics, alpha=alpha, beta=beta)


def topic_frequencies(topics, n, totals, bag=(), prior=0.5, smooth=2.0):
    """Return how often a walk gives the first of some occurrences each topic, and how often it
    proposes each topic, on a fine grid of random numbers. `topics` has (topic, proposed) of each
    occurrence.
    """
    k, p = len(n), parameters(topics=len(n))
    got, proposed = np.zeros(k), np.zeros(k)
    for i in range(FINE):
        edges = [occurrence(*pair) for pair in topics]
        now, tau = np.array(n), Row(n=np.array(totals), V=4, beta=smooth / 4)
        warplda.walk(
            edges,
            np.array(bag, int),
            now,
            prior,
            tau,
            p,
            FixedNumbers((i + 0.5) / FINE, *[0.5] * (len(edges) - 1)),
        )
        first = edges[0].z
        changed = np.bincount([edge.z[TOPIC] for edge in edges], minlength=k) - np.bincount(
            [s for s, _ in topics], minlength=k
        )
        assert np.array_equal(now - n, changed) and np.array_equal(tau.n - totals, changed)
        got[first[TOPIC]] += 1 / FINE
        proposed[first[PROPOSED]] += 1 / FINE
    return got, proposed


def test_a_proposal_is_accepted_as_the_rule_says():
    """And what is proposed next is a topic of one of the occurrences, or any."""
    n, totals, prior, smooth = [3, 1, 0, 2], [9, 8, 2, 5], 0.5, 2.0
    got, proposed = topic_frequencies([(0, 1), (0, 0), (1, 1), (3, 3), (0, 0), (3, 3)], n, totals)
    chance = (n[1] + prior) * (totals[0] - 1 + smooth) / ((n[0] - 1 + prior) * (totals[1] + smooth))
    assert 0.3 < chance < 0.9
    np.testing.assert_allclose(got, [1 - chance, chance, 0, 0], atol=12 / FINE)
    np.testing.assert_allclose(proposed, np.array([3.5, 1.5, 0.5, 2.5]) / 8, atol=12 / FINE)


def test_a_better_topic_is_always_accepted_and_the_same_changes_nothing():
    assert topic_frequencies([(1, 0), (0, 0), (0, 0)], [2, 1], [5, 5])[0].tolist() == pytest.approx(
        [1, 0]
    )
    assert topic_frequencies([(1, 1), (0, 0), (0, 0)], [2, 1], [5, 5])[0].tolist() == pytest.approx(
        [0, 1]
    )


def test_a_cut_word_proposes_by_all_its_occurrences():
    """However its own are distributed: one here of topic 0, nine elsewhere."""
    bag = np.empty(10, np.uint16)
    warplda.fill(bag, Row(n=np.array([1, 6, 0, 3])), parameters())
    assert bag.tolist() == [0, *[1] * 6, *[3] * 3]
    _, proposed = topic_frequencies([(0, 0)], [1, 6, 0, 3], [5, 9, 4, 6], bag)
    np.testing.assert_allclose(proposed, np.array([1.5, 6.5, 0.5, 3.5]) / 12, atol=12 / FINE)
    found, rng, p = np.zeros(4), np.random.default_rng(0), parameters()
    for _ in range(2000):
        word, edges = Row(n=np.array([1, 6, 0, 3]), seen=10), [occurrence(0)]
        warplda.by_word(word, edges, Row(n=np.array([5, 9, 4, 6]), V=8, beta=0.25), p, rng)
        found[edges[0].z[PROPOSED]] += 1
    expected = np.array([1.25, 6.25, 0.25, 3.25]) / 11
    assert np.abs(found / 2000 - expected).max() < 0.05


def test_the_very_ends_of_random_numbers():
    for x in (0.0, 1 - 2.0**-53):
        edges = [occurrence(0), occurrence(1)]
        warplda.walk(
            edges,
            np.empty(0, int),
            np.array([1, 1, 0, 0]),
            0.1,
            Row(n=np.array([1, 1, 0, 0]), V=4, beta=0.25),
            parameters(),
            FixedNumbers(x, x),
        )
        assert all(0 <= edge.z[PROPOSED] < 4 for edge in edges)


@pytest.mark.parametrize("topics", [3, 200])
def test_a_word_counts_what_documents_have_changed(topics):
    """A word counts the topics that documents have changed, also where its counts are not read as a
    whole.
    """
    n = np.zeros(topics, int)
    n[:3] = 2, 0, 1
    word, tau = Row(n=n, seen=3), Row(n=n + 4, V=4, beta=0.25)
    edges = [occurrence(1, counted=0), occurrence(0), occurrence(1, counted=2)]
    warplda.by_word(word, edges, tau, parameters(topics=topics), np.random.default_rng(0))
    assert (
        word.n[:3].tolist() == [1, 2, 0]
        and word.n.sum() == 3
        and [edge.z[TOPIC] for edge in edges] == [1, 0, 1]
    )


def test_a_document_remembers_what_words_have_counted():
    p, rng = parameters(topics=3), np.random.default_rng(0)
    edges, tau = (
        [occurrence(0, 1), occurrence(0, 2), occurrence(2, 0)],
        Row(n=np.array([5, 5, 5]), V=4, beta=0.25, alpha_mean=0.5),
    )
    moved = 0
    for _ in range(50):
        before = [edge.z[TOPIC] for edge in edges]
        warplda.by_document(Row(), edges, tau, p, rng)
        assert [edge.z[COUNTED] for edge in edges] == before
        moved += before != [edge.z[TOPIC] for edge in edges]
    assert moved and tau.n.sum() == 15


# Steps without delay leave the posterior as it is.


def sweep_all_tokens(truth, z, rng, walk):
    """Make one sweep: each token is proposed a topic by its document, then by its word. Each
    proposal is decided on at once.
    """
    p, k = parameters(truth.topics, truth.alpha, truth.beta), truth.topics
    tau = Row(n=np.bincount(z, minlength=k), V=truth.words.max() + 1, beta=truth.beta)
    for i, (d, w) in enumerate(zip(truth.documents, truth.words, strict=True)):
        edge = occurrence(z[i])
        for ids, own, prior in (
            (truth.documents, d, truth.alpha),
            (truth.words, w, truth.beta),
            (truth.documents, d, truth.alpha),
        ):
            walk([edge], z[ids == own], np.bincount(z[ids == own], minlength=k), prior, tau, p, rng)
            z[i] = edge.z[TOPIC]


def forgets_itself(edges, bag, n, prior, tau, p, rng):
    """Walk as `walk` does, but leave the token in its own counts."""
    n[edges[0].z[TOPIC]] += 1
    warplda.walk(edges, bag, n, prior, tau, p, rng)


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(("walk", "right"), [(warplda.walk, True), (forgets_itself, False)])
def test_states_are_visited_as_the_posterior_says(walk, right):
    rng = np.random.default_rng(0)
    truth = oracle.Tiny(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1]), 2, 0.4, 0.5)
    visits, z, place = np.zeros(32), rng.integers(0, 2, 5), 2 ** np.arange(5)[::-1]
    for _ in range(1000):
        for _ in range(5):
            sweep_all_tokens(truth, z, rng, walk)
        visits[z @ place] += 1
    chance = oracle.chance(visits, truth.posterior())
    assert chance > 0.001 if right else chance < 1e-9


# The program: topics found.


KNOWN = oracle.corpus(150, 40, vocabulary=60, topics=5, alpha=0.1, beta=0.1, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("k", [pytest.param(1, marks=pytest.mark.long), 2])
def test_known_topics_are_found(k):
    """By one of six chains: one in four joins two topics for long."""
    edges = bags(KNOWN.documents, KNOWN.words)
    by_document, by_word = (
        oracle.count_topics(rows, KNOWN.topics, rows.max() + 1, 5)
        for rows in (KNOWN.documents, KNOWN.words)
    )
    truth = oracle.log_likelihood(by_document, by_word, 0.1, 0.1) / len(KNOWN.words)
    for seed in range(6):
        team = Sampling(WarpLDA(topics=5, alpha=0.1, beta=0.1, parts=4), edges, k=k, seed=seed)
        for epoch in range(150):
            team.epoch()
            if epoch % 10 == 9 and team.likelihood() >= truth:
                if (
                    oracle.likeness(
                        team.gather("word", "n").T, KNOWN.phi[:, edges.ids["word"].values]
                    )
                    >= 0.9
                ):
                    return
    pytest.fail("no chain has found the topics")


# The choice of the sampler.


class SaidLines(NullWatcher):
    """Keeps what is said."""

    def __init__(self):
        self.lines = []

    def say(self, text):
        self.lines.append(text)


def corpus_of(tokens):
    """Return the facts about the edges of two words, in one document."""
    counts = np.array([1, tokens - 1])
    return EdgeFacts.of(EdgeData.of(ENDS, [0, 0], [0, 1], {"count": counts}))


@pytest.mark.parametrize(("topics", "least"), [(4, lda.MANY), (1000, 1000 * lda.EACH)])
def test_auto_goes_by_occurrences_and_topics(topics, least):
    program = LDA(topics=topics, alpha=0.2)
    cut_already = EdgeFacts.of(EdgeData.of(ENDS, [], [], {"count": np.array([], int)}), 9)
    for facts, kind, sampler in (
        (corpus_of(least - 1), LDA, "sparse"),
        (corpus_of(least), WarpLDA, "warp"),
        (cut_already, WarpLDA, "warp"),
    ):
        chosen = program.input.specialise(program, facts)
        assert type(chosen) is kind and chosen.parameters == {
            **program.parameters,
            "sampler": sampler,
        }
        assert type(chosen.input.specialise(chosen, facts)) is kind


def test_what_is_named_is_taken():
    sparse, warp = LDA(sampler="sparse"), LDA(topics=7, sampler="warp")
    assert sparse.input.specialise(sparse, corpus_of(10**7)) is sparse
    special = warp.input.specialise(warp, corpus_of(5))
    assert type(special) is WarpLDA and special.parameters == warp.parameters
    with pytest.raises(UsageError, match="sampler"):
        WarpLDA(sampler="sparse")


@pytest.mark.slow
def test_an_automatic_choice_is_told(monkeypatch):
    said = SaidLines()
    assert (
        type(
            run(
                LDA(topics=3), draw_documents(), options=RunOptions(epochs=1), watch=said
            ).worker.program
        )
        is LDA
    )
    monkeypatch.setattr(lda, "MANY", 10)
    monkeypatch.setattr(lda, "EACH", 5)
    assert (
        type(
            run(
                LDA(topics=3), draw_documents(), options=RunOptions(epochs=1), watch=said
            ).worker.program
        )
        is WarpLDA
    )
    assert [line for line in said.lines if "sampler" in line] == [
        f"sampler {name}, which suits these data" for name in ("sparse", "warp")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "sampler"),
    [(1, "sparse"), (1, "warp"), pytest.param(2, "warp", marks=pytest.mark.long)],
)
def test_the_chosen_sampler_runs_and_is_recorded(tmp_path, workers, sampler):
    said = SaidLines()
    result = run(
        LDA(topics=4, sampler=sampler),
        draw_documents(),
        options=RunOptions(out=tmp_path / "run", epochs=2, workers=workers),
        watch=said,
    )
    kind = {"sparse": LDA, "warp": WarpLDA}[sampler]
    recorded = read_run(tmp_path / "run")
    assert (
        type(result.model.program) is kind
        and recorded.parameters["sampler"] == sampler
        and recorded.parameters["topics"] == 4
    )
    assert type(reopen_program(recorded, tmp_path / "run", lambda text: pytest.fail(text))) is kind
    assert not any("sampler" in line for line in said.lines)
    assert result.model.rows("word")["n"].sum() == draw_documents().fields["count"].sum()


@pytest.mark.long
def test_held_out_documents_are_judged():
    train = draw_documents(documents=40, words=8, mean=10)
    test = EdgeData.of(
        ENDS, [100, 100, 101], [0, 1, 2], {"count": np.array([2, 3, 4])}, against=train.ids
    )
    records = run(WarpLDA(topics=3), train, test, RunOptions(epochs=2)).records
    assert 1 < records[-1]["test_perplexity"] < 8
