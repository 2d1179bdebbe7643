"""Links that are held out to judge by."""

import numpy as np
import pytest

from tux.arrays.edges import EdgeData
from tux.base.random import key, permutation
from tux.graph.links import hold_out_links, split_links

RNG = np.random.default_rng(2)


def pairs_of(src, dst):
    """Return the pairs that edges join, the lower end first."""
    return {(min(u, v), max(u, v)) for u, v in zip(src.tolist(), dst.tolist(), strict=True)}


def test_what_is_held_out_is_nowhere_else():
    src, dst = RNG.integers(0, 60, (2, 1500))
    held = hold_out_links(src, dst, 60, 0.1)
    whole = {(u, v) for u, v in pairs_of(src, dst) if u != v}
    pairs = pairs_of(held.src, held.dst)
    assert len(held.src) == len(pairs) == round(0.1 * len(whole)) and (held.src < held.dst).all()
    kept = {(u, v) for u, v in pairs_of(src[held.kept], dst[held.kept]) if u != v}
    assert kept == whole - pairs
    assert (held.kept | (src != dst)).all()  # loops stay
    order = RNG.permutation(len(src))
    again = hold_out_links(src[order], dst[order], 60, 0.1)
    assert again.src.tolist() == held.src.tolist() and (again.kept == held.kept[order]).all()


def test_no_vertex_loses_its_last_edge():
    """Every second edge of a line, at most, may be held out, and none of a star."""
    line = np.arange(9), np.arange(1, 10)
    held = hold_out_links(*line, 10, 0.9)
    ends = np.concatenate([end[held.kept] for end in line])
    assert 0 < len(held.src) <= 4 and {*ends.tolist()} == {*range(10)}
    assert len(hold_out_links(np.zeros(5, int), np.arange(1, 6), 6, 0.5).src) == 0
    loop = hold_out_links(np.array([2]), np.array([2]), 3, 0.5)
    assert len(loop.src) == 0 and loop.kept.tolist() == [True]


def test_the_first_pairs_of_a_random_order_are_held_out_but_for_the_first_of_a_vertex():
    src, dst = RNG.integers(0, 20, (2, 200))
    pairs = sorted((u, v) for u, v in pairs_of(src, dst) if u != v)
    seen, free = set(), []
    for at in permutation(key(0, "held out"), len(pairs)):
        free += [] if {*pairs[at]} - seen else [pairs[at]]
        seen |= {*pairs[at]}
    expected = sorted(free[: round(0.3 * len(pairs))])
    held = hold_out_links(src, dst, 20, 0.3)
    assert [*zip(held.src.tolist(), held.dst.tolist(), strict=True)] == expected


def test_held_out_edges_have_ones_as_weights():
    ends = RNG.integers(0, 9, (2, 90))
    edges = EdgeData.of(("page", "page"), *ends, {"weight": np.full(90, 3.0, "f4")})
    train, held = split_links(edges, 0.2)
    assert len(held) and {*held.fields["weight"].tolist()} == {1.0}
    assert held.ids is edges.ids and held.src.dtype == train.src.dtype == np.int32
    assert len(train) == len(train.fields["weight"]) < len(edges)
    assert not pairs_of(train.src, train.dst) & pairs_of(held.src, held.dst)


@pytest.mark.parametrize("n", [0, 3])
def test_a_graph_without_edges(n):
    assert len(hold_out_links(np.empty(0, int), np.empty(0, int), n, 0.5).src) == 0
