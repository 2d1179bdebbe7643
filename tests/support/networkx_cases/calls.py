"""Calls of each function that the back-end of networkx has, and their comparison with networkx."""

import math
from collections.abc import Iterator, ValuesView

import networkx as nx

from tux.networkx_backend.interface import backend, networkx_function


def outcome(call):
    """Return what a call gives, with all that a generator or a view of a dict has, or the error
    that it raises.
    """
    try:
        result = call()
        return list(result) if isinstance(result, Iterator | ValuesView) else result
    except Exception as error:  # each kind is compared
        return error


def with_tux(name, graph, *args, **kwargs):
    """Call a function of the back-end as networkx does; the reason if it refuses."""
    if "seed" in kwargs:  # as a decorator of networkx does
        kwargs = {**kwargs, "seed": nx.utils.create_py_random_state(kwargs["seed"])}
    may = backend.can_run(name, (graph, *args), kwargs)
    if may is not True:
        return NotImplementedError(may)
    return outcome(lambda: getattr(backend, name)(backend.convert_from_nx(graph), *args, **kwargs))


def with_networkx(name, graph, *args, **kwargs):
    """Call a function of networkx."""
    return outcome(lambda: networkx_function(name)(graph, *args, **kwargs))


def is_refused(found):
    """Return whether a call is left to networkx, or refused by its decorators."""
    of_decorator = isinstance(found, nx.NetworkXNotImplemented) and "implemented for" in str(found)
    return isinstance(found, NotImplementedError) or of_decorator


def same(found, expected, tolerance=1e-9):
    """Return whether results are equal: types, the order of dicts, errors; floats nearly. An
    integer may be given as a float.
    """
    if isinstance(expected, Exception):
        return type(found) is type(expected) and str(found) == str(expected)
    if isinstance(expected, float | int) and isinstance(found, float):
        return (
            math.isclose(found, expected, rel_tol=tolerance, abs_tol=1e-12)
            or math.isnan(found)
            and math.isnan(expected)
        )
    if type(found) is not type(expected):
        return False
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(
            same(found[key], expected[key], tolerance) for key in expected
        )
    if isinstance(expected, nx.Graph):
        return list(found) == list(expected) and nx.utils.graphs_equal(found, expected)
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(
            same(a, b, tolerance) for a, b in zip(found, expected, strict=True)
        )
    return found == expected


def types_of(result):
    """Return the types of all values in a result."""
    if isinstance(result, dict):
        return [types_of(each) for each in result.values()]
    return [*map(types_of, result)] if isinstance(result, list | tuple) else type(result)


def some_nodes(graph, count=3):
    """Return the first nodes of a graph, the last first."""
    return list(graph)[:count][::-1]


def importance_calls(graph, node, nodes, start):
    """Return the variants of functions that tell how important nodes are."""
    return {
        "pagerank": [
            {},
            {"weight": None, "alpha": 0.5, "tol": 1e-12},
            {"personalization": {node: 1}, "max_iter": 500},
            {"nstart": start, "dangling": {node: 2}},
            {"personalization": {"nobody": 1}},
            {"max_iter": 1, "tol": 1e-15},
        ],
        "katz_centrality": [
            {"alpha": 0.01},
            {"alpha": 0.01, "weight": "weight", "normalized": False},
            {"alpha": 0.01, "beta": start, "nstart": dict(reversed(start.items()))},
            {"beta": {"nobody": 1}},
            {"max_iter": 1},
        ],
        "eigenvector_centrality": [
            {"max_iter": 1000},
            {"max_iter": 1000, "weight": "weight"},
            {"max_iter": 1000, "nstart": dict(reversed(start.items()))},
            {"nstart": dict.fromkeys(graph, 0)},
            {"max_iter": 2},
        ],
        "betweenness_centrality": [
            {},
            {"normalized": False},
            {"endpoints": True},
            {"k": 3, "seed": 5},
            {"k": 2, "seed": 6, "endpoints": True, "normalized": False},
            {"k": 2, "seed": 6, "normalized": False},
            {"k": 1, "seed": 7},
            {"k": 1000, "seed": 7},
            {"weight": "weight"},
            {"weight": "weight", "endpoints": True, "normalized": False},
            {"weight": "weight", "k": 3, "seed": 5},
        ],
        "closeness_centrality": [
            *({}, {"wf_improved": False}, {"u": node}, {"u": "nobody"}),
            {"distance": "weight"},
            {"distance": "weight", "wf_improved": False, "u": node},
            {"distance": "weight", "u": "nobody"},
        ],
        "average_neighbor_degree": [
            {},
            {"nodes": nodes},
            *(
                {"source": a, "target": b}
                for a in ("in", "out", "in+out")
                for b in ("in", "out", "in+out", "no")
            ),
        ],
    }


def structure_calls(node, nodes):
    """Return the variants of functions of components, triangles and pairs."""
    pairs = [(u, v) for u in nodes for v in nodes]
    some = [{"nodes": nodes}, {"nodes": node}, {"nodes": [*nodes, "nobody", *nodes]}]
    return {
        **dict.fromkeys(("k_core", "k_shell"), [{}, {"k": 2}, {"k": 50}]),
        "node_connected_component": [{"n": node}, {"n": "nobody"}],
        **dict.fromkeys(
            ("triangles", "square_clustering"),
            [{}, *some],
        ),
        "clustering": [
            *({}, *some, {"weight": "weight"}),
            *({**each, "weight": "weight"} for each in some),
            {"weight": "absent"},
        ],
        "average_clustering": [
            *({}, {"nodes": nodes}, {"count_zeros": False}, {"nodes": nodes * 2}),
            {"weight": "weight"},
        ],
        **dict.fromkeys(
            ("asyn_lpa_communities", "fast_label_propagation_communities"),
            [{"seed": 1}, {"seed": 2}, {"seed": 3, "weight": "weight"}],
        ),
        **dict.fromkeys(
            (
                "jaccard_coefficient",
                "adamic_adar_index",
                "resource_allocation_index",
                "preferential_attachment",
            ),
            [{}, {"ebunch": pairs}, {"ebunch": [(node, "nobody")]}, {"ebunch": []}],
        ),
    }


def distance_calls(graph, node, nodes):
    """Return the variants of functions of distances."""
    return {
        "single_source_shortest_path_length": [
            {"source": node},
            {"source": node, "cutoff": 1},
            {"source": node, "cutoff": -1},
            {"source": node, "cutoff": 1.5},
            {"source": "nobody"},
        ],
        "single_target_shortest_path_length": [
            {"target": node},
            {"target": node, "cutoff": 2},
            {"target": "nobody"},
        ],
        "all_pairs_shortest_path_length": [{}, {"cutoff": 1}],
        "bfs_layers": [{"sources": node}, {"sources": nodes}, {"sources": ["nobody"]}],
        "descendants_at_distance": [
            *({"source": node, "distance": distance} for distance in (0, 1, 2, 50, -1, 1.5)),
            {"source": "nobody", "distance": 1},
        ],
        **dict.fromkeys(("descendants", "ancestors"), [{"source": node}, {"source": "nobody"}]),
        "eccentricity": [{}, {"v": node}, {"v": nodes}, {"v": [*nodes, "nobody"]}],
        "dijkstra_path_length": [
            *({"source": node, "target": target} for target in [*nodes, "nobody"]),
            {"source": "nobody", "target": node},
            {"source": node, "target": list(graph)[-1] if graph else 0, "weight": None},
        ],
        "single_source_dijkstra_path_length": [
            {"source": node},
            {"source": node, "cutoff": 3},
            {"source": node, "weight": None},
            {"source": node, "weight": "absent"},
            {"source": "nobody"},
        ],
        "multi_source_dijkstra_path_length": [
            {"sources": nodes},
            {"sources": nodes * 2, "cutoff": 2.5},
            {"sources": []},
        ],
        "all_pairs_dijkstra_path_length": [{}, {"cutoff": 2, "weight": "weight"}],
    }


def calls(name, graph):
    """Return keyword arguments for a function, fit for a graph, in all their variants."""
    nodes = some_nodes(graph)
    node = nodes[0] if nodes else "nobody"
    start = {each: 1.0 + at for at, each in enumerate(graph)}
    variants = {
        **importance_calls(graph, node, nodes, start),
        **structure_calls(node, nodes),
        **distance_calls(graph, node, nodes),
    }
    return variants.get(name, [{}])
