"""Whole small programs against networkx: degrees, connected components, PageRank."""

import networkx as nx
import numpy as np
import pytest
from support.oracles import oracle
from support.programs.programs import (
    ConnectedComponents,
    DanglingPageRank,
    NodeDegrees,
    both,
    column,
    complete,
)

from tux.arrays.networks import from_networkx

#   1 --> 2 --> 3      5 (no edge)
#   ^    /
#   |   v
#   4 <-'
FIVE = from_networkx(nx.DiGraph([(1, 2), (2, 3), (2, 4), (4, 1)]), ends=("page", "page"))


def random_graph(kind, n=60, m=150, seed=3):
    """Return a random digraph with pages that have no links, loops, and a page without any edge."""
    graph = nx.gnm_random_graph(n, m, seed=seed, directed=True)
    graph.remove_edges_from([edge for edge in graph.edges if edge[0] % 7 == 0])
    graph.add_edges_from([(3, 3), (8, 8)])
    graph.add_node(n)
    return from_networkx(graph, ends=(kind, kind))


def test_pagerank_of_a_small_graph():
    worker = complete(DanglingPageRank(), FIVE, 200, jit=False)
    np.testing.assert_allclose(
        column(worker, "page", "rank"), oracle.pagerank(FIVE, 0.85), atol=1e-10
    )


@pytest.mark.long
@both
def test_pagerank_with_dangling_pages(jit):
    edges = random_graph("page")
    worker = complete(DanglingPageRank(damping=0.6), edges, 60, jit=jit)
    rank = column(worker, "page", "rank")
    np.testing.assert_allclose(rank, oracle.pagerank(edges, 0.6), atol=1e-10)
    assert abs(rank.sum() - 1) < 1e-12 and (worker.tables["page"].arrays["sum"] == 0).all()


@both
def test_degrees(jit):
    edges = random_graph("node")
    worker = complete(NodeDegrees(), edges, 2, jit=jit)
    out, into = oracle.degrees(edges)
    assert np.array_equal(column(worker, "node", "outdegree"), out) and np.array_equal(
        column(worker, "node", "indegree"), into
    )


@pytest.mark.slow
@both
def test_components(jit):
    edges = random_graph("node", m=60)
    worker = complete(ConnectedComponents(), edges, 0, jit=jit)
    expected = oracle.components(edges, column(worker, "node", "label"))
    worker = complete(ConnectedComponents(), edges, 25, jit=jit)
    assert np.array_equal(column(worker, "node", "label"), expected) and worker.tau.changed == 0
    assert 1 < len(np.unique(expected)) < 61


@pytest.mark.parametrize(
    ("program", "field"),
    [(NodeDegrees, "indegree"), (DanglingPageRank, "rank"), (ConnectedComponents, "label")],
)
def test_results_do_not_depend_on_the_order_of_rows(program, field):
    """The seed moves rows. It also draws the labels of components, which are compared by the
    first vertex of each.
    """
    (kind,) = program.vertices
    edges, results = random_graph(kind, m=60), []
    for seed in (0, 1):
        values = column(complete(program(), edges, 25, seed=seed, jit=False), kind, field)
        results.append(
            np.unique(values, return_index=True)[1][np.unique(values, return_inverse=True)[1]]
            if field == "label"
            else values
        )
    assert len(np.unique(results[0])) > 2
    np.testing.assert_allclose(*results)
