"""Judging an assignment: against sets and dictionaries, by hand on a drawn graph, and through
JSON.
"""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.oracles.slow_quality import judge

from tux.partition.masters import masters
from tux.partition.quality import Quality, quality

ends_of_edges = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), max_size=50)
bytes_of_rows = st.one_of(st.integers(0, 9), st.tuples(st.integers(0, 9), st.integers(0, 9)))


def arrays(pairs):
    return np.array(pairs, np.int32).reshape(-1, 2).T


def home_of(found, pairs, bipartite):
    """Return masters as a dict by (type, number). Sources come first, and are as many as the
    largest of them says.
    """
    shift = max((u for u, _ in pairs), default=-1) + 1 if bipartite else 0
    one = "source" if bipartite else "vertex"
    other = "target" if bipartite else "vertex"
    return {(one, u): found[u] for u, _ in pairs} | {(other, v): found[v + shift] for _, v in pairs}


@settings(max_examples=examples(300), deadline=None)
@given(
    st.data(), ends_of_edges, st.integers(1, 9), st.booleans(), st.sampled_from(["load", "random"])
)
def test_all_figures_agree_with_the_definitions(data, pairs, k, bipartite, method):
    parts = data.draw(st.lists(st.integers(0, k - 1), min_size=len(pairs), max_size=len(pairs)))
    src, dst = arrays(pairs)
    home = masters(src, dst, np.array(parts, np.int16), k, 1, bipartite=bipartite, method=method)
    names = ["source", "target"] if bipartite else ["vertex"]
    sizes, syncs = (
        data.draw(st.lists(of, min_size=len(names), max_size=len(names)))
        for of in (bytes_of_rows, st.integers(0, 3))
    )
    both_ways = {
        name: size if isinstance(size, tuple) else (size, size)
        for name, size in zip(names, sizes, strict=True)
    }
    expected = judge(
        pairs,
        parts,
        k,
        home_of(home.tolist(), pairs, bipartite),
        bipartite,
        both_ways,
        dict(zip(names, syncs, strict=True)),
    )
    found = quality(
        src,
        dst,
        np.array(parts, np.int16),
        k,
        bipartite=bipartite,
        masters=home,
        row_bytes=sizes,
        syncs=syncs,
    )
    cut = expected.pop("cut")
    for name, value in expected.items():
        assert (
            getattr(found, name) == pytest.approx(value)
            if isinstance(value, float)
            else getattr(found, name) == value
        ), name
    assert {each.name: each.cut for each in found.types} == {name: cut[name] for name in names}
    assert sum(each.volume for each in found.types) == found.volume == sum(found.received)
    assert np.array_equal(np.sum([each.sent for each in found.types], axis=0), found.sent)
    assert found.replication >= found.bound
    assert (
        sum(found.part_edges) == found.edges == len(pairs)
        and sum(found.part_masters) == found.vertices
    )
    assert Quality.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_a_drawn_graph_by_hand():
    r"""
    part 0:  a --- b      part 1:  b --- c      part 2:  b --- d
             |    /                 \___ d
             c __/

    b is in all three parts, c in 0 and 1, d in 1 and 2, a in 0 alone. Masters: a, b in 0, c in 1, d
    in 2.
    """
    a, b, c, d = range(4)
    src, dst, parts = (
        np.array([a, a, b, b, b, b]),
        np.array([b, c, c, c, d, d]),
        np.array([0, 0, 0, 1, 1, 2]),
    )
    found = quality(
        src, dst, parts, 3, masters=np.array([0, 0, 1, 2]), row_bytes=[(10, 1)], syncs=2
    )
    assert found.replication == (1 + 3 + 2 + 2) / 4 and found.types[0].cut == 3
    assert (
        found.edge_balance == 3 / 2
        and found.vertex_balance == 3 / (8 / 3)
        and found.master_balance == 2 / (4 / 3)
    )
    # up, ten bytes each: b from 1 and from 2 to 0, c from 0 to 1, d from 1 to 2; down, one byte
    # each, the other way; twice an epoch
    assert found.sent == (2 * (10 + 2), 2 * (20 + 1), 2 * (10 + 1))
    assert found.received == (2 * (20 + 1), 2 * (10 + 2), 2 * (10 + 1))
    assert found.volume == 2 * 4 * 11 and found.largest_volume == 2 * 33
    # degrees 2, 5, 3, 2, and the largest part has 3 edges: b cannot do with fewer than 2 replicas
    assert found.bound == 5 / 4
    assert found.by_degree == ((2, 3, 5 / 3), (4, 1, 3.0)) and found.histogram == (
        (1, 1),
        (2, 2),
        (3, 1),
    )


def test_whole_vertices_move_nothing():
    src, dst = np.arange(20), np.arange(20) % 3
    found = quality(src, dst, (src % 4).astype(np.int16), 4, bipartite=True, row_bytes=[1000, 8])
    source, target = found.types
    assert (source.replication, source.cut, source.volume) == (1.0, 0, 0)
    assert target.replicas == 12 and found.volume == target.volume == 9 * 2 * 8


def test_a_given_cap_sets_the_bound():
    src, dst, parts = np.zeros(12, int), np.arange(1, 13), np.zeros(12, np.int16)
    assert quality(src, dst, parts, 4).bound == 1
    assert quality(src, dst, parts, 4, cap=1).bound == (4 + 12) / 13
    assert quality(src, dst, parts, 4).empty_parts == 3


def test_no_edge_and_very_many_parts():
    none = quality(np.empty(0, int), np.empty(0, int), np.empty(0), 3)
    assert (none.replication, none.bound, none.edge_balance, none.volume, none.empty_parts) == (
        1,
        1,
        1,
        0,
        3,
    )
    many = quality(
        np.zeros(40_000, int),
        np.arange(40_000),
        (np.arange(40_000) % 32_767).astype(np.int16),
        32_767,
    )
    assert many.histogram[-1] == (32_767, 1) and many.part_edges[0] == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"parts": np.array([0, 4])}, "0 to 4: with 4 parts they can be 0 to 3"),
        ({"parts": np.array([0])}, "one integer for each of 2 edges"),
        ({"parts": np.array([0.0, 1.0])}, "float64"),
        ({"k": 0}, "32,767"),
        ({"masters": np.array([0, 0])}, "one part for each of 3"),
        (
            {"masters": np.array([0, 3, 1])},
            "vertex 1 has its master in part 3, which has no edge of it",
        ),
        ({"masters": np.array([0, -1, 1])}, "run from -1"),
        ({"row_bytes": [1, 2]}, "row_bytes has 2 entries"),
        ({"syncs": -1}, "syncs=-1"),
    ],
)
def test_what_cannot_be_is_refused(changes, words):
    given = {
        "src": np.array([0, 1]),
        "dst": np.array([1, 2]),
        "parts": np.array([0, 1]),
        "k": 4,
    } | changes
    with pytest.raises(ValueError, match=words):
        quality(**given)
