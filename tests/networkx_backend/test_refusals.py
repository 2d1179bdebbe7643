"""Calls that are left to networkx: it gets what the caller has given, unused."""

from random import Random

import networkx as nx
import pytest
from support.networkx_cases.calls import calls, is_refused, with_tux
from support.networkx_cases.graphs import random_graph

from tux.networkx_backend.covered import COVERED

PARAMETERS = {
    name: "distance" if name == "closeness_centrality" else "weight"
    for name, each in COVERED.items()
    if each.attribute
}
"""Of each function that reads weights: the parameter that names them."""


def weighted_graph(weight):
    """Return a graph of which one edge has an unusual weight."""
    graph = random_graph(nx.Graph, 51, loops=False)
    u, v = next(iter(graph.edges))
    graph[u][v]["weight"] = weight
    return graph


def iterators(name, graph):
    """Return arguments of a function that can be used once."""
    nodes, seed = list(graph)[:3], Random(7)
    found = {
        "betweenness_centrality": {"k": 3, "seed": seed},
        "clustering": {"nodes": iter(nodes)},
        "average_clustering": {"nodes": iter(nodes)},
        "dijkstra_path_length": {"source": nodes[0], "target": nodes[1]},
        **dict.fromkeys(
            ("asyn_lpa_communities", "fast_label_propagation_communities"), {"seed": seed}
        ),
    }
    return found.get(name, {k: v for k, v in calls(name, graph)[0].items() if k != "seed"})


@pytest.mark.parametrize("name", PARAMETERS)
def test_what_the_caller_gives_is_not_used_before_a_refusal(name):
    graphs = [weighted_graph(weight) for weight in ("3", float("nan"), 10**400)]
    graphs.append(nx.complete_graph(4))
    nx.set_edge_attributes(graphs[-1], 0, "weight")  # which only weighted clustering refuses
    refused = 0
    for graph in graphs:
        given = iterators(name, graph)
        found = with_tux(name, graph, **given, **{PARAMETERS[name]: "weight"})
        if not is_refused(found):
            continue
        refused += 1
        for each, fresh in zip(given.values(), iterators(name, graph).values(), strict=True):
            if isinstance(each, Random):
                assert each.getstate() == fresh.getstate()
            elif hasattr(each, "__next__"):
                assert list(each) == list(fresh)
    assert refused == 3 + ("clustering" in name)


@pytest.mark.parametrize(
    ("name", "kwargs"),
    [
        ("multi_source_dijkstra_path_length", {"sources": iter([0, 3])}),
        ("jaccard_coefficient", {"ebunch": iter([(0, 2)])}),
        ("preferential_attachment", {"ebunch": iter([(0, 2)])}),
        ("average_clustering", {"nodes": 1}),
        ("average_neighbor_degree", {"nodes": 1}),
        ("katz_centrality", {"nstart": {0: 1}}),
        ("katz_centrality", {"nstart": {}}),
        ("katz_centrality", {"nstart": {0: 1, 1: 1, 2: 1, "nobody": 1}}),
        ("eigenvector_centrality", {"nstart": {}}),
        ("eigenvector_centrality", {"nstart": {0: 1, 1: 2}}),
        ("eigenvector_centrality", {"nstart": {0: 1, 1: -1, 2: 1, 3: -1}}),
    ],
)
def test_what_networkx_takes_in_its_own_way_is_left_to_it(name, kwargs):
    assert is_refused(with_tux(name, nx.path_graph(4), **kwargs))
    if any(hasattr(each, "__next__") for each in kwargs.values()):
        assert len(list(*kwargs.values())) > 0
