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

from typing import TYPE_CHECKING

import numpy as np

from tux.apps.lda.conditional import count, draw, make_room, weigh
from tux.apps.lda.topic_lists import add, move
from tux.apps.lda.topics import Corpus, Topics
from tux.apps.lda.warplda import WarpLDA
from tux.program.fields import mirror
from tux.program.params import param
from tux.program.program import Program
from tux.program.types import Edge

if TYPE_CHECKING:
    from tux.arrays.edge_facts import EdgeFacts

# occurrences, in all and a topic, from which WarpLDA has been faster to a likelihood: see
# docs/lda.md
MANY, EACH = 1_000_000, 5_000


def begin(word, edges, tau, p, rng):
    """Give each occurrence of a word its first topic, given those that have one already."""
    q, sums, shares = make_room(p)
    whole, alpha = weigh(word, q, sums, tau, p), tau.alpha_mean
    for edge in edges:
        k, at, _ = draw(edge.document, q, sums, shares, whole, -1, 0.0, alpha, p, rng)
        add(edge.document, k, at)
        edge.topic = k
        whole += count(word, q, sums, k, 1, tau)


def sample(word, edges, tau, p, rng):
    """Draw the topics of a word's occurrences anew."""
    resample(word, edges, tau, p, rng, None)


def sample_by_alpha(word, edges, tau, p, rng):
    """Draw topics as `sample` does, where topics differ in alpha."""
    resample(word, edges, tau, p, rng, tau.lean)


def resample(word, edges, tau, p, rng, lean):
    """`sample` with the topics' `lean`, or None."""
    q, sums, shares = make_room(p)
    whole, alpha = weigh(word, q, sums, tau, p, lean), tau.alpha_mean
    for edge in edges:
        old = np.int64(edge.topic)
        whole += count(word, q, sums, old, -1, tau, lean)
        k, to, at = draw(edge.document, q, sums, shares, whole, old, q[old], alpha, p, rng, lean)
        whole += count(word, q, sums, k, 1, tau, lean)
        if k != old:
            move(edge.document, at, k, to)
            edge.topic = k


class SizedCorpus(Corpus):
    """A corpus whose size chooses the sampler."""

    def specialise(self, program: Program, facts: EdgeFacts) -> Program:
        """Return an LDA with the sampler that it names or, for "auto", by the size of the corpus;
        one that is cut already counts as large.
        """
        program = super().specialise(program, facts)
        parameters = program.parameters
        counts, sampler = facts.number("count"), parameters["sampler"]
        tokens = counts.total if counts else 0
        if sampler == "auto":
            sampler = "sparse" if 0 < tokens < max(MANY, EACH * parameters["topics"]) else "warp"
        if sampler == "sparse" == parameters["sampler"]:
            return program
        kind = type(program) if sampler == "sparse" else WarpLDA
        return kind(**{**parameters, "sampler": sampler})


class LDA(Topics):
    """Topics of documents: each is a mixture of topics, and each topic a distribution of words."""

    sampler: str = param("auto", "how topics are drawn", choices=("sparse", "warp", "auto"))
    input = SizedCorpus()
    occurrence = Edge("document", "word", repeats="count", topic=mirror("u2"))

    def setup(self, cluster):
        return self.initial(begin, cluster)

    def setup_from(self, cluster):
        return self.initial(begin, cluster)

    def stages(self, cluster):
        f = sample_by_alpha if self.asymmetric else sample
        return [self.sweep(f, "rotated", cluster, self.shares()), *self.optimised()]
