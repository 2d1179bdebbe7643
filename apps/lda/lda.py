"""Latent Dirichlet allocation by exact Gibbs sampling, in time that grows with a document's topics,
not with all of them.

The topic k of an occurrence of word w in document d is drawn anew given all others (Griffiths and
Steyvers, PNAS 2004; n: their counts):

    p(k) ~ (n_dk + alpha_k) q_k,    q_k = (n_wk + beta) / (n_k + V beta)

Split as in SparseLDA (Yao, Mimno and McCallum, KDD 2009): n_dk q_k over the few topics of d, a list
that never travels, and alpha_k q_k, of which sums are kept. Words come one after the other, so that
q is one small array, as in F+LDA (Yu et al., WWW 2015).
"""

from __future__ import annotations

import numpy as np

from tux.apps.lda.likelihood import (
    CONTEXT,
    known,
    likely_topics,
    likely_words,
    occurs,
    report,
    tally,
)
from tux.apps.lda.priors import scaled
from tux.apps.lda.topic_lists import add, drop
from tux.apps.lda.topics import Topics, listed
from tux.program.fields import mirror, shared
from tux.program.params import param
from tux.program.program import Context, Edge, Vertex
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

GROUP = 32  # topics whose q are summed, so that drawing among all looks at sums first


def weight(word, k, tau):
    """q_k of a word."""
    return (np.float32(word.n[k]) + tau.beta) / (np.float32(tau.n[k]) + tau.smooth)


def weigh(word, q, sums, tau, p, lean=None):
    """All q_k of a word, and their sums by group; returns the sum of all.

    Where topics differ in alpha, sums are of lean_k q_k, alpha_k being the mean times `lean` (K,);
    None otherwise, which costs nothing.
    """
    for k in range(p.topics):
        q[k] = weight(word, k, tau)
    whole = np.float32(0)
    for g in range(len(sums)):
        sums[g] = np.float32(0)
        for k in range(g * GROUP, min((g + 1) * GROUP, p.topics)):
            sums[g] += scaled(q[k], lean, k)
        whole += sums[g]
    return whole


def draw(document, q, sums, whole, old, own, alpha, p, rng, lean=None):
    """A topic for an occurrence in a document. The list still counts its topic `old` (-1: none
    yet), of which q is `own`.
    """
    topics, times, size = document.topics, document.times, document.size
    listed = -own
    for i in range(size):
        listed += times[i] * q[topics[i]]
    u = np.float32(rng.uniform()) * (listed + alpha * whole)
    if u < listed:
        for i in range(size):
            u -= times[i] * q[topics[i]] - (own if topics[i] == old else np.float32(0))
            if u < 0:
                return np.int64(topics[i])
        return np.int64(topics[size - 1])
    u, g = (u - listed) / alpha, 0
    while g < len(sums) - 1 and u >= sums[g]:
        u -= sums[g]
        g += 1
    k = g * GROUP
    while k < min((g + 1) * GROUP, p.topics) - 1 and u >= scaled(q[k], lean, k):
        u, k = u - scaled(q[k], lean, k), k + 1
    return np.int64(k)


def count(word, q, sums, k, step, tau, lean=None):
    """`step` occurrences more of a word have topic k; returns by how much the sum of all has
    changed.
    """
    before = q[k]
    word.n[k] += step
    tau.n[k] += step
    q[k] = weight(word, k, tau)
    change = scaled(q[k] - before, lean, k)
    sums[k // GROUP] += change
    return change


def begin(word, edges, tau, p, rng):
    """Give each occurrence of a word its first topic, given those that have one already."""
    q, sums = np.empty(p.topics, np.float32), np.empty((p.topics + GROUP - 1) // GROUP, np.float32)
    whole, alpha = weigh(word, q, sums, tau, p), tau.alpha_mean
    for edge in edges:
        k = draw(edge.document, q, sums, whole, -1, np.float32(0), alpha, p, rng)
        add(edge.document, k)
        edge.topic = k
        whole += count(word, q, sums, k, 1, tau)


def sample(word, edges, tau, p, rng):
    """Draw the topics of a word's occurrences anew."""
    resample(word, edges, tau, p, rng, None)


def sample_unevenly(word, edges, tau, p, rng):
    """The same where topics differ in alpha."""
    resample(word, edges, tau, p, rng, tau.lean)


def resample(word, edges, tau, p, rng, lean):
    """`sample` with the topics' `lean`, or None."""
    q, sums = np.empty(p.topics, np.float32), np.empty((p.topics + GROUP - 1) // GROUP, np.float32)
    whole, alpha = weigh(word, q, sums, tau, p, lean), tau.alpha_mean
    for edge in edges:
        old = np.int64(edge.topic)
        whole += count(word, q, sums, old, -1, tau, lean)
        k = draw(edge.document, q, sums, whole, old, q[old], alpha, p, rng, lean)
        whole += count(word, q, sums, k, 1, tau, lean)
        if k != old:
            drop(edge.document, old)
            add(edge.document, k)
            edge.topic = k


class LDA(Topics):
    """Topics of documents: each is a mixture of topics, and each topic a distribution of words."""

    topics: int = param(100, "number of topics", low=2, high=65_535)
    alpha: float = param(0.1, "prior of each topic in a document", low=1e-6)
    beta: float = param(0.01, "prior of each word in a topic", low=1e-6)
    optimise: int = param(0, "estimate alpha and beta anew every so many epochs; 0: never", low=0)
    asymmetric: bool = param(False, "estimate an alpha for each topic")
    parts: int = param(
        0,
        "mini-batches in an epoch: how often workers tell each other their counts; 0: 4 a worker, "
        "at least 8",
        low=0,
    )
    sampler: str = param("auto", "how topics are drawn", choices=("sparse", "warp", "auto"))
    epochs = 100
    document = Vertex(whole=True, topics=listed("u2"), times=listed("f4"), size=mirror("i4"))
    word = Vertex(n=shared("topics", "i4"), seen=shared("i4"))
    occurrence = Edge("document", "word", repeats="count", topic=mirror("u2"))
    tau = Context(n=shared("topics", "i4"), **CONTEXT)

    def sweep(self, f, order):
        blocks = self.parts or max(8, 4 * self.workers)
        return MiniBatch(
            Exchange(f, over="word"), Apply("word"), GlobalSync(), blocks=blocks, order=order
        )

    def setup(self):
        return [
            Exchange(tally),
            Apply("word"),
            GlobalSync(known, aggregate=occurs),
            self.sweep(begin, order="pipelined"),
        ]

    def stages(self):
        f = sample_unevenly if self.asymmetric else sample
        return [self.sweep(f, order="rotated"), *self.optimised()]

    def evaluate(self):
        return [
            Exchange(None, enter=likely_topics),
            GlobalSync(report, aggregate=likely_words),
            *self.completed(),
        ]
