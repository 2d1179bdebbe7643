"""The best items for one query out of items held as bytes, against all scores sorted in numpy, and
beside `tux.predict.topk`.
"""

import numpy as np
import pytest
from support.messages import message

from tux.base.errors import DataError, UsageError
from tux.predict import coded as module
from tux.predict.coded import CodedItems
from tux.predict.topk import recommend, similar, unit_scales


def draw(kind, items=500, rank=7, seed=0):
    """Return a query, items and their biases, of a kind that is hard for bounds."""
    rng = np.random.default_rng(seed)
    query, vectors = rng.normal(size=rank), rng.normal(size=(items, rank))
    bias = rng.normal(size=items)
    if kind == "of many lengths":
        vectors *= rng.lognormal(sigma=2, size=(items, 1))
    elif kind == "whole numbers":  # many are equal
        query, vectors, bias = np.rint(query), np.rint(vectors), np.rint(bias)
    elif kind == "nearly equal":
        vectors, bias = vectors[:1] + 1e-4 * vectors, 1e-5 * bias
    elif kind == "one large number":
        vectors[:, 0] += 300
    elif kind == "zeros":
        vectors, bias = 0 * vectors, 0 * bias
    elif kind == "large biases":
        bias *= 1e4
    return query.astype("f4"), vectors.astype("f4"), bias.astype("f4")


KINDS = (
    "normal",
    "of many lengths",
    "whole numbers",
    "nearly equal",
    "one large number",
    "zeros",
    "large biases",
)


def sort_scores(scores, n, banned=()):
    """Return the places of the best n, of equal ones the first."""
    order = np.argsort(-scores.astype("f4"), kind="stable")
    return order[~np.isin(order, banned)][:n]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 10, 499, 1000])
def test_the_best_of_all_scores(kind, n):
    query, items, bias = draw(kind)
    scores = items.astype(float) @ query.astype(float) + bias + 3.25
    places, found = CodedItems(items, bias).best(query, n, own=3.25)
    assert places.tolist() == sort_scores(scores, n).tolist()
    assert found.tolist() == scores.astype("f4")[places].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_some_are_excluded(kind):
    query, items, bias = draw(kind, items=300)
    scores = items.astype(float) @ query.astype(float)
    banned = np.sort(sort_scores(scores, 40)[::2])
    places, _ = CodedItems(items).best(query, 25, banned)
    assert places.tolist() == sort_scores(scores, 25, banned).tolist()
    assert not len(CodedItems(items).best(query, 5, np.arange(300))[0])


@pytest.mark.parametrize("items", [0, 1, 63, 64, 65, 130])
def test_blocks_that_are_full_or_not(items):
    query, vectors, _ = draw("normal", items)
    places, scores = CodedItems(vectors).best(query, 70)
    assert places.tolist() == sort_scores(vectors.astype(float) @ query, 70).tolist()
    assert scores.dtype == np.float32 and places.dtype == np.int64


def test_many_queries_as_of_many_at_once():
    rng = np.random.default_rng(3)
    queries = rng.normal(size=(40, 16)).astype("f4")
    items = rng.normal(size=(3000, 16)).astype("f4")
    places, scores = recommend(queries, items, 20)
    coded = CodedItems(items)
    for query, own, of in zip(queries, places, scores, strict=True):
        found = coded.best(query, 20)
        assert found[0].tolist() == own.tolist() and found[1].tolist() == of.tolist()


def test_the_most_similar_ones():
    _, vectors, _ = draw("of many lengths")
    vectors[7] = 0
    scales = unit_scales(vectors)
    coded = CodedItems(vectors, scale=scales)
    rows = np.array([0, 7, 499])
    places, cosines = similar(vectors, rows, 9)
    for row, own, of in zip(rows, places, cosines, strict=True):
        unit = (vectors[row] * scales[row]).astype("f4")
        found = coded.best(unit, 9, np.array([row]))
        assert found[0].tolist() == own.tolist()
        np.testing.assert_allclose(found[1], of, atol=1e-6)


def test_most_items_of_many_lengths_are_not_looked_at(monkeypatch):
    """Codes behind the last block that can have one of the best may be any."""
    query, items, _ = draw("of many lengths", 64 * 50)
    coded = CodedItems(items)
    expected = coded.best(query, 5)[0].tolist()
    spoilt = coded._codes.codes.copy()
    spoilt[25:] = 127
    coded._codes = coded._codes._replace(codes=module.read_only(spoilt))
    assert coded.best(query, 5)[0].tolist() == expected


def test_codes_of_many_numbers_do_not_overflow():
    width = 5000
    items = np.ones((70, width), "f4")
    items[3] = 1.5
    places, scores = CodedItems(items).best(np.full(width, 2.0, "f4"), 2)
    assert places.tolist() == [3, 0] and scores.tolist() == [15000.0, 10000.0]


def test_what_cannot_be_meant_is_refused():
    _, items, bias = draw("normal")
    coded = CodedItems(items, bias)
    for query in (np.zeros(6, "f4"), np.full(7, np.nan), np.full(7, np.inf)):
        with pytest.raises(UsageError, match=message("a-query-of-shape-does")):
            coded.best(query, 3)
    items[4, 2] = np.inf
    with pytest.raises(DataError, match=message("vectors-of-the-model-are")):
        CodedItems(items)
