"""networkx, scipy.sparse and arrays, in and out."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from support.messages import message

from tux.arrays.networks import from_arrays, from_networkx, from_scipy, to_networkx
from tux.base.errors import DataError


def pairs(edges):
    """Return the edges as pairs of ids."""
    ids = [edges.ids[end] for end in edges.ends]
    return list(
        zip(ids[0].decode(edges.src).tolist(), ids[1].decode(edges.dst).tolist(), strict=True)
    )


def test_arrays():
    edges = from_arrays(["a", "b"], [5, 5], ends=("user", "item"), value=np.float32([1, 2]))
    assert pairs(edges) == [("a", 5), ("b", 5)] and edges.fields["value"].tolist() == [1, 2]
    with pytest.raises(DataError, match="2 edges"):
        from_arrays([1, 2], [3])
    with pytest.raises(DataError, match="value of edge 1 is nan"):
        from_arrays([1, 2], [3, 4], value=np.array([1, np.nan]))


def test_duplicates_are_counted():
    edges = from_arrays([1, 1, 2, 1], [2, 2, 1, 2])
    assert edges.duplicates == 2 and len(edges) == 4


def test_digest_depends_on_ids_edges_and_fields():
    made = [
        from_arrays([1, 2], [2, 1]),
        from_arrays([2, 1], [1, 2]),
        from_arrays([1, 3], [3, 1]),
        from_arrays(["1", "2"], ["2", "1"]),
        from_arrays([1, 2], [2, 1], ends=("user", "item")),
        from_arrays([1, 2], [2, 1], a=[1, 2]),
        from_arrays([1, 2], [2, 1], b=[1, 2]),
    ]
    assert len({edges.digest() for edges in made}) == len(made)
    assert made[0].digest() == from_arrays([1, 2], [2, 1]).digest()


def test_directed_graph_keeps_isolated_nodes():
    #  1 --> 2     3
    graph = nx.DiGraph([(1, 2)])
    graph.add_node(3)
    edges = from_networkx(graph)
    assert pairs(edges) == [(1, 2)] and edges.ids["vertex"].values.tolist() == [1, 2, 3]


def test_undirected_edges_run_both_ways_and_loops_once():
    #  a --- b ==
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=0.5, hops=3)
    graph.add_edge("b", "b", hops=4)
    edges = from_networkx(graph, fields={"hops": "i4"}, weight="weight")
    assert pairs(edges) == [("a", "b"), ("b", "a"), ("b", "b")]
    assert (
        edges.fields["value"].tolist() == [0.5, 0.5, 1.0]
        and edges.fields["value"].dtype == np.float32
    )
    assert edges.fields["hops"].tolist() == [3, 3, 4] and edges.fields["hops"].dtype == np.int32


def test_parallel_edges_stay():
    edges = from_networkx(nx.MultiDiGraph([(1, 2), (1, 2)]))
    assert edges.duplicates == 1 and to_networkx(edges).number_of_edges() == 2


def test_two_types_by_attribute_or_by_name():
    graph = nx.Graph()
    graph.add_node(1, bipartite=1)
    graph.add_node(2, bipartite=0)
    graph.add_edge(1, 2)
    assert pairs(from_networkx(graph, ends=("user", "item"))) == [(2, 1)]
    graph = nx.Graph([(("item", 1), ("user", 1))])
    assert pairs(from_networkx(graph, ends=("user", "item"))) == [(1, 1)]
    for wrong in (nx.Graph([(1, 2)]), nx.DiGraph([(("item", 1), ("user", 1))])):
        with pytest.raises(DataError):
            from_networkx(wrong, ends=("user", "item"))


@pytest.mark.parametrize("ends", [("page", "page"), ("user", "item")])
def test_there_and_back(ends):
    edges = from_arrays([3, 1, 2], [1, 2, 2], ends=ends, value=np.float32([1, 2, 3]))
    back = from_networkx(to_networkx(edges), ends=ends, fields={"value": "f4"})
    assert sorted(zip(pairs(back), back.fields["value"], strict=True)) == sorted(
        zip(pairs(edges), edges.fields["value"], strict=True)
    )
    assert all(back.ids[end] == edges.ids[end] for end in ends)


@pytest.mark.parametrize("nodes", [[(0, 1), (1, 2)], [1.5, 2], [1, "a"], [True, 2]])
def test_nodes_that_are_no_ids(nodes):
    with pytest.raises(DataError):
        from_networkx(nx.DiGraph([tuple(nodes)]))


def test_an_absent_attribute_and_an_empty_graph():
    with pytest.raises(DataError, match=message("edge-has-no-attribute", "'cost'")):
        from_networkx(nx.Graph([(1, 2)]), fields={"cost": "f4"})
    assert len(from_networkx(nx.Graph())) == 0
    assert to_networkx(from_networkx(nx.Graph())).number_of_nodes() == 0


@pytest.mark.parametrize(
    ("value", "kind", "why"),
    [
        (2.7, "i4", "2.7, not whole"),  # and not 2
        (2**40, "i4", "beyond int32"),
        (1e39, "f4", "beyond float32"),
        (None, "f4", "nan, not a finite number"),
        ("x", "f4", "not always a number"),
        ([1], "f4", "not always a number"),
    ],
)
def test_attributes_that_do_not_fit(value, kind, why):
    graph = nx.DiGraph()
    graph.add_edge(1, 2, cost=1)
    assert from_networkx(graph, fields={"cost": kind}).fields["cost"].tolist() == [1]
    graph.add_edge(2, 3, cost=value)
    with pytest.raises(DataError, match=why):
        from_networkx(graph, fields={"cost": kind})


def test_scipy_entries_are_edges_and_empty_rows_are_vertices():
    matrix = sp.csr_matrix(np.array([[0, 2, 0], [0, 0, 0]]))
    edges = from_scipy(matrix, ("user", "item"))
    assert pairs(edges) == [(0, 1)] and edges.fields["value"].tolist() == [2]
    assert {end: len(ids) for end, ids in edges.ids.items()} == {"user": 2, "item": 3}
    with pytest.raises(DataError, match="square"):
        from_scipy(matrix)
    square = from_scipy(sp.eye_array(3), field=None)
    assert pairs(square) == [(0, 0), (1, 1), (2, 2)] and not square.fields
