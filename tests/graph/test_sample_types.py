"""A sample of edges of several types."""

import numpy as np
import pytest
from support.programs.typed_programs import shop_edges

from tux.arrays.edges import EdgeData
from tux.graph.sample import sample


def pairs_of(edges):
    """Return the ids at the ends of the edges of each type."""
    return {
        name: list(
            zip(
                *(
                    edges.ids[kind].values[codes].tolist()
                    for kind, codes in zip(each.ends, (each.src, each.dst), strict=True)
                ),
                strict=True,
            )
        )
        for name, each in edges.by_type.items()
    }


@pytest.mark.parametrize("most", [10, 35, 50])
def test_a_sample_has_edges_of_all_types_between_its_vertices(most):
    edges = shop_edges()
    small, _ = sample(edges, None, most, 0, {"tag": [2], "user": [1], "item": [3]})
    whole = pairs_of(edges)
    for name, pairs in pairs_of(small).items():
        assert 0 < len(pairs) <= len(whole[name])
        assert all(pair in whole[name] for pair in pairs)
    assert len(small.others["tagged"]) <= most and len(small.others["friend"]) <= most
    assert edges.ids["tag"].values[2] in small.ids["tag"].values
    assert edges.ids["user"].values[1] in small.ids["user"].values
    assert all(each.ids is small.ids for each in small.others.values())


def test_all_are_taken_where_there_are_no_more():
    edges = shop_edges()
    assert sample(edges, None, 60, 0)[0] is edges
    small, _ = sample(edges, None, 59, 0)
    assert len(small) < 60 and np.unique(small.src).size == len(small.ids["user"])


def test_edges_between_vertices_of_a_type_that_only_they_have():
    draw = np.random.default_rng(0)
    rated = EdgeData.of(("user", "item"), *draw.integers(0, 50, (2, 300)), {})
    like = EdgeData.of(("tag", "tag"), np.arange(20), np.arange(1000, 1020), {}, against=rated.ids)
    small, _ = sample(rated.join({"like": like}), None, 100, 0)
    assert pairs_of(small)["like"] == [(n, 1000 + n) for n in range(20)]
