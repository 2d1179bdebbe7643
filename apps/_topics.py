"""What samplers of LDA share: the joint likelihood of words and topics, as functions of their rows, and topics told by their words.

The likelihood (Griffiths and Steyvers, PNAS 2004), a being alpha, b beta and V the number of words that occur, is the sum

    over documents of  lnG(K a) - lnG(K a + N_d) + sum_k lnG(a + n_dk) - lnG(a)
    over topics of     lnG(V b) - lnG(V b + n_k) + sum_w lnG(b + n_wk) - lnG(b)
"""

from __future__ import annotations

import math

import numpy as np

TOP = 10  # words that a topic is told by


def tally(word, edges):
    """How often a word occurs."""
    word.seen += len(edges)


def occurs(word, tau):
    """Count a word that does."""
    tau.words += word.seen > 0


def known(tau, p):
    """V, and V beta."""
    tau.V, tau.smooth = tau.words, tau.words * p.beta


def likely_topics(document, tau, p):
    """A document's part of the joint likelihood of words and topics."""
    alpha, length = np.float64(p.alpha), 0.0
    for i in range(document.size):
        length += document.times[i]
        tau.likelihood += math.lgamma(alpha + document.times[i]) - math.lgamma(alpha)
    tau.likelihood += math.lgamma(p.topics * alpha) - math.lgamma(p.topics * alpha + length)
    tau.tokens += length


def likely_words(word, tau, p):
    """A word's part."""
    beta = np.float64(p.beta)
    for k in range(p.topics):
        if word.n[k] > 0:
            tau.likelihood += math.lgamma(beta + word.n[k]) - math.lgamma(beta)


def report(tau, p):
    """The topics' part, and the sum by occurrence; nothing where nothing occurs."""
    if tau.tokens == 0:
        return
    smooth = tau.V * p.beta
    topics = sum(math.lgamma(smooth) - math.lgamma(smooth + n) for n in tau.n)
    tau.loglik_per_token = (tau.likelihood + topics) / tau.tokens


def by_words(counts, words):
    """The topics of `counts` (V, K), largest first: their most frequent `words` (V,), their tokens and their numbers."""
    tokens, top = counts.sum(axis=0), np.argsort(-counts, axis=0, kind="stable")[:TOP]
    order = np.argsort(-tokens, kind="stable")
    told = [" ".join(str(words[w]) for w in top[:, k] if counts[w, k]) for k in order]
    return {"words": told, "tokens": tokens[order], "topic": order}
