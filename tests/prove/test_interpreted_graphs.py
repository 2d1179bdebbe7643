"""The interpreter on graphs whose edges join one type, with networkx as the oracle."""

from __future__ import annotations

import networkx as nx
import numpy as np
from support.prove.interpreter import interpret
from support.prove.ratings import cut_singly, name_functions, value
from support.prove.spec import (
    ApplySpec,
    EdgePlacement,
    EdgeSpec,
    ExchangeSpec,
    FieldSpec,
    GlobalSyncSpec,
    GraphSpec,
    MasterState,
    MiniBatchSpec,
    ProgramSpec,
    RepeatSpec,
    VertexSpec,
)


def one_type(
    graph: nx.DiGraph, fields: tuple[FieldSpec, ...], tau: tuple[FieldSpec, ...], **parts: tuple
) -> tuple[ProgramSpec, GraphSpec, EdgePlacement]:
    """A program on the vertices and links of a graph, which lie on three workers."""
    program = ProgramSpec(
        (VertexSpec("page", fields),),
        (EdgeSpec("link", ("page", "page")),),
        tau,
        name_functions(*parts["sources"]),
        parts.get("setup", ()),
        parts["stages"],
    )
    ends = np.array(list(graph.edges())).T
    sizes = {"page": len(graph)}
    places = {"link": np.arange(ends.shape[1]) % 3}
    homes = {"page": np.arange(len(graph)) % 3}
    return program, GraphSpec(sizes, {"link": ends}, {}, {}), EdgePlacement(3, places, homes)


def run_on_three(
    graph: nx.DiGraph, fields: tuple, tau: tuple, epochs: int, **parts: tuple
) -> MasterState:
    outcomes = [
        interpret(*one_type(graph, fields, tau, **parts), cut_singly, epochs, seed)
        for seed in (None, 1)
    ]
    for field, numbers in outcomes[0].vertices["page"].items():
        np.testing.assert_allclose(numbers, outcomes[1].vertices["page"][field], rtol=1e-12)
    return outcomes[0]


GRAPH = nx.gnm_random_graph(12, 20, seed=4, directed=True)


def test_pagerank():
    out = run_on_three(
        GRAPH,
        (
            FieldSpec("rank", "value", "f8", init=1),
            value("links"),
            FieldSpec("seen", "delta"),
            FieldSpec("gain", "delta", "f8"),
        ),
        (FieldSpec("loose", "total", "f8"), value("dangling", dtype="f8", init=1)),
        60,
        sources=(
            "def count(src, dst): src.seen += 1",
            "def begin(page, tau):\n"
            "    page.links = page.seen\n"
            "    page.rank = 1 / 12\n"
            "    tau.loose += 0 if page.links else page.rank",
            "def give(src, dst): dst.gain += src.rank / src.links",
            "def update(page, tau):\n"
            "    page.rank = (0.15 + 0.85 * tau.dangling) / 12 + 0.85 * page.gain\n"
            "    tau.loose += 0 if page.links else page.rank",
            "def finish(tau): tau.dangling = tau.loose",
        ),
        setup=(ExchangeSpec("count"), ApplySpec("page", "begin"), GlobalSyncSpec("finish")),
        stages=(ExchangeSpec("give"), ApplySpec("page", "update"), GlobalSyncSpec("finish")),
    )
    wanted = nx.pagerank(GRAPH, tol=1e-12)
    found = out.vertices["page"]["rank"]
    np.testing.assert_allclose(found, [wanted[v] for v in range(12)], rtol=1e-4)


def test_connected_components():
    out = run_on_three(
        GRAPH,
        (
            value("mark"),
            FieldSpec("least", "delta", combine="min"),
            FieldSpec("changed", "value", "b1"),
        ),
        (FieldSpec("changes", "total"), value("changed")),
        1,
        sources=(
            "def begin(page): page.mark = page.id; page.changed = True",
            "def forth(src, dst): dst.least = min(dst.least, src.mark)",
            "def back(src, dst): src.least = min(src.least, dst.mark)",
            "def take(page, tau):\n"
            "    page.changed = page.least < page.mark\n"
            "    if page.changed:\n"
            "        page.mark = page.least\n"
            "        tau.changes += 1",
            "def finish(tau): tau.changed = tau.changes",
            "def is_stable(tau): return tau.changed == 0",
        ),
        setup=(ApplySpec("page", "begin"),),
        stages=(
            RepeatSpec(
                (
                    ExchangeSpec("forth", over="src", active="changed"),
                    ExchangeSpec("back", over="dst", active="changed"),
                    ApplySpec("page", "take"),
                    GlobalSyncSpec("finish"),
                ),
                until="is_stable",
            ),
        ),
    )
    mark = out.vertices["page"]["mark"]
    for component in nx.weakly_connected_components(GRAPH):
        assert set(mark[list(component)].tolist()) == {min(component)}


def test_degrees_with_a_loop_and_a_repeated_edge():
    """A loop passes one row twice."""
    graph = nx.MultiDiGraph([(0, 1), (0, 1), (1, 1), (2, 0), (1, 2)])
    graph.add_node(3)
    out = run_on_three(
        graph,
        (value("degree"), FieldSpec("seen", "delta"), value("loops")),
        (),
        1,
        sources=(
            "def count(src, dst):\n    src.seen += 1\n    dst.seen += 1 + 100 * (src.id == dst.id)",
            "def keep(page): page.degree = page.seen % 100; page.loops = page.seen // 100",
        ),
        stages=(ExchangeSpec("count"), ApplySpec("page", "keep")),
    )
    assert out.vertices["page"]["degree"].tolist() == [graph.degree(v) for v in range(4)]
    assert out.vertices["page"]["loops"].tolist() == [0, 1, 0, 0]


def test_a_block_of_one_type_has_no_neighbours_to_visit():
    """Blocks of sources. What page 2 is given waits for its own block, which is the last."""
    graph = nx.MultiDiGraph([(0, 2), (1, 2), (2, 0)])
    batch = MiniBatchSpec((ExchangeSpec("give"), ApplySpec("page", "keep")), ("vertices", 1))
    out = run_on_three(
        graph,
        (FieldSpec("d", "delta"), value("x")),
        (),
        1,
        sources=(
            "def give(src, dst): dst.d += 1",
            "def keep(page): page.x = 10 * page.x + page.d + 1",
        ),
        stages=(batch,),
    )
    assert out.vertices["page"]["x"].tolist() == [1, 1, 3]


def test_an_end_that_is_whole_is_visited_once():
    """On the worker with its edges, and without edges where its master is."""
    program = ProgramSpec(
        (VertexSpec("page", (FieldSpec("d", "delta"), value("x"))),),
        (EdgeSpec("link", ("page", "page"), whole="src"),),
        (),
        name_functions(
            "def look(src, edges): src.d += 10 + len(edges)", "def keep(page): page.x = page.d"
        ),
        (),
        (ExchangeSpec("look", over="src"), ApplySpec("page", "keep")),
    )
    graph = GraphSpec({"page": 3}, {"link": np.array([[0, 0, 1], [1, 2, 2]])}, {}, {})
    homes = {"page": np.array([1, 0, 0])}
    placement = EdgePlacement(2, {"link": np.array([0, 0, 1])}, homes)
    out = interpret(program, graph, placement, cut_singly, 1)
    assert out.vertices["page"]["x"].tolist() == [12, 11, 10]


def test_means_count_both_ends_of_the_edges_of_one_type():
    """Worker 0 has a loop of page 0, and worker 1 an edge to it and one from it. Two of four ends
    have changed it by 8, and two by 1.
    """
    program = ProgramSpec(
        (VertexSpec("page", (FieldSpec("s", "shared", "f8", combine="mean"),)),),
        (EdgeSpec("link", ("page", "page"), (FieldSpec("w", "data"),)),),
        (),
        name_functions("def give(src, dst, link): dst.s += link.w"),
        (),
        (ExchangeSpec("give"), ApplySpec("page")),
    )
    ends = {"link": np.array([[0, 1, 0], [0, 0, 1]])}
    graph = GraphSpec({"page": 2}, ends, {"link": {"w": np.array([8, 1, 4])}}, {})
    placement = EdgePlacement(2, {"link": np.array([0, 1, 1])}, {"page": np.array([0, 1])})
    out = interpret(program, graph, placement, cut_singly, 1)
    assert out.vertices["page"]["s"].tolist() == [(2 * 8 + 2 * 1) / 4, 4]
