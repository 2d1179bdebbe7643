"""LambdaMART by its formulas, in plain numpy, pair by pair; and samples of queries."""

import numpy as np


def draw_queries(sizes, p=6, seed=0):
    """Draw samples of queries of these sizes: x (n, p), grades (n,) that depend on it, and the
    query of each (n,).
    """
    rng = np.random.default_rng(seed)
    query = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.normal(size=(len(query), p)).round(2)
    score = x[:, 0] + x[:, 1] * x[:, 2] + rng.normal(size=len(query)) / 3
    return x, np.digitize(score, [-0.5, 0.5, 1.5]), query


def ranked(score):
    """Return the order of samples by score, of equal ones the first one first."""
    return np.argsort(-np.asarray(score, float), kind="stable")


def dcg(grade, k):
    """Return the discounted gain of the first k grades in the order of ranks."""
    grade = np.asarray(grade, float)[:k]
    return ((2**grade - 1) / np.log2(np.arange(len(grade)) + 2)).sum()


def ndcg(score, grade, query, k=10):
    """Return the mean NDCG@k of queries; one without a grade above 0 counts as 1."""
    found = []
    for q in np.unique(query):
        s, own = score[query == q], grade[query == q]
        best = dcg(np.sort(own)[::-1], k)
        found.append(dcg(own[ranked(s)], k) / best if best > 0 else 1.0)
    return float(np.mean(found))


def slopes(score, grade, query, truncation=30):
    """Return (g, h) of all samples, (n,)."""
    g, h = np.zeros(len(score)), np.zeros(len(score))
    for q in np.unique(query):
        at = np.flatnonzero(query == q)
        g[at], h[at] = slopes_of_query(score[at], grade[at], truncation)
    return g, h


def slopes_of_query(score, grade, truncation):
    """Return (g, h) of the samples of a query, (n,)."""
    n, order = len(score), ranked(score)
    rank = np.empty(n, int)
    rank[order] = np.arange(n)
    best = dcg(np.sort(grade)[::-1], truncation)
    g, h, total = np.zeros(n), np.zeros(n), 0.0
    for i in range(n):
        for j in range(n):
            if grade[i] <= grade[j] or min(rank[i], rank[j]) >= truncation:
                continue
            d = score[i] - score[j]
            gap = 1 / np.log2(rank[i] + 2) - 1 / np.log2(rank[j] + 2)
            change = abs((2.0 ** grade[i] - 2.0 ** grade[j]) * gap) / best
            if score.max() != score.min():
                change /= 0.01 + abs(d)
            chance = 1 / (1 + np.exp(d))
            g[i] -= change * chance
            g[j] += change * chance
            h[[i, j]] += change * chance * (1 - chance)
            total += 2 * change * chance
    share = np.log1p(total) / np.log(2) / total if total > 0 else 1.0
    return share * g, share * h
