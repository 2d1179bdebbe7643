"""The sampler of LDA visits states as the posterior says: against enumeration of small corpora."""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from support.machines.lda_team import bags, tokens
from support.oracles import lda_oracle as oracle
from support.programs.programs import drive, start

from tux.apps.lda import conditional, lda
from tux.apps.lda.conditional import count, draw, make_room, weigh
from tux.apps.lda.lda import LDA
from tux.apps.lda.topic_lists import move
from tux.program.stage import Cluster
from tux.stages import Exchange

SAMPLES = 1500


def tiny(seed):
    """Return a program and the edges of a corpus of few tokens."""
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
    """Return the corpus that a worker holds, tokens in the order in which one sweep visits them."""
    program = worker.program
    return oracle.Tiny(*tokens(worker)[:2], program.topics, program.alpha, program.beta)


def visits(worker, step, times):
    """Count how often each assignment is the state after `step`, in `times` calls of it."""
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


def chi_square_probability(seed, times, udf=lda.sample, jit=True, blocks=False):
    """Return the chi-square probability of the states that a sampler visits, `times` of them, so
    far apart that they are independent.
    """
    program, edges = tiny(seed)
    worker = drive(start(program, edges, jit=jit), *program.setup(Cluster()))
    stages = program.stages(Cluster()) if blocks else [Exchange(udf, over="word")]
    stages = worker.prepare(stages)
    truth = enumerable(worker)
    apart = truth.mixing_sweeps()

    def step():
        for _ in range(apart):
            worker.epoch += 1
            worker.run(stages)

    step()
    return oracle.chance(visits(worker, step, times), truth.posterior())


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(s, marks=pytest.mark.long) for s in range(10, 30))]
)
def test_states_are_visited_as_the_posterior_says(seed):
    assert chi_square_probability(seed, SAMPLES) > 0.001


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"jit": False, "times": 400}, {"blocks": True, "times": 800}],
    ids=["plain", "by blocks"],
)
def test_states_are_visited_likewise(options):
    assert chi_square_probability(31, **options) > 0.001


@pytest.mark.long
def test_states_are_visited_likewise_with_several_groups(monkeypatch):
    monkeypatch.setattr(conditional, "GROUP", 2)
    assert chi_square_probability(33, 600, jit=False) > 0.001


def test_an_occurrence_moves_within_a_full_list():
    document = Row(topics=np.array([5, 6]), times=np.array([1.0, 1.0]), size=2)
    move(document, 0, 7, -1)  # a new topic, for which there is room only afterwards
    assert dict(zip(document.topics, document.times, strict=True)) == {6: 1.0, 7: 1.0}
    move(document, 0, document.topics[1], 1)
    assert document.size == 1 and document.times[0] == 2.0


def counts_own(word, edges, tau, p, rng):
    """Draw as `sample` does, but leave the token in the counts of its word and topic."""
    q, sums, shares = make_room(p)
    whole = weigh(word, q, sums, tau, p)
    for edge in edges:
        old = np.int64(edge.topic)
        own, alpha = q[old], tau.alpha_mean
        k, to, at = draw(edge.document, q, sums, shares, whole, old, own, alpha, p, rng)
        whole += count(word, q, sums, old, -1, tau)
        whole += count(word, q, sums, k, 1, tau)
        move(edge.document, at, k, to)
        edge.topic = k


def place_of(document, k):
    """Return the place of a topic in a document's list."""
    i = 0
    while document.topics[i] != k:
        i += 1
    return i


def counts_own_in_document(word, edges, tau, p, rng):
    """Draw as `sample` does, but leave the token in the counts of its document."""
    q, sums, shares = make_room(p)
    whole = weigh(word, q, sums, tau, p)
    for edge in edges:
        old = np.int64(edge.topic)
        whole += count(word, q, sums, old, -1, tau)
        none, alpha = np.float32(0), tau.alpha_mean
        k, to, _ = draw(edge.document, q, sums, shares, whole, -1, none, alpha, p, rng)
        whole += count(word, q, sums, k, 1, tau)
        move(edge.document, place_of(edge.document, old), k, to)
        edge.topic = k


@pytest.mark.long
@pytest.mark.parametrize(
    "broken", [counts_own, pytest.param(counts_own_in_document, marks=pytest.mark.long)]
)
def test_a_wrong_sampler_is_found_out(broken):
    assert max(chi_square_probability(seed, SAMPLES, broken) for seed in (0, 2, 4)) < 1e-9


@pytest.mark.long
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
