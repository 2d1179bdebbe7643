"""The back-end of networkx beside networkx on a small graph, and beside igraph and networkit on a
large one: seconds to make the graph, and of each function.

usage: python -m bench.networkx_backend [--vertices N] [--edges N] [--small N] [--threads N]
[--only tux,igraph,networkit]

The graph has the degrees of cit-Patents (3.8 million vertices, 16.5 million edges), drawn anew:
those of vertices are log-normal, and an edge leads to an earlier vertex. PageRank, weak components
and betweenness take it as directed, core numbers and triangles as undirected. networkx ends
PageRank when changes add up to 1e-6 n, after one step in a large graph; "to 1e-6" means changes
that add up to 1e-6. Each function is called twice, and the second call counts, in which tux has
compiled it; lists that the first has turned or sorted are kept. networkx gets a graph of `--small`
edges, as it takes minutes for the large one. igraph uses one thread.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import networkx as nx
import numpy as np

from bench.arguments import names_among, number_from
from bench.machine import machine
from bench.memory import Memory
from tux.base.parallel import use_threads
from tux.networkx_backend.edge_lists import graph_of_edges
from tux.networkx_backend.interface import backend

SPREAD = 1.0
"""The standard deviation of the logarithms of degrees."""

Functions = Mapping[str, Callable[[], Any]]


def draw_edges(vertices: int, edges: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of at most so many different edges, each to an earlier vertex, (m,) int64."""
    draw = np.random.default_rng(seed)
    ends = []
    for _ in range(2):
        shares = np.cumsum(draw.lognormal(0, SPREAD, vertices))
        ends.append(np.searchsorted(shares, draw.random(edges) * shares[-1]))
    later, earlier = np.maximum(*ends), np.minimum(*ends)
    pairs = np.unique((later * vertices + earlier)[later != earlier])
    draw.shuffle(pairs)
    return pairs // vertices, pairs % vertices


def tux_functions(sources: np.ndarray, targets: np.ndarray) -> Functions:
    """Return the calls of tux."""
    directed = graph_of_edges(sources, targets, create_using=nx.DiGraph)
    undirected = graph_of_edges(sources, targets)
    return {
        "pagerank": lambda: backend.pagerank(directed),
        "pagerank to 1e-6": lambda: backend.pagerank(directed, tol=1e-6 / len(directed)),
        "components": lambda: list(backend.weakly_connected_components(directed)),
        "betweenness, k=10": lambda: backend.betweenness_centrality(directed, k=10, seed=Random(1)),
        "core numbers": lambda: backend.core_number(undirected),
        "triangles": lambda: backend.triangles(undirected),
    }


def networkx_functions(sources: np.ndarray, targets: np.ndarray) -> Functions:
    """Return the calls of networkx."""
    edges = list(zip(sources.tolist(), targets.tolist(), strict=True))
    directed, undirected = nx.DiGraph(edges), nx.Graph(edges)
    return {
        "pagerank": lambda: nx.pagerank(directed),
        "pagerank to 1e-6": lambda: nx.pagerank(directed, tol=1e-6 / len(directed)),
        "components": lambda: list(nx.weakly_connected_components(directed)),
        "betweenness, k=10": lambda: nx.betweenness_centrality(directed, k=10, seed=1),
        "core numbers": lambda: nx.core_number(undirected),
        "triangles": lambda: nx.triangles(undirected),
    }


def igraph_functions(sources: np.ndarray, targets: np.ndarray) -> Functions:
    """Return the calls of igraph."""
    import igraph

    edges = np.stack([sources, targets], axis=1)
    directed = igraph.Graph(edges, directed=True)
    undirected = igraph.Graph(edges)
    picked = list(range(0, directed.vcount(), max(1, directed.vcount() // 10)))[:10]
    return {
        "pagerank to 1e-6": lambda: directed.pagerank(),
        "components": lambda: list(directed.connected_components(mode="weak")),
        "betweenness, k=10": lambda: directed.betweenness(sources=picked),
        "core numbers": lambda: undirected.coreness(),
        "triangles": lambda: undirected.list_triangles(),
    }


def networkit_functions(sources: np.ndarray, targets: np.ndarray) -> Functions:
    """Return the calls of networkit."""
    import networkit as nk

    n = int(max(sources.max(), targets.max())) + 1
    data = (np.ones(len(sources)), (sources, targets))
    directed = nk.GraphFromCoo(data, n=n, weighted=False, directed=True)
    undirected = nk.GraphFromCoo(data, n=n, weighted=False, directed=False)
    return {
        "pagerank to 1e-6": lambda: nk.centrality.PageRank(directed, tol=1e-6).run().scores(),
        "components": lambda: (
            nk.components.WeaklyConnectedComponents(directed).run().getComponents()
        ),
        "betweenness, k=10": lambda: nk.centrality.EstimateBetweenness(directed, 10).run().scores(),
        "core numbers": lambda: nk.centrality.CoreDecomposition(undirected).run().scores(),
        "triangles": lambda: nk.centrality.LocalClusteringCoefficient(undirected).run().scores(),
    }


TOOLS = {
    "tux": tux_functions,
    "networkx": networkx_functions,
    "igraph": igraph_functions,
    "networkit": networkit_functions,
}


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def measure(
    names: Sequence[str], edges: tuple[np.ndarray, np.ndarray], write: Callable[[str], Any]
) -> dict[str, dict[str, float]]:
    """Return the seconds of each function by tool, and write a line for each tool; one that is not
    installed is left out.
    """
    found: dict[str, dict[str, float]] = {}
    for name in names:
        try:
            with Memory() as memory:
                before = memory.most
                made, functions = seconds_of(lambda name=name: TOOLS[name](*edges))
        except ImportError:
            write(f"{name} is not installed\n")
            continue
        write(f"{name:<10} {'graphs':<18} {made:>9.3f} s  {(memory.most - before) / 1e6:,.0f} MB\n")
        found[name] = {}
        for function, call in functions.items():
            if name != "networkx":
                call()
            found[name][function] = seconds_of(call)[0]
            write(f"{name:<10} {function:<18} {found[name][function]:>9.3f} s\n")
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print the tables."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--vertices", type=number_from(100), default=3_800_000)
    arguments.add_argument("--edges", type=number_from(100), default=16_500_000)
    arguments.add_argument("--small", type=number_from(0), default=200_000)
    arguments.add_argument("--threads", type=number_from(1), default=1)
    tools = ("tux", "igraph", "networkit")
    arguments.add_argument("--only", type=names_among(tools), default=list(tools))
    asked = arguments.parse_args(argv)
    write = sys.stdout.write
    use_threads(asked.threads)
    write(f"{machine()}; threads: {asked.threads}\n")
    if asked.small:
        vertices = max(100, asked.vertices * asked.small // asked.edges)
        edges = draw_edges(vertices, asked.small)
        write(f"\n{vertices:,} vertices, {len(edges[0]):,} edges\n")
        found = measure(["tux", "networkx"], edges, write)
        for function, slow in found["networkx"].items():
            write(f"{function:<29} {slow / found['tux'][function]:>9.1f} times as fast\n")
    edges = draw_edges(asked.vertices, asked.edges)
    write(f"\n{asked.vertices:,} vertices, {len(edges[0]):,} edges\n")
    measure(asked.only, edges, write)


if __name__ == "__main__":
    main()
