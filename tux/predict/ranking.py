"""Measures of recommendations, by items held out: recall, normalised discounted cumulative gain
(NDCG), mean average precision (MAP), hit rate and mean reciprocal rank (MRR) of the best k; and how
many of all items are recommended, their coverage.

Of a query, let R be the set of its held-out items, and hit[i] say whether the item of rank i,
counted from 1, is one of them. Then

    recall@k  =  hits / |R|
    ndcg@k    =  sum of hit[i] / log2(i + 1)  over the same sum if the first min(k, |R|) were hits
    AP@k      =  sum of hit[i] * (hits up to i) / i, over min(k, |R|)
    hit@k     =  1 if there is a hit, else 0
    RR@k      =  1 / i of the first hit, 0 if there is none

and each is averaged over the queries that have held-out items; MAP is the mean of AP, the hit rate
that of hit, and MRR that of RR. (Järvelin and Kekäläinen, TOIS 2002, have NDCG; Voorhees, TREC-8
1999, has MRR.)

    coverage@k  =  items among the best k of one of these queries / all items of the model
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tux.predict.factors import Factors
from tux.predict.topk import Excluded, group_by_query, select_queries

PIECE = 1 << 12  # queries at a time

Relevant = tuple[np.ndarray, np.ndarray]
"""The held-out items of each query, each once: of query i those at
``positions[offsets[i] : offsets[i + 1]]``, ascending.
"""


def hits(found: np.ndarray, relevant: Relevant) -> np.ndarray:
    """Return, for each of the positions `found` (Q, k), whether it is relevant, (Q, k) bool; -1 is
    none.
    """
    offsets, positions = relevant
    width = int(max(found.max(initial=0), positions.max(initial=0))) + 1
    rows = np.repeat(np.arange(len(found)), np.diff(offsets))
    known = rows * width + positions
    asked = np.arange(len(found))[:, None] * width + found
    if not len(known):
        return np.zeros(found.shape, np.bool_)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return np.asarray((known[at] == asked) & (found >= 0))


def recall(hit: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the share of the relevant items that is found, (Q,). `hit` (Q, k) is a result of
    `hits`; `count` (Q,) is the number of relevant items of each query, 1 at least.
    """
    return np.asarray(hit.sum(1) / count)


def ndcg(hit: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the normalised discounted cumulative gain, (Q,); see `recall`."""
    gains = 1 / np.log2(np.arange(2, hit.shape[1] + 2))
    ideal = np.cumsum(gains)[np.minimum(count, hit.shape[1]) - 1]
    return np.asarray(hit @ gains / ideal)


def average_precision(hit: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the average precision, (Q,); see `recall`."""
    precision = np.cumsum(hit, axis=1) / np.arange(1, hit.shape[1] + 1)
    return np.asarray((precision * hit).sum(1) / np.minimum(count, hit.shape[1]))


def has_hit(hit: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return whether a relevant item is found, (Q,) bool; see `recall`."""
    return np.asarray(hit.any(1))


def reciprocal_rank(hit: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return 1 / rank of the first relevant item, 0 if none is found, (Q,); see `recall`."""
    return np.asarray(hit.any(1) / (hit.argmax(1) + 1))


MEASURES = {
    "recall": recall,
    "ndcg": ndcg,
    "map": average_precision,
    "hit_rate": has_hit,
    "mrr": reciprocal_rank,
}
"""The measures that are means over queries, by their names in records."""


def judge_ranking(
    factors: Factors,
    train: Iterable[tuple[np.ndarray, np.ndarray]],
    held_out: tuple[np.ndarray, np.ndarray],
    k: int,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, float]:
    """Return ``{"recall@K": .., "ndcg@K": .., ..}``, each of `MEASURES` and the coverage, of the
    best K items of each query that has held-out items; {} if there is no such query.

    `train`: pieces of pairs of a query and an item, (m,) each, which are not recommended again;
    `held_out` likewise: those that `train` has, too, do not count. Queries that the model does not
    know do not count; items that it does not know count, and are never found.
    """
    most = len(factors.queries)
    known = held_out[0] < most
    asked = np.zeros(most, np.bool_)
    asked[held_out[0][known]] = True
    seen = _training_items(train, asked)
    relevant = _subtract_pairs(group_by_query(held_out[0][known], held_out[1][known], most), seen)
    counts = np.diff(relevant[0])
    rows = np.flatnonzero(counts)
    sums, is_found = np.zeros(len(MEASURES)), np.zeros(len(factors.items), np.bool_)
    for at in range(0, len(rows), PIECE):
        piece = rows[at : at + PIECE]

        def report_share(share: float, at: int = at, size: int = len(piece)) -> None:
            progress((at + share * size) / len(rows))

        found, _ = factors.best(piece, k, seen, report_share)
        # ranks that no item can have count as missed
        hit = np.zeros((len(piece), k), np.bool_)
        hit[:, : found.shape[1]] = hits(found, select_queries(relevant, piece))
        sums += [each(hit, counts[piece]).sum() for each in MEASURES.values()]
        is_found[found[found >= 0]] = True
    if not len(rows):
        return {}
    means = [*(sums / len(rows)).tolist(), float(is_found.mean())]
    return {f"{name}@{k}": mean for name, mean in zip([*MEASURES, "coverage"], means, strict=True)}


def _training_items(train: Iterable[tuple[np.ndarray, np.ndarray]], asked: np.ndarray) -> Excluded:
    """Return the training items of the queries that are `asked` for, (Q,) bool."""
    queries, positions = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for src, dst in train:
        wanted = asked[src]
        queries.append(src[wanted])
        positions.append(dst[wanted])
    return group_by_query(np.concatenate(queries), np.concatenate(positions), len(asked))


def _subtract_pairs(pairs: Excluded, others: Excluded) -> Excluded:
    """Return the pairs that are not among others."""
    width = int(max(pairs[1].max(initial=0), others[1].max(initial=0))) + 1
    rows, other_rows = (
        np.repeat(np.arange(len(each[0]) - 1), np.diff(each[0])) for each in (pairs, others)
    )
    left = np.isin(
        rows * width + pairs[1], other_rows * width + others[1], assume_unique=True, invert=True
    )
    return group_by_query(rows[left], pairs[1][left], len(pairs[0]) - 1)
