"""Edges in memory whose indices are made those of other edges."""

import numpy as np
import pytest

from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids

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
