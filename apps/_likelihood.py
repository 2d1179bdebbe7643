"""The joint likelihood of words and topics in LDA, as functions of the rows that its samplers keep (Griffiths and Steyvers, PNAS 2004).

sum over documents of  lnG(K a) - lnG(K a + N_d) + sum_k lnG(a + n_dk) - lnG(a)
sum over topics of     lnG(V b) - lnG(V b + n_k) + sum_w lnG(b + n_wk) - lnG(b)            a: alpha, b: beta, V: words that occur
"""

from __future__ import annotations

import math

import numpy as np


def occurs(tau):
    """Count a word."""
    tau.words += 1


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
    """The topics' part, and the sum by occurrence."""
    smooth = tau.V * p.beta
    topics = sum(math.lgamma(smooth) - math.lgamma(smooth + n) for n in tau.n)
    tau.loglik_per_token = (tau.likelihood + topics) / tau.tokens
