"""The best by inner products and by cosine, against all scores sorted in plain numpy. Factors are
small whole numbers, so that every sum is exact, and many scores are equal.
"""

import tracemalloc

import numpy as np
import pytest
from support.messages import message

from tux.base import parallel
from tux.base.errors import UsageError
from tux.predict import topk as module
from tux.predict.topk import group_by_query, keep_positions, recommend, select_queries, similar


def make_factors(queries=7, items=200, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    q, i = (rng.integers(-2, 3, (n, rank)).astype("f4") for n in (queries, items))
    return q, i


def oracle(scores, n, banned=()):
    """Return the best n of each row of (Q, N): of equal ones the first; -1 where there are none
    left.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    for i, j in banned:
        scores[i, j] = -np.inf
    n = min(n, scores.shape[1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :n]
    best = np.take_along_axis(scores, order, axis=1)
    return np.where(np.isinf(best), -1, order), best


def check_items(found, expected):
    places, scores = found
    assert places.dtype == np.int64 and scores.dtype == np.float32
    assert places.tolist() == expected[0].tolist()
    assert scores.tolist() == expected[1].astype("f4").tolist()


@pytest.fixture(params=["large blocks", "small blocks", "three threads"])
def how(request, monkeypatch):
    """Use blocks that hold everything, or several of each kind, on one thread or more."""
    if request.param != "large blocks":
        monkeypatch.setattr(module, "QUERIES", 3)
        monkeypatch.setattr(module, "ITEMS", 64)
    monkeypatch.setattr(parallel, "_chosen", [3 if request.param == "three threads" else 1])


@pytest.mark.parametrize("n", [1, 2, 11, 199, 200, 201, 1000])
def test_the_best_of_all_scores(how, n):
    q, i = make_factors()
    check_items(recommend(q, i, n), oracle(q @ i.T, n))


@pytest.mark.parametrize("items", [1, 64, 130])
@pytest.mark.parametrize("queries", [1, 3, 4])
def test_blocks_that_are_full_or_not(how, queries, items):
    q, i = make_factors(queries, items)
    check_items(recommend(q, i, 5), oracle(q @ i.T, 5))


def test_biases_and_an_offset_are_part_of_the_score(how):
    q, i = make_factors()
    rng = np.random.default_rng(1)
    of_query, of_item = rng.integers(-3, 4, 7) / 2, rng.integers(-3, 4, 200) / 2
    found = recommend(q, i, 9, query_bias=of_query, item_bias=of_item, offset=0.25)
    check_items(found, oracle(q @ i.T + of_query[:, None] + of_item + 0.25, 9))


def test_what_is_excluded_is_not_found(how):
    q, i = make_factors()
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, 7, 700), rng.integers(0, 200, 700)
    banned = list(zip(*pairs, strict=True)) + [(4, j) for j in range(200)]
    exclude = group_by_query(*(np.array(each) for each in zip(*banned, strict=True)), 7)
    assert len(exclude[1]) == len(set(banned)) and exclude[0][-1] == len(exclude[1])
    expected = oracle(q @ i.T, 200, banned)
    check_items(recommend(q, i, 200, exclude=exclude), expected)
    assert (expected[0][4] == -1).all()
    offsets, positions = exclude
    turned = [positions[lo:hi][::-1] for lo, hi in zip(offsets, offsets[1:], strict=False)]
    check_items(recommend(q, i, 200, exclude=(offsets, np.concatenate(turned))), expected)
    some = np.array([5, 0, 4])
    found = recommend(q[some], i, 6, exclude=select_queries(exclude, some))
    check_items(found, tuple(each[some, :6] for each in expected))


def test_scores_that_are_no_numbers_are_not_found(how):
    q, i = make_factors()
    i[3], i[20] = np.nan, 0
    biases = np.zeros(200)
    biases[7] = -np.inf
    scores = q @ i.T
    scores[:, 7] = -np.inf
    check_items(recommend(q, i, 200, item_bias=biases), oracle(scores, 200))


def test_scores_do_not_depend_on_the_other_queries(monkeypatch):
    """Nor on blocks and threads, even where sums are rounded."""
    rng = np.random.default_rng(3)
    q, i = rng.normal(size=(50, 20)).astype("f4"), rng.normal(size=(300, 20)).astype("f4")
    places, scores = recommend(q, i, 10)
    exact = np.take_along_axis(q.astype("f8") @ i.T.astype("f8"), places, axis=1)
    np.testing.assert_allclose(scores, exact, rtol=1e-6)
    assert (np.diff(scores, axis=1) <= 0).all()
    monkeypatch.setattr(module, "QUERIES", 16)
    monkeypatch.setattr(module, "ITEMS", 64)
    for some in ([7], [7, 8, 9], list(range(50))):
        found, values = recommend(q[some], i, 10)
        assert found.tolist() == places[some].tolist()
        assert values.tolist() == scores[some].tolist()


def test_equal_items_are_equal_wherever_they_are():
    """Also at the end of a block that is not full, and with sums that are rounded."""
    rng = np.random.default_rng(4)
    items = np.tile(rng.normal(size=(1, 13)).astype("f4"), (module.ITEMS + 77, 1))
    queries = np.abs(rng.normal(size=(5, 13))).astype("f4") * np.sign(items[0])
    places, _ = recommend(queries, items, 20)
    assert places.tolist() == [list(range(20))] * 5


def test_other_types_and_layouts():
    q, i = make_factors()
    expected = oracle(q @ i.T, 4)
    check_items(recommend(q.astype("f8"), np.asfortranarray(i), 4), expected)
    check_items(recommend(q.astype("i4"), np.repeat(i, 2, axis=0)[::2], 4), expected)


def test_the_share_that_is_done_is_told(how):
    told = []
    recommend(*make_factors(), 5, progress=told.append)
    assert told == sorted(told) and told[-1] == 1


def test_nothing_to_search():
    q, i = make_factors()
    for found in (recommend(q[:0], i, 5), recommend(q, i[:0], 5)):
        assert found[0].size == found[1].size == 0
    assert recommend(q[:0], i, 5)[0].shape == (0, 5) and recommend(q, i[:0], 5)[0].shape == (7, 0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"n": 0}, "the best 0 are asked for"),
        ({"items": np.ones((4, 2))}, "queries have 3 numbers each, and items 2"),
        ({"items": np.ones(4)}, r"items has shape \(4,\)"),
        ({"query_bias": np.ones(6)}, r"query_bias has shape \(6,\), not \(7,\)"),
        ({"item_bias": np.ones(6)}, r"item_bias has shape \(6,\), not \(200,\)"),
        ({"exclude": (np.zeros(7, int), np.empty(0, int))}, "has 7 offsets"),
        ({"exclude": (np.zeros(8, int), np.ones(1, int))}, "and 1 positions"),
    ],
)
def test_mistakes(change, words):
    q, i = make_factors()
    with pytest.raises(UsageError, match=words):
        recommend(**{"queries": q, "items": i, "n": 3, **change})


# ---- similar ones


def cosines(vectors, rows):
    length = np.linalg.norm(vectors, axis=1)
    size = np.outer(length[rows], length)
    return np.divide(vectors[rows] @ vectors.T, size, out=np.zeros(size.shape), where=size > 0)


def test_similar_by_hand():
    #  2   1
    #  |  /
    #  | /
    #  0-----3 ----- 4      and 5 is nothing, 6 the other way
    points = np.array([[1, 0], [1, 1], [0, 2], [1, 0.1], [9, 0], [0, 0], [-1, 0]], np.float32)
    (rows,), (found,) = similar(points, np.array([0]), 6)
    assert rows.tolist() == [4, 3, 1, 2, 5, 6]
    np.testing.assert_allclose(found, [1, 1 / np.sqrt(1.01), np.sqrt(0.5), 0, 0, -1], atol=1e-6)
    assert similar(points, np.array([0]), 2)[0].tolist() == [[4, 3]]
    assert similar(points, np.array([0]), 99)[0].tolist() == [[4, 3, 1, 2, 5, 6]]
    assert similar(points, np.array([5]), 2)[1].tolist() == [[0, 0]]
    assert similar(points[:1], np.array([0]), 3)[0].shape == (1, 0)


def test_similar_ties_go_to_the_lower_row(how):
    points = np.ones((9, 3))
    assert similar(points, np.array([4, 0]), 3)[0].tolist() == [[0, 1, 2], [1, 2, 3]]
    assert (similar(points, np.array([4]), 8)[1] <= 1).all()


def test_similar_against_all_cosines(how):
    points = np.random.default_rng(5).normal(size=(150, 4)).astype(np.float32)
    points[9] = 0
    asked = np.array([7, 7, 31, 9, 2])
    rows, found = similar(points, asked, 5)
    every = cosines(points.astype("f8"), asked)
    every[np.arange(5), asked] = -2
    expected = oracle(every, 5)
    assert rows.tolist() == expected[0].tolist()
    np.testing.assert_allclose(found, expected[1], atol=1e-6)


def test_rows_that_are_not_there():
    with pytest.raises(UsageError, match=message("rows-to-of-vectors", "3", "9", "9")):
        similar(np.ones((9, 2)), np.array([3, 9]), 1)


def test_memory_is_that_of_blocks(monkeypatch):
    """Besides factors and results, which are small here: not that of all scores."""
    monkeypatch.setattr(parallel, "_chosen", [2])
    q, i = make_factors(300, 20_000)
    recommend(q, i, 10)  # compiled
    tracemalloc.start()
    try:
        recommend(q, i, 10)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2 * (2 * 4 * module.QUERIES * module.ITEMS) < 300 * 20_000 * 4 / 5


def test_what_is_excluded_of_some_items():
    rng = np.random.default_rng(8)
    exclude = group_by_query(rng.integers(0, 9, 60), rng.integers(0, 20, 60), 9)
    kept = np.flatnonzero(rng.random(20) < 0.4)
    offsets, positions = keep_positions(exclude, kept, 20)
    for query in range(9):
        own = exclude[1][exclude[0][query] : exclude[0][query + 1]]
        expected = [at for at, item in enumerate(kept.tolist()) if item in own]
        assert positions[offsets[query] : offsets[query + 1]].tolist() == expected
