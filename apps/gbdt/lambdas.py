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

MOST_GRADE = 31  # 2^31 - 1 is the largest gain
NEAR = 0.01  # of a difference of scores, as LightGBM has it


@cached_njit
def _discounts(n):  # type: ignore[no-untyped-def]
    """Return the discounts of the ranks from 0 on, (n,)."""
    out = np.empty(n)
    for rank in range(n):
        out[rank] = 1.0 / math.log2(rank + 2.0)
    return out


@cached_njit
def _dcg(gain, k, discount):  # type: ignore[no-untyped-def]
    """Return the DCG of the first `k` samples, whose gains (n,) are in the order of ranks."""
    out = 0.0
    for rank in range(min(k, len(gain))):
        out += gain[rank] * discount[rank]
    return out


@cached_njit
def _best_dcg(gain, k, discount):  # type: ignore[no-untyped-def]
    """Return the DCG of the best order."""
    return _dcg(np.sort(gain)[::-1], k, discount)


@cached_njit
def _compare(score, gain, truncation, discount, g, h):  # type: ignore[no-untyped-def]
    """Add the slopes of a query's samples, in the order of ranks, to g and h, (n,)."""
    best, n, total = _best_dcg(gain, truncation, discount), len(score), 0.0
    if best == 0.0:
        return
    differ = score[0] != score[n - 1]
    for i in range(min(truncation, n - 1)):
        for j in range(i + 1, n):
            if gain[i] == gain[j]:
                continue
            high, low = (i, j) if gain[i] > gain[j] else (j, i)
            d = score[high] - score[low]
            change = (gain[high] - gain[low]) * abs(discount[i] - discount[j]) / best
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
def _compare_all(bounds, score, gain, truncation, discount, g, h):  # type: ignore[no-untyped-def]
    for q in range(len(bounds) - 1):
        of = slice(bounds[q], bounds[q + 1])
        _compare(score[of], gain[of], truncation, discount, g[of], h[of])


@cached_njit
def _ndcg_of_all(bounds, gain, k, discount, out):  # type: ignore[no-untyped-def]
    for q in range(len(bounds) - 1):
        own = gain[bounds[q] : bounds[q + 1]]
        best = _best_dcg(own, k, discount)
        out[q] = _dcg(own, k, discount) / best if best > 0.0 else 1.0


@cached_njit
def rank_all(bounds, score):  # type: ignore[no-untyped-def]
    """Return the places of samples, (n,), query by query in the order of ranks; of equal scores the
    first one first. Query q has the samples from ``bounds[q]`` to ``bounds[q + 1]``.
    """
    order = np.empty(len(score), np.int64)
    for q in range(len(bounds) - 1):
        own = -score[bounds[q] : bounds[q + 1]]
        order[bounds[q] : bounds[q + 1]] = bounds[q] + np.argsort(own, kind="mergesort")
    return order


def find_wrong_grades(grade):
    """Return which of the grades are none, (n,): other numbers than whole ones that have a gain."""
    return ~((grade >= 0) & (grade <= MOST_GRADE) & (grade == np.rint(grade)))


def has_pairs(bounds, grade):
    """Return whether a query has samples of two grades, which are in the order of queries."""
    differ = np.diff(grade) != 0
    differ[bounds[1:-1] - 1] = False  # the last sample of a query, and the first one of the next
    return bool(differ.any())


def gains(grade):
    """Return 2^l - 1 of grades l, which are whole numbers: exact on all machines."""
    return np.ldexp(1.0, grade.astype(np.int64)) - 1.0


def slopes(bounds, score, grade, truncation):
    """Return (g, h), each (n,), of samples: query q has those from ``bounds[q]`` to
    ``bounds[q + 1]``, in the order of ranks, with the scores and grades (n,) float64.
    """
    g, h = np.zeros(len(score)), np.zeros(len(score))
    discount = _discounts(longest(bounds))
    _compare_all(bounds, score, gains(grade), truncation, discount, g, h)
    return g, h


def mean_ndcg(bounds, grade, k):
    """Return the mean NDCG@k of queries whose samples are in the order of ranks; see `slopes`. A
    query of which no sample has a grade above 0 counts as 1, as it does in LightGBM and XGBoost.
    """
    each = np.empty(len(bounds) - 1)
    _ndcg_of_all(bounds, gains(grade), k, _discounts(longest(bounds)), each)
    return float(each.mean())


def longest(bounds):
    """Return the number of samples of the query that has the most."""
    return int(np.diff(bounds).max())
