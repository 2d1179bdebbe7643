"""Compact graphs of networkx graphs, their nodes, and the way back."""

import weakref
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from support.messages import message
from support.networkx_cases.graphs import KINDS, graphs, random_graph

from tux.base.errors import UsageError
from tux.networkx_backend.conversion import compact
from tux.networkx_backend.edge_lists import from_pandas_edgelist
from tux.networkx_backend.graph import CompactGraph, choose
from tux.networkx_backend.interface import backend
from tux.networkx_backend.lists import transpose
from tux.networkx_backend.nodes import NodeNumbers


def lists_by_node(graph, lists):
    """Return the neighbour lists of a compact graph as a dict of lists of nodes."""
    bounds = zip(lists.offsets[:-1], lists.offsets[1:], strict=True)
    return {
        node: graph.nodes.pick(lists.entries(begin, end))
        for node, (begin, end) in zip(graph, bounds, strict=True)
    }


def test_lists_are_those_of_networkx():
    for name, graph in graphs().items():
        made = compact(graph)
        assert list(made) == list(graph) == list(made.nodes()), name
        assert lists_by_node(made, made.out) == {v: list(graph._adj[v]) for v in graph}
        into = graph._pred if graph.is_directed() else graph._adj
        assert lists_by_node(made, made.predecessors) == {v: list(into[v]) for v in graph}
        assert {v: set(us) for v, us in lists_by_node(made, made.into).items()} == {
            v: set(into[v]) for v in graph
        }
        assert made.out.kind.dtype == np.int32 and made.out.offsets.dtype == np.int64


def test_sizes_and_degrees_are_those_of_networkx():
    for name, graph in graphs().items():
        made = compact(graph)
        assert len(made) == made.number_of_nodes() == len(graph)
        assert made.number_of_edges() == graph.number_of_edges(), name
        assert made.degrees().tolist() == [d for _, d in graph.degree()], name
        if graph.is_directed():
            assert made.in_degrees().tolist() == [d for _, d in graph.in_degree()], name
            assert made.out_degrees().tolist() == [d for _, d in graph.out_degree()], name
        assert made.is_directed() == graph.is_directed()
        assert made.is_multigraph() == graph.is_multigraph()


def test_values_follow_the_lists():
    for kind in KINDS:
        graph = random_graph(kind, 6, names=str)
        made = compact(graph)
        for parallel, fold in (("sum", sum), ("min", min)):
            expected = []
            for nbrs in graph._adj.values():
                for edge in nbrs.values():
                    each = edge.values() if graph.is_multigraph() else [edge]
                    expected.append(float(fold([one.get("weight", 1) for one in each])))
            assert made.values("weight", parallel=parallel).numbers.tolist() == expected


def test_values_into_are_those_of_predecessors():
    graph = random_graph(nx.DiGraph, 11)
    made = compact(graph)
    found = made.values_into(made.values("weight").numbers)
    bounds = made.into.offsets
    for v, node in enumerate(made):
        for at in range(bounds[v], bounds[v + 1]):
            before = made.nodes[made.into.entries()[at]]
            assert found[at] == graph[before][node].get("weight", 1)


def test_turning_twice_sorts():
    made = compact(random_graph(nx.DiGraph, 12))
    twice = transpose(transpose(made.out))
    for v in range(len(made)):
        assert twice.of_vertex(v).tolist() == sorted(made.out.of_vertex(v).tolist())


def test_a_converted_graph_gives_its_original():
    for graph in graphs().values():
        assert backend.convert_to_nx(compact(graph)) is graph
    assert backend.convert_to_nx({"a": 1}) == {"a": 1}


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_a_graph_without_original_has_the_order_of_its_lists(kind):
    original = random_graph(kind, 13, names=str)
    lists = compact(original)
    made = CompactGraph(
        lists.nodes,
        lists.out,
        directed=lists.directed,
        columns={"weight": lists.values("weight").numbers},
    )
    made.graph["name"] = "g"
    back = made.to_networkx()
    assert back.graph == {"name": "g"} and list(back) == list(original)
    assert {v: list(back._adj[v]) for v in back} == {v: list(original._adj[v]) for v in original}
    assert all(back[u][v]["weight"] == original[u][v].get("weight", 1) for u, v in original.edges)
    u, v = next(iter(back.edges))
    back[u][v]["weight"] = 77  # one dict for both ends
    assert (back.pred if kind is nx.DiGraph else back)[v][u]["weight"] == 77


def test_views_can_be_converted():
    graph = random_graph(nx.DiGraph, 14)
    for view in (graph.reverse(copy=False), graph.subgraph([1, 2, 3, 4, 5])):
        made = compact(view)
        assert lists_by_node(made, made.out) == {v: list(view[v]) for v in view}
    assert set(backend.descendants(compact(graph.reverse(copy=False)), 3)) == nx.ancestors(graph, 3)


def test_a_second_conversion_takes_the_first():
    graph = nx.path_graph(4)
    first = backend.convert_from_nx(graph, name="pagerank")
    graph.__networkx_cache__["backends"] = {"tux": {(False, False): first}}
    assert backend.convert_from_nx(graph, name="hits") is first
    assert backend.convert_from_nx(graph) is not first
    graph.add_edge(0, 3)  # which empties the cache
    assert backend.convert_from_nx(graph, name="hits") is not first


def test_a_cached_graph_does_not_keep_its_original():
    for name in ("pagerank", None):
        graph = nx.path_graph(4, create_using=nx.DiGraph)
        for attribute in ("adj", "succ", "pred", "edges", "nodes", "degree", "in_edges"):
            assert len(getattr(graph, attribute)) > 0  # which the class of the graph caches
        made, gone = backend.convert_from_nx(graph, name=name), weakref.ref(graph)
        for view in ("edges", "degree", "in_edges"):  # networkx's own, which know the graph
            del vars(graph)[view]
        del graph
        if name is None:  # a user has asked for it
            assert made.to_networkx() is gone() is not None
            continue
        assert gone() is None
        assert backend.number_strongly_connected_components(made) == 4
        assert made.values("weight").numbers.tolist() == []
        assert nx.utils.graphs_equal(made.to_networkx(), nx.path_graph(4, nx.DiGraph))


def test_a_graph_that_has_changed_is_told():
    graph = nx.path_graph(4, create_using=nx.DiGraph)
    made = compact(graph)
    graph.add_edge(0, 3, weight=2)
    for call in (lambda: made.values("weight"), lambda: made.predecessors):
        with pytest.raises(UsageError, match=message("the-networkx-graph-has-other")):
            call()


@pytest.mark.parametrize(
    ("nodes", "is_range"),
    [
        ([0, 1, 2], True),
        (range(3), True),
        ([], True),
        ([1, 0, 2], False),
        ([0, 1.0, 2], False),
        ([0, True], False),
        (["a", "b"], False),
    ],
)
def test_numbers_of_nodes(nodes, is_range):
    found = NodeNumbers(nodes)
    assert found.is_range == is_range and list(found) == list(nodes) and len(found) == len(nodes)
    for at, node in enumerate(nodes):
        assert found.find(node) == at and found[at] == node and node in found
    for other in (-1, 3, "z", None, [1], 0.5, float("nan"), float("inf"), 1j, (0,)):
        assert found.find(other) == -1 and other not in found


def test_equal_numbers_are_one_node():
    found = NodeNumbers(range(3))
    for same in (1, 1.0, True, np.int64(1), np.float32(1), Fraction(1)):
        assert found.find(same) == 1


def test_an_edge_may_name_a_node_by_an_equal_number():
    graph = nx.path_graph(3)
    graph.add_edge(np.int64(0), 2.0)
    made = compact(graph)
    assert made.nodes.is_range and lists_by_node(made, made.out) == {
        0: [1, 2],
        1: [0, 2],
        2: [1, 0],
    }


def test_nodes_that_are_asked_for():
    graph = compact(nx.path_graph(5))
    for nodes, numbers, named in (
        (None, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        (3, [3], [3]),
        (iter([4, 9, 1.0, 4]), [4, 1, 4], [4, 1.0, 4]),
    ):
        found = choose(graph, nodes)
        assert found[0].tolist() == numbers and repr(found[1]) == repr(named)
    for wrong in (9, [[1]], None.__class__):
        with pytest.raises(nx.NetworkXError) as told:
            choose(graph, wrong)
        with pytest.raises(nx.NetworkXError) as expected:
            list(nx.path_graph(5).nbunch_iter(wrong))
        assert type(told.value) is type(expected.value)


def test_neighbors():
    graph = compact(nx.star_graph(3))
    assert list(graph.neighbors(0)) == [1, 2, 3]
    with pytest.raises(KeyError, match="9"):
        graph.neighbors(9)


def test_the_graph_of_a_table_is_converted_too():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"source": [1, 2], "target": [2, 3], "cost": [1.5, 2.5]})
    back = backend.convert_to_nx(from_pandas_edgelist(table, edge_attr="cost"))
    assert nx.utils.graphs_equal(back, nx.from_pandas_edgelist(table, edge_attr="cost"))
