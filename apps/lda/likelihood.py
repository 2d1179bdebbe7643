"""The joint likelihood of words and topics, as functions of their rows, and what it counts.

It is, a being alpha, A its sum, b beta and V the number of words that occur, the sum (Griffiths and
Steyvers, PNAS 2004)

    over documents of  lnG(A) - lnG(A + N_d) + sum_k lnG(a_k + n_dk) - lnG(a_k)
    over topics of     lnG(V b) - lnG(V b + n_k) + sum_w lnG(b + n_wk) - lnG(b)

Where counts begin with seed words, or with those of a model, the second line is that of all counts
less that of these.
"""

from __future__ import annotations

import math

from tux.apps.lda.priors import PRIORS, follow_alpha, rise
from tux.apps.lda.topic_lists import count_tokens
from tux.program.fields import total, value
from tux.stages.computed import metric

_TOTALS = {name: total() for name in ("words", "likelihood", "tokens", "told", "asked")}
_METRICS = {"loglik_per_token": metric(rises=True), "test_perplexity": metric()}
CONTEXT = {
    "V": value("f8"),
    "smooth": value("f4"),
    "seeded": value("f8", kept=False),  # likelihood of the counts before the first draw
    **PRIORS,
    **_TOTALS,
    **_METRICS,
}
"""Fields of the context, besides the topics' counts."""


def tally(word, edges):
    """Count how often a word occurs."""
    word.seen += len(edges)


def occurs(word, tau):
    """Count a word that does."""
    tau.words += word.seen > 0


def set_priors(tau, p):
    """Set V, V beta, the priors that are given, and the likelihood of the occurrences of seed
    words with which counts begin.
    """
    tau.alpha[:], tau.beta = p.alpha, p.beta
    follow_priors(tau)
    tau.seeded = 0.0
    for n in tau.n[tau.n > 0]:
        tau.seeded += n / p.seed_weight * rise(math.lgamma, tau.beta, p.seed_weight)
        tau.seeded -= rise(math.lgamma, tau.V * tau.beta, n)


def follow_priors(tau):
    """Set V, and all that follows from the priors."""
    tau.V, tau.smooth = tau.words, tau.words * tau.beta
    follow_alpha(tau)


def recall(word, tau, p):
    """Count a word that occurs, and add the likelihood of its counts in a model."""
    occurs(word, tau)
    likely_words(word, tau, p)


def keep_priors(tau):
    """Set what follows from a model's priors, and the likelihood of its counts, which are there
    before the first draw.
    """
    follow_priors(tau)
    tau.seeded = tau.likelihood - likelihood_of_topics(tau)


def likely_topics(document, tau):
    """Add a document's part to the joint likelihood of words and topics."""
    for i in range(document.size):
        tau.likelihood += rise(math.lgamma, tau.alpha[document.topics[i]], document.times[i])
    length = count_tokens(document)
    tau.likelihood -= rise(math.lgamma, tau.alpha_sum, length)
    tau.tokens += length


def likely_words(word, tau, p):
    """Add a word's part to the joint likelihood."""
    for k in range(p.topics):
        if word.n[k] > 0:
            tau.likelihood += rise(math.lgamma, tau.beta, word.n[k])


def report(tau):
    """Set the likelihood by occurrence, with the topics' part; nothing where nothing occurs."""
    if tau.tokens == 0:
        return
    drawn = tau.likelihood - likelihood_of_topics(tau) - tau.seeded
    tau.loglik_per_token = drawn / tau.tokens


def likelihood_of_topics(tau):
    """Return by what the number of occurrences of each topic lowers the joint likelihood."""
    return sum(rise(math.lgamma, tau.V * tau.beta, n) for n in tau.n)
