"""Latent Dirichlet allocation in the stages of TUX2: topics of documents by Gibbs sampling,

    p(topic k) ~ (n_dk + alpha) (n_wk + beta) / (n_k + V beta)      (counts without this occurrence)

Xiao et al., "TUX2: distributed graph computation for machine learning", NSDI 2017, figure 6;
Griffiths and Steyvers, "Finding scientific topics", PNAS 2004, equations 2 and 5. Each occurrence
of a word is an edge with a topic of its own; documents, words and the context have counts of
topics. The Exchange goes over the edges word by word. TUX2 draws by SparseLDA, this program by the
formula above, in a time that grows with all topics; that of the app `lda` does not.

    tux run docs/examples/tux2_lda.py docword.txt --topics 100
"""

from math import lgamma

import numpy as np

from tux import (
    Apply,
    Bags,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    metric,
    mirror,
    param,
    shared,
    total,
    value,
)


def count(document, word, k, change, tau):
    document.topics[k] += change
    word.topics[k] += change
    tau.topics[k] += change


def begin(word, edges, tau, p, rng):
    for edge in edges:
        edge.topic = rng.below(p.topics)
        count(edge.document, word, edge.topic, 1, tau)


def draw(word, edges, tau, p, rng):
    sums = np.empty(p.topics)
    for edge in edges:
        count(edge.document, word, edge.topic, -1, tau)
        whole = 0.0
        for k in range(p.topics):
            odds = (word.topics[k] + p.beta) / (tau.topics[k] + tau.words * p.beta)
            whole += (edge.document.topics[k] + p.alpha) * odds
            sums[k] = whole
        edge.topic = np.searchsorted(sums, rng.uniform() * whole, "right")
        count(edge.document, word, edge.topic, 1, tau)


def add_word(word, tau, p):
    tau.n_words += 1
    for k in range(p.topics):
        tau.logs += lgamma(word.topics[k] + p.beta)


def sync(tau, p):
    """Compute log p(words | topics) of an occurrence."""
    tau.words = tau.n_words
    mass, tokens = tau.words * p.beta, tau.topics.sum()
    logs = tau.logs + p.topics * (lgamma(mass) - tau.words * lgamma(p.beta))
    tau.log_likelihood = (logs - sum(lgamma(n + mass) for n in tau.topics)) / tokens


class TopicsInStages(Program):
    """Latent Dirichlet allocation in the stages of TUX2."""

    topics: int = param(100, "topics", low=1)
    alpha: float = param(0.1, "prior of the topics of a document", low=1e-6)
    beta: float = param(0.01, "prior of the words of a topic", low=1e-6)

    epochs = 100
    input = Bags()
    document = word = Vertex(topics=shared("i4", "topics"))
    occurrence = Edge("document", "word", repeats="count", topic=mirror("u2"))
    tau = Context(
        topics=shared("i8", "topics"),
        words=value("i8"),
        n_words=total("i8"),
        logs=total(),
        log_likelihood=metric(rises=True),
    )

    def _sweep(self, f):
        masters = Apply("document"), Apply("word")
        exchange = Exchange(f, over="word", additive=True)
        return [exchange, *masters, GlobalSync(sync, aggregate=add_word)]

    def setup(self):
        return self._sweep(begin)

    def stages(self):
        return self._sweep(draw)
