"""Unusual arguments: results have the objects of the caller, as those of networkx."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from support.networkx_cases.calls import same, with_networkx, with_tux

NAN = float("nan")

CALLS = [
    ("triangles", {"nodes": [1.0, 2]}),
    ("triangles", {"nodes": (True, 2, 1.0)}),
    ("clustering", {"nodes": [np.int64(1), 2]}),
    ("clustering", {"nodes": [2.0, 1], "weight": "weight"}),
    ("average_clustering", {"nodes": [1, 1.0, 2]}),
    ("square_clustering", {"nodes": [1.0, Fraction(2)]}),
    ("average_neighbor_degree", {"nodes": [1.0, 2]}),
    ("eccentricity", {"v": [1.0, 2]}),
    ("single_source_shortest_path_length", {"source": 1.0}),
    ("single_source_shortest_path_length", {"source": 0, "cutoff": NAN}),
    ("single_source_shortest_path_length", {"source": 0, "cutoff": 10**400}),
    ("single_source_shortest_path_length", {"source": 0, "cutoff": -(10**400)}),
    ("single_target_shortest_path_length", {"target": True}),
    ("all_pairs_shortest_path_length", {"cutoff": NAN}),
    ("bfs_layers", {"sources": 2.0}),
    ("bfs_layers", {"sources": [2.0, 1, 1.0]}),
    *(
        ("descendants_at_distance", {"source": 1.0, "distance": distance})
        for distance in (0, False, True, 2.0, 1.5, NAN, "a", (1, 2), -1, 10**400)
    ),
    *((name, {"source": [1]}) for name in ("descendants", "ancestors")),
    ("node_connected_component", {"n": [1]}),
    ("single_source_dijkstra_path_length", {"source": 1.0}),
    ("single_source_dijkstra_path_length", {"source": 0, "cutoff": NAN}),
    ("single_source_dijkstra_path_length", {"source": 0, "cutoff": 10**400}),
    ("multi_source_dijkstra_path_length", {"sources": [3, 1.0, 1, True]}),
    ("hits", {"max_iter": 0}),
]


@pytest.mark.parametrize(("name", "kwargs"), CALLS, ids=lambda each: str(each)[:40])
def test_results_have_the_objects_of_the_caller(name, kwargs):
    graph = nx.cycle_graph(6)
    graph.add_edge(1, 3, weight=0)
    found, expected = with_tux(name, graph, **kwargs), with_networkx(name, graph, **kwargs)
    assert same(found, expected), (found, expected)
    if not isinstance(expected, Exception):
        assert repr(found) == repr(expected)
