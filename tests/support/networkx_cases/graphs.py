"""Small graphs of all kinds for the tests of the back-end of networkx."""

import random

import networkx as nx


def random_graph(kind, seed, *, nodes=14, names=None, loops=True):
    """Return a random graph of a class of networkx: isolated nodes, self-loops, parallel edges
    where there may be, and weights at most edges, integers and others in turn.
    """
    draw = random.Random(seed)
    ids = list(range(nodes)) if names is None else [names(i) for i in range(nodes)]
    draw.shuffle(ids)
    graph = kind()
    graph.add_nodes_from(ids)
    busy = ids[: nodes - 2]  # two are isolated
    for at in range(3 * nodes):
        u, v = draw.choice(busy), draw.choice(busy)
        if u == v and not loops:
            continue
        kept = {0: {}, 1: {"weight": draw.randrange(1, 5)}, 2: {"weight": draw.random() + 0.5}}
        graph.add_edge(u, v, **kept[at % 3])
    return graph


KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def graphs():
    """Return graphs of all kinds by names."""
    found = {}
    for kind in KINDS:
        name = kind.__name__
        found[f"{name} random"] = random_graph(kind, 1)
        found[f"{name} without loops"] = random_graph(kind, 2, loops=False)
        found[f"{name} of strings"] = random_graph(kind, 3, names=lambda i: f"v{i}")
        found[f"{name} of pairs"] = random_graph(kind, 4, names=lambda i: (i, i % 2), nodes=9)
        found[f"{name} ordered"] = kind(nx.karate_club_graph())
        found[f"{name} empty"] = kind()
        found[f"{name} of one"] = nx.empty_graph(1, create_using=kind)
        found[f"{name} of one loop"] = kind([(0, 0)])
        found[f"{name} cycle"] = nx.cycle_graph(6, create_using=kind)
        found[f"{name} path"] = nx.path_graph(5, create_using=kind)
    return found


def is_same(made, expected):
    """Return whether a compact graph has the nodes, lists and attributes of a networkx graph, all
    in its order.
    """
    back = made.to_networkx()
    return (
        type(back) is type(expected)
        and list(back) == list(expected)
        and {v: list(back._adj[v].items()) for v in back}
        == {v: list(expected._adj[v].items()) for v in expected}
        and [(type(v)) for v in back] == [type(v) for v in expected]
    )
