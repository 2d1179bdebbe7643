"""The measures of rankings by their definitions, with sets in plain Python."""

import math

import numpy as np
import pytest

from tux.predict import ranking
from tux.predict.factors import Factors
from tux.predict.ranking import (
    average_precision,
    has_hit,
    hits,
    judge_ranking,
    ndcg,
    recall,
    reciprocal_rank,
)
from tux.predict.topk import group_by_query


def oracle(ranked, relevant, k):
    """Return recall, NDCG, average precision, whether there is a hit, and the reciprocal rank of
    the first k of a list.
    """
    places = [rank for rank, item in enumerate(ranked[:k], 1) if item in relevant]
    most = min(k, len(relevant))
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, most + 1))
    return (
        len(places) / len(relevant),
        sum(1 / math.log2(rank + 1) for rank in places) / ideal,
        sum((n + 1) / rank for n, rank in enumerate(places)) / most,
        len(places) > 0,
        1 / places[0] if places else 0,
    )


def pairs_of_sets(sets):
    pairs = [(row, each) for row, items in enumerate(sets) for each in items]
    rows, items = (np.array(each, np.int64) for each in zip(*pairs, strict=True))
    return group_by_query(rows, items, len(sets))


def test_by_hand():
    found = np.array([[7, 2, 5, 1], [0, 1, 2, 3], [4, -1, -1, -1], [9, 8, 7, 6]])
    relevant = pairs_of_sets([{2, 1, 30}, {0}, {4, 6}, {1, 2, 3, 4, 5}])
    hit = hits(found, relevant)
    assert hit.tolist() == [
        [False, True, False, True],
        [True, False, False, False],
        [True, False, False, False],
        [False] * 4,
    ]
    count = np.array([3, 1, 2, 5])
    assert recall(hit, count) == pytest.approx([2 / 3, 1, 1 / 2, 0])
    assert average_precision(hit, count) == pytest.approx([(1 / 2 + 2 / 4) / 3, 1, 1 / 2, 0])
    assert has_hit(hit, count).tolist() == [True, True, True, False]
    assert reciprocal_rank(hit, count) == pytest.approx([1 / 2, 1, 1, 0])
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    first = (1 / math.log2(3) + 1 / math.log2(5)) / ideal
    assert ndcg(hit, count) == pytest.approx([first, 1, 1 / (1 + 1 / math.log2(3)), 0])


def test_nothing_is_relevant_to_nobody():
    none = np.zeros(3, np.int64), np.empty(0, np.int64)
    assert not hits(np.array([[0, 1], [2, -1]]), none).any()


def make_factors(seed=0, queries=30, items=25):
    """Make factors, and pairs to train on and held out. Of the latter some are also in training,
    some have unknown queries or items, and some are repeated.
    """
    rng = np.random.default_rng(seed)
    factors = Factors(rng.normal(size=(queries, 4)), rng.normal(size=(items, 4)))
    train = rng.integers(0, queries, 200), rng.integers(0, items, 200)
    held = rng.integers(0, queries + 4, 120), rng.integers(0, items + 3, 120)
    held = tuple(np.concatenate([a, a[:10], b[:5]]) for a, b in zip(held, train, strict=True))
    return factors, train, held


def names(k):
    return [f"{name}@{k}" for name in ("recall", "ndcg", "map", "hit_rate", "mrr", "coverage")]


def expected_metrics(factors, train, held, k):
    seen, rest, every, listed = set(zip(*train, strict=True)), {}, [], set()
    for query, item in zip(*(each.tolist() for each in held), strict=True):
        if query < len(factors.queries) and (query, item) not in seen:
            rest.setdefault(query, set()).add(item)
    for query, relevant in rest.items():
        scores = factors.queries[query] @ factors.items.T
        new = [j for j in np.argsort(-scores).tolist() if (query, j) not in seen]
        every.append(oracle(new, relevant, k))
        listed |= {*new[:k]}
    means = [*np.mean(every, axis=0), len(listed) / len(factors.items)]
    return dict(zip(names(k), means, strict=True))


@pytest.mark.parametrize("k", [1, 4, 10, 100])
@pytest.mark.parametrize("size", [1 << 12, 7])
def test_of_factors(monkeypatch, k, size):
    monkeypatch.setattr(ranking, "PIECE", size)
    factors, train, held = make_factors()
    told = []
    pieces = [tuple(each[at : at + 64] for each in train) for at in range(0, 200, 64)]
    found = judge_ranking(factors, pieces, held, k, told.append)
    assert list(found) == names(k)
    assert found == pytest.approx(expected_metrics(factors, train, held, k))
    assert told == sorted(told) and told[-1] == pytest.approx(1)


def test_nobody_to_judge_by():
    factors, train, _ = make_factors()
    nobody = np.array([31, 30]), np.array([0, 1])
    assert judge_ranking(factors, [train], nobody, 5) == {}
    assert judge_ranking(factors, [train], train, 5) == {}
    assert judge_ranking(factors, [], (np.empty(0, np.int32), np.empty(0, np.int32)), 5) == {}


def test_perfect_and_hopeless_factors():
    factors = Factors(np.eye(6), np.eye(6))
    held = np.arange(6), np.arange(6)
    assert set(judge_ranking(factors, [], held, 1).values()) == {1.0}
    hopeless = judge_ranking(factors, [], (held[0], (held[1] + 1) % 6), 1)
    assert hopeless.pop("coverage@1") == 1 and set(hopeless.values()) <= {0.0, 1 / 6}


def test_items_that_are_recommended_to_somebody():
    """All queries have the same best items, and the training items are not among them."""
    factors = Factors(np.ones((5, 1)), np.arange(8.0)[:, None])
    held = np.arange(5), np.zeros(5, np.int64)
    assert judge_ranking(factors, [], held, 2)["coverage@2"] == 2 / 8
    train = np.array([0, 1]), np.array([7, 6])
    assert judge_ranking(factors, [train], held, 2)["coverage@2"] == 3 / 8
    assert judge_ranking(factors, [train], held, 8)["coverage@8"] == 1


def test_as_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    rng = np.random.default_rng(6)
    scores, true = rng.random((20, 15)), rng.random((20, 15)) < 0.3
    true[:, 0] = True
    order = np.argsort(-scores, axis=1)
    hit, count = np.take_along_axis(true, order, axis=1), true.sum(1)
    np.testing.assert_allclose(
        ndcg(hit[:, :5], count).mean(), metrics.ndcg_score(true, scores, k=5), rtol=1e-9
    )
    np.testing.assert_allclose(
        average_precision(hit, count).mean(),
        metrics.average_precision_score(true, scores, average="samples"),
        rtol=1e-9,
    )
