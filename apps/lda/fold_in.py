"""Topics of documents that training has not seen, and how well they foretell these documents'
words.

With the words' shares of topics as trained, phi_wk = (n_wk + beta) / (n_k + V beta), a document's
topics theta are found by EM:

    theta_k = (alpha_k + sum_i g_ik) / (N + sum_j alpha_j),
        g_ik ~ theta_k phi_(w_i)k over its N words that are known

so theta + 1 pseudo-count of alpha_k a topic is the most probable one (Asuncion et al., UAI 2009).
Held-out documents are judged by document completion (Wallach et al., ICML 2009; Asuncion et al.
2009): theta from one half of the words, every other one, and

    perplexity = exp(- mean over the other half's words w of  ln sum_k theta_k phi_wk).
"""

from __future__ import annotations

import math

import numpy as np

PASSES = 30  # of EM: theta changes by about 0.001 in the last


def shares(scale, tau, p):
    """Write 1 / (n_k + V beta) of each topic into `scale` (K,)."""
    for k in range(p.topics):
        scale[k] = 1 / (tau.n[k] + tau.smooth)


def settle(edges, step, theta, scale, tau, p):
    """Find the topics `theta` (K,) of a document, by its words 0, step, 2 step, ... that are known;
    even if none is.
    """
    likely, posterior = np.empty(p.topics), np.empty(p.topics)
    for k in range(p.topics):
        theta[k] = 1 / p.topics
    for _ in range(PASSES):
        for k in range(p.topics):
            likely[k], posterior[k] = theta[k] * scale[k], tau.alpha[k]
        for i in range(0, len(edges), step):
            word = edges[i].word
            if word.seen > 0:
                whole = 0.0
                for k in range(p.topics):
                    whole += likely[k] * (word.n[k] + tau.beta)
                share = 1 / whole
                for k in range(p.topics):
                    posterior[k] += share * likely[k] * (word.n[k] + tau.beta)
        whole = 0.0
        for k in range(p.topics):
            whole += posterior[k]
        for k in range(p.topics):
            theta[k] = posterior[k] / whole


def infer(edges, out, tau, p):
    """Write the topics of a document, (K,), which sum to 1."""
    scale = np.empty(p.topics)
    shares(scale, tau, p)
    settle(edges, 1, out, scale, tau, p)


def score_completion(edges, tau, p):
    """Add up the log-likelihood of every other word of a held-out document, given the rest."""
    if len(edges) > 1:
        scale, theta = np.empty(p.topics), np.empty(p.topics)
        shares(scale, tau, p)
        settle(edges, 2, theta, scale, tau, p)
        for i in range(1, len(edges), 2):
            word = edges[i].word
            if word.seen > 0:
                chance = 0.0
                for k in range(p.topics):
                    chance += theta[k] * scale[k] * (word.n[k] + tau.beta)
                tau.told += math.log(chance)
                tau.asked += 1


def perplexity(tau):
    """Set the perplexity of all words asked for, by all workers; nothing without any."""
    if tau.asked > 0:
        tau.test_perplexity = math.exp(-tau.told / tau.asked)
