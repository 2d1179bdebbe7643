"""Latent Dirichlet allocation by Metropolis-Hastings steps, at a cost for an occurrence that does
not grow with the number of topics.

Two kinds of steps take turns, as in WarpLDA (Chen, Li, Zhu and Chen, VLDB 2016). An occurrence of
word w in document d has topic s. The document proposes t, the topic of one of its own occurrences
or, with probability A / (A + N_d), k with probability alpha_k / A (A: the sum); the word does
likewise with beta. What the one has proposed the other accepts, when its own turn comes, with
probability

    min(1, (n_t + prior_t)(N_s - 1 + V beta) / ((n_s - 1 + prior_s)(N_t + V beta)))

by its own counts n and priors, and the totals N of the topics: the proposer's part of p(t) / p(s)
is what it has drawn by. So a document looks at its occurrences alone, and so does a word. Unlike
there, what is accepted counts at once, and first topics are drawn in turn.
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.conditional import count, draw, make_room, weigh
from tux.apps.lda.metropolis import COUNTED, PROPOSED, TOPIC, walk
from tux.apps.lda.topic_lists import add
from tux.apps.lda.topics import Topics
from tux.program.fields import mirror
from tux.program.params import param
from tux.program.types import Edge
from tux.stages import Exchange, GlobalSync

# topics by occurrence up to which a word's counts are read as a whole: its occurrences look at four
# cache lines each
SPREAD = 64


def begin(word, edges, tau, p, rng):
    """Give each occurrence of a word its first topic, given those that have one already."""
    q, sums, shares = make_room(p)
    whole, alpha = weigh(word, q, sums, tau, p), tau.alpha_mean
    for edge in edges:
        k, at, _ = draw(edge.document, q, sums, shares, whole, -1, 0.0, alpha, p, rng)
        add(edge.document, k, at)
        edge.z[TOPIC] = edge.z[PROPOSED] = k
        whole += count(word, q, sums, k, 1, tau)


def topics_of(edges, p):
    """Return how often a document has each topic, (K,). Mark for each occurrence that its word will
    count this topic.
    """
    n = np.zeros(p.topics, np.int32)
    for edge in edges:
        n[edge.z[TOPIC]] += 1
        edge.z[COUNTED] = edge.z[TOPIC]
    return n


def by_document(document, edges, tau, p, rng):
    """Take a document's turn."""
    walk(edges, np.empty(0, np.uint16), topics_of(edges, p), tau.alpha_mean, tau, p, rng)


def by_document_and_alpha(document, edges, tau, p, rng):
    """Take a document's turn where topics differ in alpha."""
    walk(
        edges,
        np.empty(0, np.uint16),
        topics_of(edges, p),
        tau.alpha_mean,
        tau,
        p,
        rng,
        tau.lean,
        tau.upto,
    )


def by_word(word, edges, tau, p, rng):
    """Take a word's turn. Count first what documents have changed."""
    if len(edges) == 0:
        return
    cut = len(edges) < word.seen
    occurrences = count_occurrences(word, p) if cut or p.topics <= SPREAD * len(edges) else 0
    for edge in edges:
        if edge.z[COUNTED] != edge.z[TOPIC]:
            word.n[edge.z[COUNTED]] -= 1
            word.n[edge.z[TOPIC]] += 1
    bag = np.empty(occurrences if cut else 0, np.uint16)
    fill(bag, word, p)
    walk(edges, bag, word.n, tau.beta, tau, p, rng)


def count_occurrences(word, p):
    """Return how often a word occurs. The number is known, but adding up the counts brings them
    into the cache in one sweep.
    """
    occurrences = 0
    for k in range(p.topics):
        occurrences += word.n[k]
    return occurrences


def fill(bag, word, p):
    """Write the topics of all occurrences of a word, of which some lie on other workers; none if
    the bag is empty.
    """
    i = 0
    for k in range(p.topics if len(bag) else 0):
        for _ in range(word.n[k]):
            bag[i] = k
            i += 1


def enlist(document, edges):
    """List a document's topics, which a model keeps and evaluation reads."""
    document.size = 0
    for edge in edges:
        add(document, np.int64(edge.z[TOPIC]))


def enlist_if_due(document, edges, tau):
    """Do as `enlist` does, if the priors are estimated next."""
    if tau.due:
        enlist(document, edges)


class WarpLDA(Topics):
    """Topics of documents: each is a mixture of topics, and each topic a distribution of words."""

    sampler: str = param("warp", "how topics are drawn", choices=("warp",))
    occurrence = Edge("document", "word", repeats="count", z=mirror("u2", 3))

    def setup(self, cluster):
        return self.initial(begin, cluster)

    def setup_from(self, cluster):
        return self.initial(begin, cluster)

    def stages(self, cluster):
        turn = by_document_and_alpha if self.asymmetric else by_document
        return [
            Exchange(turn, stale_context=True),
            GlobalSync(),
            self.sweep(by_word, "rotated", cluster),
            *self.optimised(Exchange(enlist_if_due)),
        ]

    def evaluate(self, cluster):
        return [Exchange(enlist), *super().evaluate(cluster)]
