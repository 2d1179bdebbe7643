"""Views of networkx, which change with the graph that they show."""

import networkx as nx
import pytest
from support.networkx_cases.calls import calls, is_refused, same, with_networkx, with_tux
from support.networkx_cases.graphs import KINDS, random_graph

from tux.networkx_backend.covered import COVERED
from tux.networkx_backend.interface import backend
from tux.networkx_backend.originals import kept_conversion

FUNCTIONS = [name for name, each in COVERED.items() if not each.makes_graph and name != "hits"]


def views(graph):
    """Return the views that networkx makes of a graph, by names."""
    nodes, edges = list(graph)[:8], list(graph.edges)[::2]
    shown = set(graph.edges) - set(edges)
    found = {
        "subgraph": graph.subgraph(nodes),
        "edges": graph.edge_subgraph(edges),
        "restricted": nx.restricted_view(graph, nodes[:2], edges),
        "filtered": nx.subgraph_view(
            graph, filter_edge=lambda u, v, *key: not {(u, v, *key), (v, u, *key)} & shown
        ),
        "of a view": graph.subgraph(list(graph)[:10]).subgraph(nodes),
        "copy": graph.copy(as_view=True),
        "directed": graph.to_directed(as_view=True),
    }
    if graph.is_directed():
        found["reverse"] = graph.reverse(copy=False)
    return found


def run_with_networkx(name, graph):
    """Call a function as networkx does, which asks for a conversion and may keep it."""
    cache = graph.__networkx_cache__
    made = backend.convert_from_nx(graph, name=name)
    if cache is not None and graph.__networkx_cache__ is cache:
        cache.setdefault("backends", {}).setdefault("tux", {})[False, False] = made
    return getattr(backend, name)(made)


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_changes_with_the_graph_that_it_shows(kind):
    graph = random_graph(kind, 41, loops=False)
    shown = views(graph)
    for at in range(3):
        for name, view in shown.items():
            found = run_with_networkx("degree_centrality", view)
            assert found == nx.degree_centrality(view), name
            assert kept_conversion(view) is None
        graph.remove_edge(*list(graph.edges)[at])
    assert run_with_networkx("degree_centrality", graph) == nx.degree_centrality(graph)
    assert kept_conversion(graph) is not None


@pytest.mark.parametrize("kind", KINDS)
def test_functions_see_what_a_view_shows(kind):
    graph = random_graph(kind, 42, loops=False)
    for label, view in views(graph).items():
        for name in FUNCTIONS:
            if name == "label_propagation_communities" and view.is_multigraph():
                continue  # networkx asks such views for `len`, which counts hidden edges
            kwargs = calls(name, view)[0]
            found, expected = with_tux(name, view, **kwargs), with_networkx(name, view, **kwargs)
            if not is_refused(found) and not is_refused(expected):
                assert same(found, expected), (label, name)


def test_undirected_views_of_directed_graphs_are_left_to_networkx():
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 1), (1, 0, 5), (1, 2, 1), (0, 3, 2)])
    view = graph.to_undirected(as_view=True)
    for left in (view, view.subgraph([0, 1, 2]), view.copy(as_view=True)):
        assert is_refused(with_tux("pagerank", left))
        with pytest.raises(NotImplementedError, match="undirected view"):
            backend.convert_from_nx(left)
    for taken in (view.copy(), view.to_directed(as_view=True)):
        assert same(with_tux("pagerank", taken), nx.pagerank(taken))
