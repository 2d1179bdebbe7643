"""LambdaMART: how the order of a query's samples would change NDCG, as slopes of their scores
(Burges, *From RankNet to LambdaRank to LambdaMART*, 2010; Wu et al., Information Retrieval 2010).

A query has samples with grades l = 0, 1, ... and scores m. Ranked by score, the largest first, the
sample at rank r, from 0 on, adds (2^l - 1) / log2(r + 2) to the discounted gain DCG. NDCG is the
DCG divided by that of the best order; NDCG@k counts the first k ranks alone. Let i have a larger
grade than j, and be one of both among the first `truncation`. With d = m_i - m_j, and with D, how
much NDCG changes where the two change places:

    lambda_ij = D_ij / (0.01 + |d|) / (1 + exp(d))
    g_i -= lambda_ij    g_j += lambda_ij
    h_i, h_j += lambda_ij exp(d) / (1 + exp(d))

The division by 0.01 + |d| is left out where all scores of the query are equal. With S, the sum of
2 lambda_ij over the pairs of a query, its g and h are then multiplied by log2(1 + S) / S. All of
this is LightGBM's `lambdarank`, whose best order has `truncation` ranks, too.
"""

from __future__ import annotations

import math

import numpy as np

from tux.base.compiled import cached_njit

NEAR = 0.01  # of a difference of scores, as LightGBM has it


@cached_njit
def _discounts(n):  # type: ignore[no-untyped-def]
    """Return the discounts of the ranks from 0 on, (n,)."""
    out = np.empty(n)
    for rank in range(n):
        out[rank] = 1.0 / math.log2(rank + 2.0)
    return out


@cached_njit
def _gain(grade, k, discount):  # type: ignore[no-untyped-def]
    """Return the DCG of the first `k` samples, whose grades (n,) are in the order of ranks."""
    out = 0.0
    for rank in range(min(k, len(grade))):
        out += (2.0 ** grade[rank] - 1.0) * discount[rank]
    return out


@cached_njit
def _best_gain(grade, k, discount):  # type: ignore[no-untyped-def]
    """Return the DCG of the best order."""
    return _gain(np.sort(grade)[::-1], k, discount)


@cached_njit
def _compare(score, grade, truncation, discount, g, h):  # type: ignore[no-untyped-def]
    """Add the slopes of a query's samples, in the order of ranks, to g and h, (n,)."""
    best, n, total = _best_gain(grade, truncation, discount), len(score), 0.0
    if best == 0.0:
        return
    differ = score[0] != score[n - 1]
    for i in range(min(truncation, n - 1)):
        for j in range(i + 1, n):
            if grade[i] == grade[j]:
                continue
            high, low = (i, j) if grade[i] > grade[j] else (j, i)
            d = score[high] - score[low]
            change = (2.0 ** grade[high] - 2.0 ** grade[low]) / best
            change *= abs(discount[i] - discount[j])
            if differ:
                change /= NEAR + abs(d)
            e = math.exp(-abs(d))
            wrong = (e if d > 0 else 1.0) / (1.0 + e)
            slope, bend = change * wrong, change * e / ((1.0 + e) * (1.0 + e))
            g[high] -= slope
            g[low] += slope
            h[high] += bend
            h[low] += bend
            total += 2.0 * slope
    if total > 0.0:
        share = math.log1p(total) / math.log(2.0) / total  # of small totals, too
        g *= share
        h *= share


@cached_njit
def _compare_all(bounds, score, grade, truncation, discount, g, h):  # type: ignore[no-untyped-def]
    for q in range(len(bounds) - 1):
        of = slice(bounds[q], bounds[q + 1])
        _compare(score[of], grade[of], truncation, discount, g[of], h[of])


@cached_njit
def _ndcg_of_all(bounds, grade, k, discount, out):  # type: ignore[no-untyped-def]
    for q in range(len(bounds) - 1):
        own = grade[bounds[q] : bounds[q + 1]]
        best = _best_gain(own, k, discount)
        out[q] = _gain(own, k, discount) / best if best > 0.0 else 1.0


def slopes(bounds, score, grade, truncation):
    """Return (g, h), each (n,), of samples: query q has those from ``bounds[q]`` to
    ``bounds[q + 1]``, in the order of ranks, with the scores and grades (n,) float64.
    """
    g, h = np.zeros(len(score)), np.zeros(len(score))
    discount = _discounts(longest(bounds))
    _compare_all(bounds, score, grade, truncation, discount, g, h)
    return g, h


def mean_ndcg(bounds, grade, k):
    """Return the mean NDCG@k of queries whose samples are in the order of ranks; see `slopes`. A
    query of which no sample has a grade above 0 counts as 1, as it does in LightGBM and XGBoost.
    """
    each = np.empty(len(bounds) - 1)
    _ndcg_of_all(bounds, grade, k, _discounts(longest(bounds)), each)
    return float(each.mean())


def longest(bounds):
    """Return the number of samples of the query that has the most."""
    return int(np.diff(bounds).max())
