"""Copies of a graph with which networkx keeps a compact one, also those in other processes."""

import copy
from multiprocessing.reduction import ForkingPickler
from operator import methodcaller

import networkx as nx
import pytest
from support.networkx_cases.graphs import KINDS, random_graph

from tux.networkx_backend.edge_lists import graph_of_edges
from tux.networkx_backend.interface import backend
from tux.networkx_backend.originals import kept_conversion

KEY = (False, False)


class OwnGraph(nx.DiGraph):
    """A graph of a class of a user."""


def convert_once(graph):
    """Return the compact graph of a networkx graph, and keep it as networkx does."""
    kept = graph.__networkx_cache__.setdefault("backends", {}).setdefault("tux", {})
    if kept.get(KEY) is None:
        kept[KEY] = backend.convert_from_nx(graph, name="pagerank")
    return kept[KEY]


def send_to_process(graph):
    """Return what another process gets, as `multiprocessing` sends it."""
    return ForkingPickler.loads(bytes(ForkingPickler.dumps(graph)))


@pytest.mark.parametrize("make", [copy.deepcopy, send_to_process, methodcaller("copy")])
@pytest.mark.parametrize("kind", [*KINDS, OwnGraph])
def test_a_copy_is_converted_anew(make, kind):
    graph = random_graph(kind, 31)
    nx.set_edge_attributes(graph, 1, "weight")
    backend.pagerank(convert_once(graph))
    other = make(graph)
    assert kept_conversion(other) is None
    nx.set_edge_attributes(graph, 100, "weight")
    graph.remove_edge(*next(iter(graph.edges)))
    found = convert_once(other)
    del graph
    assert set(found.values("weight", parallel="min").numbers.tolist()) <= {1.0}
    assert found.number_of_edges() == other.number_of_edges()
    assert found.in_degrees().tolist() == convert_once(other.copy()).in_degrees().tolist()
    if not other.is_multigraph():
        other.remove_edges_from(list(nx.selfloop_edges(other)))
        expected = nx.k_core(other, 1)
        assert nx.utils.graphs_equal(backend.k_core(convert_once(other), 1), expected)


def test_a_shallow_copy_has_the_dicts_of_its_graph():
    graph = nx.path_graph(4)
    made = convert_once(graph)
    other = copy.copy(graph)
    assert convert_once(other) is made
    graph.add_edge(0, 3, weight=5)  # of both
    assert kept_conversion(other) is None
    convert_once(graph)
    del graph
    assert backend.dijkstra_path_length(convert_once(other), 0, 3) == 3
    assert backend.triangles(convert_once(other)) == nx.triangles(other)


def test_a_graph_of_a_table_can_be_copied():
    made = graph_of_edges([0, 1, 2], [1, 2, 3])
    for make in (copy.copy, copy.deepcopy, send_to_process):
        other = make(made)
        assert list(other) == [0, 1, 2, 3] and other.number_of_edges() == 3
        assert backend.pagerank(other) == backend.pagerank(made)
