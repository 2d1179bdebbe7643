"""Each function of the back-end gives what networkx gives: values, types, order and errors."""

from random import Random

import networkx as nx
import numpy as np
import pytest
from support.networkx_cases.calls import calls, is_refused, same, types_of, with_networkx, with_tux
from support.networkx_cases.graphs import graphs, random_graph

from tux.base import parallel
from tux.networkx_backend import lists, values
from tux.networkx_backend.conversion import compact
from tux.networkx_backend.covered import COVERED
from tux.networkx_backend.interface import backend

NUMPY = [kind(1) for kind in (np.int64, np.uint8, np.float32, np.float16, np.longdouble, np.bool_)]
"""Numbers with which networkx computes as numpy does."""

FUNCTIONS = [name for name, each in COVERED.items() if not each.makes_graph and name != "hits"]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_networkx(name):
    compared = 0
    for label, graph in graphs().items():
        for kwargs in calls(name, graph):
            expected = with_networkx(name, graph, **kwargs)
            found = with_tux(name, graph, **kwargs)
            if is_refused(found) or is_refused(expected):  # by decorators of networkx, too
                continue
            assert same(found, expected), (label, kwargs, found, expected)
            compared += 1
    assert compared >= 8


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_what_the_list_says(name):
    limits = COVERED[name]
    for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph):
        graph = random_graph(kind, 5, loops=False)
        kwargs = calls(name, graph)[0]
        told = is_refused(with_tux(name, graph, **kwargs))
        must = (
            limits.undirected_only
            and graph.is_directed()
            or limits.simple_only
            and graph.is_multigraph()
        )
        if not is_refused(with_networkx(name, graph, **kwargs)):
            assert told == must, (name, kind)


def test_integers_are_integers_and_floats_are_floats():
    graph = random_graph(nx.Graph, 10, loops=False)
    for name in FUNCTIONS:
        if "dijkstra" not in name:  # the weights of this graph are of both types
            kwargs = calls(name, graph)[0]
            found, expected = with_tux(name, graph, **kwargs), with_networkx(name, graph, **kwargs)
            assert is_refused(expected) or types_of(found) == types_of(expected), name


def test_hits():
    graph = nx.DiGraph([(0, 1), (0, 2), (1, 2), (2, 0), (3, 2), (3, 1)])
    graph[0][1]["weight"] = 3
    start = dict.fromkeys(graph, 1.0)
    for kwargs in ({"nstart": start}, {"nstart": start, "normalized": False}):
        assert same(with_tux("hits", graph, **kwargs), with_networkx("hits", graph, **kwargs), 1e-7)
    assert with_tux("hits", nx.Graph()) == ({}, {})
    for kwargs in ({"max_iter": 0}, {"max_iter": -1}):
        assert same(with_tux("hits", graph, **kwargs), with_networkx("hits", graph, **kwargs))
    graph[0][1]["weight"] = "3"
    assert is_refused(with_tux("hits", graph, max_iter=0))


def test_hits_adds_up_parallel_edges():
    graph = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 2), (2, 3), (0, 3)])
    kwargs = {"nstart": dict.fromkeys(graph, 1.0)}
    assert same(with_tux("hits", graph, **kwargs), with_networkx("hits", graph, **kwargs), 1e-7)


def test_betweenness_has_the_bits_of_networkx():
    graph = random_graph(nx.DiGraph, 7, nodes=40)
    for kwargs in ({}, {"k": 9, "seed": 1}, {"weight": "weight"}, {"weight": "absent"}):
        found = with_tux("betweenness_centrality", graph, **kwargs)
        assert found == nx.betweenness_centrality(graph, **kwargs)


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_betweenness_with_steps_that_have_no_length(kind):
    line = kind()
    line.add_weighted_edges_from([(0, 1, 1), (1, 2, 0), (2, 1, 0), (2, 3, 1), (2, 2, 0)])
    vanishing = nx.cycle_graph(6, create_using=kind)
    for at, edge in enumerate(vanishing.edges):  # 1e300 + 1e-300 is 1e300
        vanishing.edges[edge]["weight"] = (1e300, 1e-300)[at % 2]
    drawn = random_graph(kind, 21, nodes=20)
    for at, edge in enumerate(drawn.edges):
        drawn.edges[edge]["weight"] = at % 3
    for graph in (line, vanishing, drawn):
        for kwargs in ({}, {"endpoints": True}, {"normalized": False}, {"k": 3, "seed": 1}):
            found = with_tux("betweenness_centrality", graph, weight="weight", **kwargs)
            assert found == nx.betweenness_centrality(graph, weight="weight", **kwargs), kwargs


@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_number_of_threads_gives_the_same_bits(name, monkeypatch):
    graph = random_graph(nx.Graph, 8, nodes=30, loops=False)
    for kind in (nx.Graph, nx.DiGraph):
        given = kind(graph)
        kwargs = calls(name, given)[0]
        found = []
        for threads in (1, 3):
            monkeypatch.setattr(parallel, "_chosen", [threads])
            monkeypatch.setattr(lists, "ENTRIES_PER_THREAD", 4)
            monkeypatch.setattr(lists, "LEAST_VERTICES", 2)
            result = with_tux(name, given, **kwargs)
            found.append(getattr(result, "adj", result))  # of the graphs of cores
        assert repr(found[0]) == repr(found[1])


def test_large_and_small_weights_have_lengths():
    for size in (1e200, 1e-200):
        graph = nx.path_graph(3)
        nx.set_edge_attributes(graph, size, "weight")
        for name, kwargs in (
            ("eigenvector_centrality", {"max_iter": 500}),
            ("katz_centrality", {"alpha": 1e-201, "beta": size}),
        ):
            kwargs["weight"] = "weight"
            assert same(with_tux(name, graph, **kwargs), with_networkx(name, graph, **kwargs))


def test_weights_that_are_negative():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 2), (0, 2, 1), (1, 2, -3), (2, 3, 1)])
    name = "single_source_dijkstra_path_length"
    found = with_tux(name, graph, source=0)
    assert isinstance(found, ValueError) and found.args == with_networkx(name, graph, 0).args
    graph[0][1]["weight"] = 9
    graph[1][2]["weight"] = -1
    assert same(with_tux(name, graph, source=1), with_networkx(name, graph, 1))
    graph[1][2]["weight"] = -9  # so that paths contradict each other
    kwargs = {"distance": "weight"}
    found = with_tux("closeness_centrality", graph.reverse(), **kwargs)
    assert same(found, with_networkx("closeness_centrality", graph.reverse(), **kwargs))
    assert isinstance(found, ValueError)


@pytest.mark.parametrize(
    "weight",
    [None, "3", True, 1j, float("nan"), float("inf"), 2**53, pytest.param(10**400, id="1e400")],
)
def test_weights_that_are_no_numbers_are_left_to_networkx(weight):
    for kind in (nx.Graph, nx.MultiGraph):
        graph = kind()
        graph.add_edge(0, 1, weight=weight)
        assert is_refused(with_tux("pagerank", graph))
        assert is_refused(with_tux("all_pairs_dijkstra_path_length", graph))
        assert not is_refused(with_tux("number_connected_components", graph))


def test_weights_of_triangles_may_be_negative_or_0():
    graph = nx.complete_graph(5)
    for at, edge in enumerate(graph.edges):
        graph.edges[edge]["weight"] = at - 4
    for kind in (nx.Graph, nx.DiGraph):
        given = kind(graph)
        assert same(
            with_tux("clustering", given, weight="weight"), nx.clustering(given, None, "weight")
        )
    for edge in graph.edges:
        graph.edges[edge]["weight"] = 0
    assert is_refused(with_tux("clustering", graph, weight="weight"))
    for sizes in ((1e300, 1e-300), (-1e300, 1e-300), (1.0, 1e-120)):
        for at, edge in enumerate(graph.edges):
            graph.edges[edge]["weight"] = sizes[at % 2]
        assert is_refused(with_tux("clustering", graph, weight="weight"))
        assert is_refused(with_tux("average_clustering", graph, weight="weight"))


@pytest.mark.parametrize("name", ["asyn_lpa_communities", "fast_label_propagation_communities"])
def test_label_propagation_takes_and_leaves_the_numbers_of_networkx(name):
    graph, found, expected = random_graph(nx.Graph, 4, nodes=40), Random(3), Random(3)
    sets = list(getattr(backend, name)(compact(graph), seed=found))
    assert sets == list(getattr(nx.community, name)(graph, seed=expected))
    assert found.random() == expected.random()
    assert is_refused(with_tux(name, graph, seed=np.random.default_rng(1)))


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph])
def test_fast_label_propagation_with_edges_in_any_order(kind):
    """Predecessors are in the order in which edges have been added, not ascending."""
    rng = np.random.default_rng(6)
    for seed in range(20):
        graph = kind()
        graph.add_nodes_from(rng.permutation(30).tolist())
        for u, v in rng.integers(30, size=(70, 2)).tolist():
            graph.add_edge(u, v, weight=float(rng.integers(1, 4)), half=float(rng.normal()))
        for weight in (None, "weight", "half", "absent"):
            kwargs = {"seed": seed, "weight": weight}
            found = with_tux("fast_label_propagation_communities", graph, **kwargs)
            expected = with_networkx("fast_label_propagation_communities", graph, **kwargs)
            assert found == expected, (seed, weight)


def test_whole_weights_give_whole_distances():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 2), (1, 2, 3)])
    assert repr(with_tux("single_source_dijkstra_path_length", graph, 0)) == "{0: 0, 1: 2, 2: 5}"
    graph.add_edge(2, 3, weight=0.5)
    found = with_tux("single_source_dijkstra_path_length", graph, 0)
    assert repr(found) == "{0: 0, 1: 2.0, 2: 5.0, 3: 5.5}"


def test_weights_may_be_floats_of_numpy():
    graph = random_graph(nx.Graph, 22, loops=False)
    for _, _, edge in graph.edges(data=True):
        edge["weight"] = np.float64(edge.get("weight", 1))
    found = with_tux("single_source_dijkstra_path_length", graph, 0)
    assert found == nx.single_source_dijkstra_path_length(graph, 0)
    assert {type(each) for each in found.values()} <= {int, float}  # np.float64 is a float
    for name in ("pagerank", "betweenness_centrality", "clustering", "katz_centrality"):
        kwargs = {"weight": "weight", "alpha": 0.01} if "katz" in name else {"weight": "weight"}
        assert same(with_tux(name, graph, **kwargs), with_networkx(name, graph, **kwargs)), name


def test_long_lists_are_searched_for_directed_triangles(monkeypatch):
    graph = random_graph(nx.DiGraph, 9, nodes=60)
    graph.add_edges_from((0, v) for v in range(1, 58))
    graph.add_edges_from((v, 0) for v in range(20, 50))
    assert same(with_tux("clustering", graph), nx.clustering(graph))


def test_the_largest_component_is_found_by_samples():
    graph = nx.disjoint_union_all([nx.path_graph(n) for n in (3, 40, 1, 7)])
    graph = nx.relabel_nodes(graph, {v: (v * 7) % 51 for v in graph})
    assert list(backend.connected_components(compact(graph))) == list(
        nx.connected_components(graph)
    )


def test_a_wide_index(monkeypatch):
    monkeypatch.setattr(lists, "index_dtype", lambda count: np.dtype(np.int64))
    graph = compact(nx.karate_club_graph())
    assert graph.out.entries().dtype == np.int64
    assert backend.triangles(graph) == nx.triangles(nx.karate_club_graph())
    assert backend.core_number(graph) == nx.core_number(nx.karate_club_graph())


def test_the_largest_sum_of_whole_weights_is_exact():
    assert values.LARGEST_EXACT == 2**53 and float(2**53) + 1 == float(2**53)
