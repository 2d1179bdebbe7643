"""The union of edges of several types, which partitioners cut."""

import numpy as np
import pytest
from support.programs.typed_programs import shop_edges

from tux.arrays import integers
from tux.graph.partitioned import PartitionedGraph
from tux.graph.union import Union, two_sides


@pytest.mark.parametrize(
    ("ends", "sides"),
    [
        ([("user", "item")], (["user"], ["item"])),
        ([("page", "page")], ()),
        ([("user", "item"), ("item", "tag")], (["user", "tag"], ["item"])),
        ([("user", "item"), ("tag", "user")], (["user"], ["item", "tag"])),
        (
            [("user", "item"), ("tag", "word"), ("word", "item")],
            (["user", "word"], ["item", "tag"]),
        ),
        ([("user", "item"), ("user", "user")], ()),
        ([("a", "b"), ("b", "c"), ("c", "a")], ()),
        ([("a", "b"), ("c", "d")], (["a", "c"], ["b", "d"])),
    ],
)
def test_two_sides(ends, sides):
    assert two_sides(ends) == sides


def vertices_of(data, name, codes):
    """Return the (type, id) of vertices."""
    return [(name, each) for each in data.ids[name].values[codes].tolist()]


def pairs_by_union(data, whole=""):
    """Return the pairs of (type, id) at the ends of each edge of the union, without their order, as
    its numbers say.
    """
    union = Union.of(data, whole)
    of_number = {}
    for side in range(2):
        at = 0
        for name in union.sides[side] if union.sides else data.vertex_types:
            for code in range(len(data.ids[name])):
                of_number[side, at] = (name, data.ids[name].values[code].item())
                at += 1
    ends = zip(union.src.tolist(), union.dst.tolist(), strict=True)
    return [{of_number[0, src], of_number[1, dst]} for src, dst in ends]


@pytest.mark.parametrize("types", [["tagged"], ["tagged", "friend"], []])
@pytest.mark.parametrize("whole", ["", "item"])
def test_an_edge_of_the_union_has_its_vertices(types, whole):
    data = shop_edges()
    data = data.bare().join({}) if not types else data
    chosen = {name: data.others[name] for name in types if name in data.others}
    data = data.join(chosen)
    expected = []
    for each in data.by_type.values():
        first, second = (
            vertices_of(data, name, codes)
            for name, codes in zip(each.ends, (each.src, each.dst), strict=True)
        )
        expected += [{a, b} for a, b in zip(first, second, strict=True)]
    assert pairs_by_union(data, whole) == expected


def test_a_type_that_should_stay_whole_is_the_source():
    data = shop_edges()
    union = Union.of(data, "item")
    items = np.arange(len(data.ids["item"])) + len(data.ids["user"])
    of_items = len(data) + len(data.others["tagged"])
    assert np.isin(union.src[:of_items], items).all()


@pytest.mark.parametrize("name", ["item", "user"])
@pytest.mark.parametrize("by", ["bicut", "aweto"])
@pytest.mark.parametrize("friends", [False, True])
def test_a_whole_type_is_not_cut(name, by, friends):
    data = shop_edges()
    if not friends:
        data = data.join({"tagged": data.others["tagged"]})
    parts = PartitionedGraph.of(data, None, by, 3, 0, whole=[name]).parts
    assert parts[0].types[name].cut == (friends and name == "user")
    assert sum(len(part.src) for part in parts) == len(data)
    assert sum(len(part.others["tagged"].src) for part in parts) == len(data.others["tagged"])


def test_more_vertices_than_numbers(monkeypatch):
    narrow = Union.of(shop_edges())
    monkeypatch.setattr(integers, "MOST_NARROW", 39)  # there are 40, and fewer of each type
    wide = Union.of(shop_edges())
    assert (narrow.src.dtype, wide.src.dtype, wide.dst.dtype) == (np.int32, np.int64, np.int64)
    assert np.array_equal(narrow.src, wide.src) and np.array_equal(narrow.dst, wide.dst)
