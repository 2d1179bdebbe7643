"""Hash-based, constrained and bipartite cuts: the same as the slow ones, and their bounds on
replicas and balance.
"""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.oracles import slow_hash_cuts as slow

from tux.partition.common.difference_cover import difference_cover
from tux.partition.methods.aweto import aweto
from tux.partition.methods.bicut import bicut
from tux.partition.methods.dbh import dbh
from tux.partition.methods.ginger import ginger
from tux.partition.methods.grid import grid
from tux.partition.methods.hybrid import hybrid
from tux.partition.methods.one_sided import source, target
from tux.partition.methods.pds import pds

METHODS = {
    "source": (source, slow.by_source),
    "target": (target, slow.by_target),
    "bicut": (partial(bicut, favourite="target"), slow.by_target),
    "grid": (grid, slow.grid),
    "greedy grid": (partial(grid, greedy=True), slow.greedy_grid),
    "pds": (pds, lambda pairs, k, seed: slow.pds(pairs, k, seed, difference_cover(k))),
    "dbh": (dbh, slow.dbh),
    "hybrid": (partial(hybrid, theta=2), partial(slow.hybrid, theta=2)),
    "ginger": (partial(ginger, theta=3), partial(slow.ginger, theta=3)),
    "aweto source": (partial(aweto, favourite="source"), partial(slow.aweto, favourite="source")),
    "aweto target": (partial(aweto, favourite="target"), partial(slow.aweto, favourite="target")),
}
EVERY = pytest.mark.parametrize("name", METHODS)
ANY_K = pytest.mark.parametrize("k", [1, 2, 3, 5, 7, 10, 13, 31, 32, 57, 128, 1000, 32_767])
edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 7)), max_size=50).map(
    lambda pairs: np.array(pairs, np.int64).reshape(-1, 2).T
)


def draw_skewed_edges(m, n, seed):
    """Draw the ends of m edges among n vertices; low numbers are in most of them."""
    return (n * np.random.default_rng(seed).random((2, m)) ** 3).astype(np.int64)


def two_stars(leaves):
    """Return two stars, 0 -> every leaf -> 0."""
    leaf = np.arange(1, leaves + 1)
    return np.concatenate([[0 * leaf, leaf], [leaf, 0 * leaf]], axis=1)


def check_parts(name, src, dst, k, seed, bipartite=False, cap=None):
    fast, plain = METHODS[name]
    shift = int(src.max(initial=-1)) + 1 if bipartite else 0
    expected = slow.keep_within_limit(
        plain(list(zip(src.tolist(), (dst + shift).tolist(), strict=True)), k, seed), k, cap
    )
    assert fast(src, dst, k, seed, bipartite=bipartite, cap=cap).tolist() == expected


def most_replicas(src, dst, parts, k):
    held = np.unique(np.concatenate([src, dst]) * k + np.concatenate([parts, parts]))
    return np.bincount(held // k).max()


@pytest.mark.slow(after=6)
@EVERY
@settings(max_examples=examples(60), deadline=None)
@given(edges, st.integers(1, 60), st.integers(0, 3), st.booleans(), st.sampled_from([None, 1, 1.5]))
def test_the_same_as_the_slow_one(name, pairs, k, seed, bipartite, cap):
    check_parts(name, *pairs, k, seed, bipartite, cap)


@EVERY
@pytest.mark.parametrize("k", [3, 13, 30])
def test_the_same_as_the_slow_one_on_a_larger_graph(name, k):
    check_parts(name, *draw_skewed_edges(1500, 300, k), k, 5)


@EVERY
def test_the_same_as_the_slow_one_with_most_parts(name):
    check_parts(name, *draw_skewed_edges(12, 9, 1), 32_767, 2)


@ANY_K
@EVERY
def test_any_number_of_parts_and_none_above_its_cap(name, k):
    for src, dst in (
        two_stars(700),
        draw_skewed_edges(2000, 100, 3),
        np.zeros((2, 40), int),
        np.zeros((2, 0), int),
    ):
        parts = METHODS[name][0](src, dst, k, cap=1)
        assert parts.dtype == np.int16 and parts.shape == src.shape
        load = np.bincount(parts, minlength=k)
        assert len(load) == k and load.max() <= -(-len(src) // k)


@ANY_K
def test_replicas_in_a_grid(k):
    src, dst = np.concatenate([two_stars(6000), draw_skewed_edges(6000, 50, 0)], axis=1)
    assert most_replicas(src, dst, grid(src, dst, k), k) < 2 * k**0.5
    assert most_replicas(src, dst, grid(src, dst, k, greedy=True), k) < 2 * k**0.5


@ANY_K
def test_replicas_under_difference_covers(k):
    src, dst = np.concatenate([two_stars(6000), draw_skewed_edges(6000, 50, 0)], axis=1)
    assert most_replicas(src, dst, pds(src, dst, k), k) <= len(difference_cover(k))


@pytest.mark.parametrize("k", [*range(1, 140), 183, 512, 513, 1024, 5000, 32_221, 32_767])
def test_a_difference_cover_covers_all_differences(k):
    cover = np.array(difference_cover(k))
    assert len(np.unique((cover[:, None] - cover) % k)) == k
    assert len(cover) <= (1.5 * k) ** 0.5 + 6 and cover.min() == 0 and cover.max() < k


@pytest.mark.parametrize("p", [2, 3, 5, 7, 11, 13, 31, 179])
def test_a_perfect_difference_set_has_one_more_than_its_prime(p):
    assert len(difference_cover(p * p + p + 1)) == p + 1


@pytest.mark.parametrize("k", [5, 7, 12, 32])
def test_hashing_both_ends_is_balanced(k):
    src, dst = np.random.default_rng(0).integers(0, 40_000, (2, 200_000))
    for method, most in ((grid, 1.06), (partial(grid, greedy=True), 1.001), (pds, 1.01)):
        assert np.bincount(method(src, dst, k), minlength=k).max() <= most * len(src) / k


@pytest.mark.parametrize("name", ["greedy grid", "pds", "dbh"])
def test_direction_does_not_matter(name):
    src, dst = draw_skewed_edges(500, 60, 4)
    assert np.array_equal(METHODS[name][0](src, dst, 11), METHODS[name][0](dst, src, 11))


@pytest.mark.parametrize("method", [bicut, aweto])
@pytest.mark.parametrize("bipartite", [False, True])
@given(edges, st.integers(1, 9))
def test_the_favourite_side_is_whole(method, bipartite, pairs, k):
    for side, end in zip(("source", "target"), pairs, strict=True):
        parts = method(*pairs, k, bipartite=bipartite, favourite=side)
        assert all(len(set(parts[end == v])) == 1 for v in set(end.tolist()))


def test_aweto_finds_groups_that_hashing_does_not():
    chance = np.random.default_rng(0)
    user = np.repeat(np.arange(5000), 10)
    item = user % 20 * 20 + chance.integers(0, 20, len(user))  # 20 groups of 20 items
    replicas = []
    for method in (aweto, bicut):
        parts = method(user, item, 16, bipartite=True)
        assert np.bincount(parts).max() <= 1.2 * len(user) / 16
        replicas.append(len(np.unique(item * 16 + parts)))
    assert replicas[0] < 0.95 * replicas[1]


def test_an_unknown_favourite_side():
    with pytest.raises(ValueError, match="favourite side"):
        aweto(np.array([0]), np.array([1]), 2, favourite="left")


@pytest.mark.parametrize("name", [name for name in METHODS if name != "bicut"])
def test_progress_ends_at_one(name):
    shares = []
    METHODS[name][0](*draw_skewed_edges(300_000, 300_000, 0), 4, progress=shares.append)
    assert shares and shares == sorted(shares) and 0 < shares[0] and shares[-1] == 1
