"""Edges in memory whose indices are made those of other edges."""

import numpy as np
import pytest

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError

ENDS = ("user", "item")


def ids_of(edges):
    """Return the ids of both ends of each edge."""
    ends = zip(edges.ends, (edges.src, edges.dst), strict=True)
    return [edges.ids[kind].decode(column).tolist() for kind, column in ends]


def test_indices_of_other_edges():
    known = EdgeData.of(ENDS, [10, 20, 30], ["a", "b", "c"], {}).ids
    edges = EdgeData.of(
        ENDS, [30, 5, 10], ["c", "c", "b"], {}, vertex_fields={"user": {"x": [1, 2, 3]}}
    )
    moved = edges.against(known)
    assert moved.src.tolist() == [2, 3, 0] and moved.dst.tolist() == [2, 2, 1]
    assert ids_of(moved) == ids_of(edges) and moved.unseen == {"user": 1, "item": 0}
    assert "user" not in moved.vertex_fields


def test_edges_that_were_made_so_do_not_change():
    known = EdgeData.of(ENDS, [10, 20], ["a", "b"], {}).ids
    x = {"user": {"x": [1, 2, 3]}}
    edges = EdgeData.of(ENDS, [5, 10], ["b", "a"], {}, against=known, vertex_fields=x)
    moved = edges.against(known)
    assert moved.ids == edges.ids and moved.src is edges.src and moved.dst is edges.dst
    assert moved.vertex_fields["user"]["x"].tolist() == [1, 2, 3]


def test_both_ends_of_one_type():
    known = {"page": Ids(np.array([7, 3]))}
    moved = EdgeData.of(("page", "page"), [3, 9], [7, 3], {}).against(known)
    assert moved.src.tolist() == [1, 2] and moved.dst.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("mine", "known", "begins"),
    [
        ([1, 2, 3], [1, 2], True),
        ([1, 2], [1, 2, 3], False),
        ([2, 3], [1, 2], False),
        (["1", "2", "x"], [1, 2], True),
        ([1], [], True),
    ],
)
def test_ids_that_begin_with_others(mine, known, begins):
    assert Ids.of(mine)[0].begin_with(Ids.of(known)[0]) is begins


def test_indices_move_with_data_of_all_vertices():
    known = {"page": Ids(np.array([7, 3])), "tag": Ids(np.array([1]))}
    ranks = {"page": {"rank": [1.0, 2.0, 3.0]}}
    edges = EdgeData.of(("page", "page"), [3, 9], [9, 7], {}, vertex_fields=ranks)
    assert edges.ids["page"].values.tolist() == [3, 7, 9]
    moved = edges.against(known)
    ids, found = moved.ids["page"].values.tolist(), moved.vertex_fields["page"]["rank"]
    assert dict(zip(ids, found, strict=True)) == {3: 1.0, 7: 2.0, 9: 3.0}
    assert moved.ids["tag"] is known["tag"]
    part = EdgeData.of(("page", "page"), [3], [9], {}, vertex_fields={"page": {"rank": [1.0, 2.0]}})
    assert part.against(known).vertex_fields == {}
    with pytest.raises(DataError, match="rank is given for 2 of 3 vertices of type page"):
        part.beside(known)


def join_types(first, second):
    """Join edges of two types, with data of items of each."""
    rated = EdgeData.of(("user", "item"), [0, 1], [5, 6], {}, vertex_fields=first)
    tagged = EdgeData.of(
        ("item", "tag"), [5, 6], [0, 1], {}, against=rated.ids, vertex_fields=second
    )
    return rated.join({"tagged": tagged})


def test_joined_edges_keep_data_of_vertices_of_all():
    edges = join_types(
        {"item": {"price": [1, 2]}}, {"tag": {"w": [3, 4]}, "item": {"size": [5, 6]}}
    )
    told = {kind: {*fields} for kind, fields in edges.vertex_fields.items()}
    assert told == {"item": {"price", "size"}, "tag": {"w"}}
    assert edges.vertex_fields["tag"]["w"].tolist() == [3, 4]
    again = {"item": {"price": [1, 2]}}
    assert join_types(again, again).vertex_fields["item"]["price"].tolist() == [1, 2]
    with pytest.raises(DataError, match="edges of two types come with item.price"):
        join_types(again, {"item": {"price": [1, 3]}})
