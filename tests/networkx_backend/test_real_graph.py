"""A real graph: who voted on whom in Wikipedia, 7,115 vertices and 103,689 edges."""

import gzip

import networkx as nx
import pytest
from support.networkx_cases.calls import same, with_networkx, with_tux

pytestmark = pytest.mark.slow
DIRECTED = {
    "pagerank": {"tol": 1e-10},
    "weakly_connected_components": {},
    "strongly_connected_components": {},
    "core_number": {},
    "betweenness_centrality": {"k": 5, "seed": 1},
    "single_source_shortest_path_length": {"source": 30},
    "single_source_dijkstra_path_length": {"source": 30},
    "katz_centrality": {"alpha": 0.005},
}
UNDIRECTED = {
    "triangles": {},
    "average_clustering": {},
    "core_number": {},
    "connected_components": {},
    "average_neighbor_degree": {},
}


@pytest.fixture(scope="module")
def graph(real_data):
    with gzip.open(real_data / "graphs" / "wiki-Vote.txt.gz", "rt") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    return nx.DiGraph((int(u), int(v)) for u, v, *_ in lines if u != v)


@pytest.mark.parametrize("name", DIRECTED)
def test_directed(name, graph):
    kwargs = DIRECTED[name]
    assert same(with_tux(name, graph, **kwargs), with_networkx(name, graph, **kwargs))


@pytest.mark.parametrize("name", UNDIRECTED)
def test_undirected(name, graph):
    assert same(
        with_tux(name, nx.Graph(graph)), with_networkx(name, nx.Graph(graph), **UNDIRECTED[name])
    )
