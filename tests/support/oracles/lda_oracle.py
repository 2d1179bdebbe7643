"""Latent Dirichlet allocation from its formulas: likelihood, posterior by enumeration, sweeps as
matrices, corpora with known topics.
"""

from dataclasses import dataclass
from itertools import product
from math import lgamma

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln
from scipy.stats import chi2


def count_topics(rows, topics, n, k):
    """Count how often each topic is in each row: (n, k) from a row and a topic of each token."""
    out = np.zeros((n, k), np.int64)
    np.add.at(out, (rows, topics), 1)
    return out


def log_likelihood(by_document, by_word, alpha, beta, before=0):
    """Return log p(w, z) from counts (D, K) and (V, K), term by term; words that do not occur are
    no part of the model. The prior of word w in topic k is beta and `before` (V, K).
    """
    occur = by_word.sum(1) > 0
    priors = (np.zeros(by_word.shape) + beta + before)[occur]
    k, total = by_word.shape[1], 0.0
    for row in by_document.tolist():
        total += lgamma(k * alpha) - lgamma(k * alpha + sum(row))
        for n in row:
            total += lgamma(alpha + n) - lgamma(alpha)
    for column, prior in zip(by_word[occur].T.tolist(), priors.T.tolist(), strict=True):
        total += lgamma(sum(prior)) - lgamma(sum(prior) + sum(column))
        for n, own in zip(column, prior, strict=True):
            total += lgamma(own + n) - lgamma(own)
    return total


@dataclass(frozen=True)
class Tiny:
    """Tokens so few that all their assignments to topics can be listed. An assignment's number
    has token i's topic as its i-th digit.
    """

    documents: np.ndarray  # (n,)
    words: np.ndarray  # (n,) from 0 to V - 1, each of which occurs
    topics: int
    alpha: float
    beta: float
    before: np.ndarray | None = None  # (V, K), what priors of words are above beta

    def assignments(self):
        """Return all assignments, (K^n, n)."""
        return np.array(list(product(range(self.topics), repeat=len(self.words))))

    def number(self, assignment):
        return int(np.dot(assignment, self.topics ** np.arange(len(self.words))[::-1]))

    def posterior(self):
        """Return p(z | w) of each assignment."""
        one = self.assignments()[:, :, None] == np.arange(self.topics)  # (assignments, tokens, K)
        log = np.zeros(len(one))
        for ids, prior, size in (
            (self.documents, self.alpha, None),
            (self.words, self.beta, self.words.max() + 1),
        ):
            above = self.before if size and self.before is not None else np.zeros((size or 99, 1))
            for i in np.unique(ids):
                log += gammaln(prior + above[i] + one[:, ids == i].sum(1)).sum(1)
            if size:
                log -= gammaln(size * prior + above.sum(0) + one.sum(1)).sum(1)
        p = np.exp(log - log.max())
        return p / p.sum()

    def sweep(self):
        """Return the matrix of one sweep: each token in its turn is drawn given all others."""
        p, n = self.posterior(), len(self.words)
        out = np.eye(len(p))
        for i in range(n):
            shape = (self.topics**i, self.topics, self.topics ** (n - 1 - i))
            given = p.reshape(shape) / p.reshape(shape).sum(1, keepdims=True)
            moved = out.reshape(len(p), *shape).sum(2, keepdims=True) * given
            out = moved.reshape(len(p), len(p))
        return out

    def mixing_sweeps(self, near=0.01, most=400):
        """Return after how many sweeps the state says next to nothing about where it came from: a
        total variation below `near`.
        """
        p, sweep = self.posterior(), self.sweep()
        np.testing.assert_allclose(p @ sweep, p, atol=1e-12)
        power = sweep
        for times in range(1, most):
            if np.abs(power - p).sum(1).max() / 2 < near:
                return times
            power = power @ sweep
        raise AssertionError("this corpus is sampled too slowly to be a test")

    def one_by_one(self):
        """Return the probability of each assignment if every token is drawn in turn, given those
        before it alone.
        """
        size = self.words.max() + 1
        out = np.ones(self.topics ** len(self.words))
        for number, z in enumerate(self.assignments()):
            for i, (d, w) in enumerate(zip(self.documents, self.words, strict=True)):
                before = z[:i, None] == np.arange(self.topics)
                p = (before[self.documents[:i] == d].sum(0) + self.alpha) * (
                    before[self.words[:i] == w].sum(0) + self.beta
                )
                p /= before.sum(0) + size * self.beta
                out[number] *= p[z[i]] / p.sum()
        return out


def chance(observed, p, least=5.0):
    """Return the chi-square probability of counts as odd as these if cells have probabilities `p`;
    cells of which few are expected are one.
    """
    order = np.argsort(p)
    observed, expected = observed[order], observed.sum() * p[order]
    rare = int(np.searchsorted(expected, least))
    while rare and expected[:rare].sum() < least:
        rare += 1
    starts = np.append(0, np.arange(max(rare, 1), len(p)))
    seen, awaited = np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
    return chi2.sf(((seen - awaited) ** 2 / awaited).sum(), len(seen) - 1)


@dataclass(frozen=True)
class Drawn:
    """A corpus from the model: document, word and true topic of each token, and the topics'
    words (K, V).
    """

    documents: np.ndarray
    words: np.ndarray
    topics: np.ndarray
    phi: np.ndarray


def corpus(documents, length, vocabulary, topics, alpha, beta, seed=0):
    """Return documents of `length` tokens each."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(vocabulary, beta), topics)
    theta = rng.dirichlet(np.full(topics, alpha), documents)
    z = np.array([rng.choice(topics, length, p=mixed) for mixed in theta]).ravel()
    w = np.empty_like(z)
    for k in range(topics):
        w[z == k] = rng.choice(vocabulary, (z == k).sum(), p=phi[k])
    return Drawn(np.repeat(np.arange(documents), length), w, z, phi)


def likeness(found, true):
    """Return the mean cosine of topics (K, V) with the true ones, matched so that it is the
    largest.
    """
    a, b = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (found, true))
    return (a @ b.T)[linear_sum_assignment(-a @ b.T)].mean()
