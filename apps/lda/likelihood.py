"""What samplers of LDA share: the joint likelihood of words and topics, as functions of their rows,
and topics told by their words.

The likelihood (Griffiths and Steyvers, PNAS 2004), a being alpha, A its sum, b beta and V the
number of words that occur, is the sum

    over documents of  lnG(A) - lnG(A + N_d) + sum_k lnG(a_k + n_dk) - lnG(a_k)
    over topics of     lnG(V b) - lnG(V b + n_k) + sum_w lnG(b + n_wk) - lnG(b)
"""

from __future__ import annotations

import math

import numpy as np

from tux.apps.lda.priors import PRIORS, spread
from tux.base.errors import UsageError
from tux.program.fields import metric, total, value

TOP = 10  # words that a topic is told by

_TOTALS = {name: total() for name in ("words", "likelihood", "tokens", "told", "asked")}
_METRICS = {name: metric() for name in ("loglik_per_token", "test_perplexity")}
CONTEXT = {"V": value("f8"), "smooth": value("f4"), **PRIORS, **_TOTALS, **_METRICS}
"""Fields of the context, besides the topics' counts."""

# occurrences, in all and a topic, from which WarpLDA has been faster to a likelihood: see
# docs/lda.md
MANY, EACH = 1_000_000, 5_000


def suited(program, edges):
    """An LDA with the sampler that it names or, for "auto", by the size of the corpus; one that is
    cut already is taken for large.

    Raises UsageError where priors are to be asymmetric and stay as they are.
    """
    from tux.apps.lda.warplda import WarpLDA  # which is made of LDA's parts

    if program.asymmetric and not program.optimise:
        raise UsageError(
            "an alpha for each topic is asked for, but no estimate of it", do="add --optimise 10"
        )
    sampler, tokens = program.sampler, int(edges.fields.get("count", np.zeros(0)).sum())
    if sampler == "auto":
        sampler = "sparse" if 0 < tokens < max(MANY, EACH * program.topics) else "warp"
    if sampler == "sparse" or isinstance(program, WarpLDA):
        return (
            program
            if sampler == program.sampler
            else type(program)(**{**program.parameters, "sampler": sampler})
        )
    return WarpLDA(**{**program.parameters, "sampler": sampler})


def tally(word, edges):
    """How often a word occurs."""
    word.seen += len(edges)


def occurs(word, tau):
    """Count a word that does."""
    tau.words += word.seen > 0


def known(tau, p):
    """V and V beta, and the priors that are given."""
    tau.alpha[:], tau.beta = p.alpha, p.beta
    tau.V, tau.smooth = tau.words, tau.words * tau.beta
    spread(tau)


def likely_topics(document, tau):
    """A document's part of the joint likelihood of words and topics."""
    whole, length = np.float64(tau.alpha_sum), 0.0
    for i in range(document.size):
        alpha = np.float64(tau.alpha[document.topics[i]])
        length += document.times[i]
        tau.likelihood += math.lgamma(alpha + document.times[i]) - math.lgamma(alpha)
    tau.likelihood += math.lgamma(whole) - math.lgamma(whole + length)
    tau.tokens += length


def likely_words(word, tau, p):
    """A word's part."""
    beta = np.float64(tau.beta)
    for k in range(p.topics):
        if word.n[k] > 0:
            tau.likelihood += math.lgamma(beta + word.n[k]) - math.lgamma(beta)


def report(tau):
    """The topics' part, and the sum by occurrence; nothing where nothing occurs."""
    if tau.tokens == 0:
        return
    smooth = tau.V * float(tau.beta)
    topics = sum(math.lgamma(smooth) - math.lgamma(smooth + n) for n in tau.n)
    tau.loglik_per_token = (tau.likelihood + topics) / tau.tokens


def top_words(counts):
    """The most frequent words of each topic, (TOP, K), or fewer if there are fewer words; of
    equal ones the first. `counts` (V, K).
    """
    return np.stack([_most(counts[:, k]) for k in range(counts.shape[1])], axis=1)


def _most(counts):
    """Where the TOP largest stand, in their order; only they are sorted."""
    least = np.sort(np.partition(counts, -TOP)[-TOP:])[0] if len(counts) > TOP else 0
    (at,) = np.nonzero(counts >= least)
    return at[np.argsort(-counts[at], kind="stable")][:TOP]


def by_words(counts, words):
    """The topics of `counts` (V, K), largest first: their most frequent `words` (V,), their
    tokens and their numbers.
    """
    tokens, top = counts.sum(axis=0), top_words(counts)
    order = np.argsort(-tokens, kind="stable")
    told = [" ".join(str(words[w]) for w in top[:, k] if counts[w, k]) for k in order]
    return {"words": told, "tokens": tokens[order], "topic": order}
