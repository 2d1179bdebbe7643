"""The interpreter of random programs, by cases that are computed by hand and by networkx."""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest

from support.prove.interpreter import interpret
from support.prove.spec import (
    ApplySpec,
    BarrierSpec,
    EdgeSpec,
    ExchangeSpec,
    FieldSpec,
    ForEachSpec,
    GlobalSyncSpec,
    GraphSpec,
    MiniBatchSpec,
    Outcome,
    Placement,
    ProgramSpec,
    RepeatSpec,
    VectorSpec,
    VertexSpec,
)

GIVE = "def give(user, item): item.s += 1"
ADD = "def add(user, item): item.d += 1"
KEEP = "def keep(item): item.x = 10 * item.x + item.d"
FINISH = "def finish(tau): tau.kept = 100 * tau.kept + tau.n"


def name_functions(*sources: str) -> dict[str, str]:
    """Functions by the names that their source texts give them."""
    return {source.split("def ")[1].split("(")[0]: source for source in sources}


def cut_singly(batch: MiniBatchSpec, epoch: int, repetition: int) -> list[list[int]]:
    """Blocks of one vertex each, of three."""
    return [[0], [1], [2]]


def run_ratings(
    stages: list,
    *sources: str,
    workers: int = 2,
    epochs: int = 1,
    item: tuple[FieldSpec, ...] = (),
    tau: tuple[FieldSpec, ...] = (),
    user: tuple[FieldSpec, ...] = (),
    rating: tuple[FieldSpec, ...] = (),
    whole: bool = False,
    setup: tuple = (),
    blocks: Callable = cut_singly,
    seed: int | None = None,
) -> Outcome:
    """Run stages on these ratings, and on item 2, which has none. Masters are on worker 0, but that
    of item 1.

    user 0 --1-- item 0    worker 0
    user 1 --2-- item 0    worker 0
    user 1 --4-- item 1    worker 1
    user 2 --8-- item 0    worker 1
    """
    stars = (FieldSpec("stars", "data"),)
    program = ProgramSpec(
        (VertexSpec("user", user), VertexSpec("item", item, whole)),
        (EdgeSpec("rating", ("user", "item"), stars + rating),),
        tau,
        name_functions(*sources),
        setup,
        tuple(stages),
        {"step": 3},
    )
    graph = GraphSpec(
        {"user": 3, "item": 3},
        {"rating": np.array([[0, 1, 1, 2], [0, 0, 1, 0]])},
        {"rating": {"stars": np.array([1, 2, 4, 8])}},
        {},
    )
    parts = np.array([0, 0, 1, 1]) if workers == 2 and not whole else np.zeros(4, int)
    homes = np.array([0, 1, 0]) if workers == 2 and not whole else np.zeros(3, int)
    placement = Placement(workers, {"rating": parts}, {"user": np.zeros(3, int), "item": homes})
    return interpret(program, graph, placement, blocks, epochs, seed)


def value(name: str, length: int = 0, dtype: str = "i8", init: int = 0) -> FieldSpec:
    return FieldSpec(name, "value", dtype, length, init=init)


def items(outcome: Outcome, field: str) -> list:
    return outcome.vertices["item"][field].tolist()


@pytest.mark.parametrize("workers", [1, 2])
def test_own_changes_of_a_shared_field_show_at_once(workers):
    """Each replica counts from what the master had: on two workers the second does not see what the
    first has done.
    """
    see = "def see(user, item, rating): rating.seen = item.s\n item.s += 1".replace("\n ", "; ")
    out = run_ratings(
        [ExchangeSpec("see"), ApplySpec("item"), ExchangeSpec("tell"), ApplySpec("item", "keep")],
        see,
        "def tell(user, item, rating): item.d += rating.stars * rating.seen",
        KEEP,
        workers=workers,
        item=(FieldSpec("s", "shared"), FieldSpec("d", "delta"), value("x")),
        rating=(FieldSpec("seen", "mirror"),),
    )
    assert items(out, "s") == [3, 1, 0]
    assert items(out, "x") == ([1 * 0 + 2 * 1 + 8 * (2 if workers == 1 else 0), 0, 0])


@pytest.mark.parametrize(
    ("combine", "change"),
    [("sum", 1 + 2 + 8), ("mean", (2 * 3 + 1 * 8) / 3), ("replica_mean", (3 + 8) / 2)],
)
def test_several_changes_of_one_vertex(combine, change):
    """Worker 0 has two edges of item 0, worker 1 one: their changes are 1 + 2 and 8."""
    out = run_ratings(
        [ExchangeSpec("give"), ApplySpec("item")],
        "def give(user, item, rating): item.s += rating.stars",
        item=(FieldSpec("s", "shared", "f8", combine=combine, init=5),),
    )
    assert items(out, "s") == [5 + change, 5 + 4, 5]


@pytest.mark.parametrize(("combine", "change"), [("mean", (3 + 8) / 2), ("replica_mean", 8)])
def test_means_in_a_block_are_of_edges_and_workers_of_the_block(combine, change):
    """Blocks of one user. Worker 0 changes item 0 by 1 and then by 2, worker 1 by 8 in the third
    block, always alone.
    """
    out = run_ratings(
        [MiniBatchSpec((ExchangeSpec("give"), ApplySpec("item")), ("vertices", 1))],
        "def give(user, item, rating): item.s += rating.stars",
        item=(FieldSpec("s", "shared", "f8", combine=combine),),
    )
    assert items(out, "s") == [1 + 2 + 8, 4, 0]


@pytest.mark.parametrize("workers", [1, 2])
def test_deltas_wait_for_the_next_apply_and_are_cleared(workers):
    out = run_ratings(
        [ExchangeSpec("add"), ExchangeSpec("add"), ApplySpec("item", "keep"), ExchangeSpec("add")],
        ADD,
        KEEP,
        workers=workers,
        epochs=2,
        item=(FieldSpec("d", "delta"), value("x")),
    )
    assert items(out, "x") == [10 * 6 + 9, 10 * 2 + 3, 0]


@pytest.mark.parametrize(("combine", "begin", "kept"), [("min", 127, 1), ("max", -128, 8)])
def test_deltas_by_min_and_max_begin_with_what_changes_nothing(combine, begin, kept):
    out = run_ratings(
        [ExchangeSpec("offer"), ApplySpec("item", "keep")],
        f"def offer(user, item, rating): item.d = {combine}(item.d, rating.stars)",
        "def keep(item): item.x = item.d",
        item=(FieldSpec("d", "delta", "i1", combine=combine), value("x")),
    )
    assert items(out, "x") == [kept, 4, begin]


def test_a_function_combines_what_workers_have_gathered():
    """The two largest stars of an item, and their number as one of the context."""
    top = "\n".join(
        [
            "def top(mine, others):",
            "    for x in others:",
            "        for k in range(len(mine)):",
            "            if x > mine[k]:",
            "                x, mine[k] = mine[k], x",
        ]
    )
    out = run_ratings(
        [ExchangeSpec("offer"), ApplySpec("item", "keep"), GlobalSyncSpec("finish")],
        top,
        "def larger(a, b): return a if a > b else b",
        "def offer(user, item, rating, tau):\n"
        "    top(item.d, [rating.stars])\n"
        "    tau.n = larger(tau.n, rating.stars)",
        "def keep(item): item.x[:] = item.d",
        FINISH,
        item=(FieldSpec("d", "delta", "i4", 2, combine="top", init=-1), value("x", 2)),
        tau=(FieldSpec("n", "total", combine="larger", init=-1), value("kept")),
    )
    assert items(out, "x") == [[8, 2], [4, -1], [-1, -1]]
    assert out.context["kept"] == 8


@pytest.mark.parametrize(("workers", "seen"), [(1, 1 + 2 + 8), (2, 1 + 2)])
def test_a_mirror_is_what_its_worker_has_written(workers, seen):
    """On two workers, user 0 sees at item 0 what the edges of worker 0 have counted."""
    out = run_ratings(
        [ExchangeSpec("write"), ExchangeSpec("read"), ApplySpec("user", "keep")],
        "def write(item, rating): item.m += rating.stars",
        "def read(user, item): user.d = max(user.d, item.m)",
        "def keep(user): user.x = user.d",
        workers=workers,
        item=(FieldSpec("m", "mirror"),),
        user=(FieldSpec("d", "delta", combine="max"), value("x")),
    )
    assert out.vertices["user"]["x"][0] == seen


def test_a_value_is_what_the_last_apply_has_written():
    """Both workers see a value that the master has set, and master fields stay there."""
    out = run_ratings(
        [ApplySpec("item", "mark"), ExchangeSpec("add"), ApplySpec("item", "keep")],
        "def mark(item): item.x = item.id + 1; item.private += 2",
        "def add(user, item): item.d += item.x",
        "def keep(item): item.private += item.d",
        item=(FieldSpec("d", "delta"), value("x"), FieldSpec("private", "master")),
    )
    assert items(out, "private") == [2 + 3, 2 + 2, 2]


def test_an_apply_that_does_not_gather_leaves_what_replicas_have():
    """It changes what the master holds; the replica's own change stays on top of it."""
    out = run_ratings(
        [
            ExchangeSpec("give"),
            ApplySpec("item", "change", gather=False),
            ExchangeSpec("see"),
            ApplySpec("item", "keep"),
        ],
        GIVE,
        "def change(item): item.x = item.s; item.s += 100",
        "def see(user, item): item.d = max(item.d, item.s)",
        "def keep(item): item.x = 1000 * item.x + item.d",
        item=(FieldSpec("s", "shared"), FieldSpec("d", "delta", combine="max"), value("x")),
    )
    assert items(out, "s") == [103, 101, 100]
    assert items(out, "x")[:2] == [102, 101]


def test_totals_are_combined_and_cleared_by_a_global_sync_with_a_function():
    """One without a function leaves them. Shared fields of the context are brought together by
    both, and until then each worker sees its own changes.
    """
    out = run_ratings(
        [
            ExchangeSpec("count"),
            GlobalSyncSpec(),
            GlobalSyncSpec("finish", "look", over="item"),
            ExchangeSpec("count"),
            GlobalSyncSpec("finish"),
        ],
        "def count(user, item, tau, p): tau.n += 1; tau.s += p.workers",
        "def look(item, tau): tau.n += 10",
        FINISH,
        tau=(FieldSpec("n", "total"), FieldSpec("s", "shared"), value("kept")),
        epochs=2,
    )
    first = 100 * (4 + 30) + 4
    assert [epoch["kept"] for epoch in out.epochs] == [first, 100 * (100 * first + 34) + 4]
    assert out.context["s"] == 2 * 4 * 4


def test_an_apply_does_not_see_own_changes_of_the_context():
    """What a worker has changed since the last GlobalSync shows in its Exchanges alone."""
    out = run_ratings(
        [
            ExchangeSpec("count"),
            ApplySpec("item", "keep"),
            GlobalSyncSpec(),
            ApplySpec("item", "keep"),
        ],
        "def count(user, item, tau): tau.s += 1",
        "def keep(item, tau): item.x = 10 * item.x + tau.s",
        item=(value("x"),),
        tau=(FieldSpec("s", "shared"),),
    )
    assert items(out, "x") == [4, 4, 4]


def test_an_apply_in_a_mini_batch_visits_what_the_block_touches():
    """Of the enumerated type, the vertices of the block; of the other one, those with an edge in
    it; with `all`, each vertex in each block.
    """
    batch = MiniBatchSpec(
        (
            ExchangeSpec("add"),
            ApplySpec("item", "keep"),
            ApplySpec("user", "visit"),
            ApplySpec("item", "mark", all=True, gather=False),
        ),
        ("vertices", 1),
    )
    out = run_ratings(
        [batch],
        ADD,
        KEEP,
        "def visit(user): user.x += 1",
        "def mark(item): item.y += 1",
        item=(FieldSpec("d", "delta"), value("x"), value("y")),
        user=(value("x"),),
    )
    assert items(out, "x") == [111, 1, 0]
    assert items(out, "y") == [3, 3, 3]
    assert out.vertices["user"]["x"].tolist() == [1, 1, 1]


def test_a_block_gathers_from_workers_with_edges_in_it():
    """Before the blocks worker 0 has gathered 2 of item 0 and worker 1 has gathered 1. The first
    two blocks are of users whose ratings of item 0 lie on worker 0.
    """
    out = run_ratings(
        [
            ExchangeSpec("add"),
            MiniBatchSpec((ExchangeSpec("pass_by"), ApplySpec("item", "keep")), ("vertices", 1)),
        ],
        ADD,
        KEEP,
        "def pass_by(user, item): pass",
        item=(FieldSpec("d", "delta"), value("x")),
    )
    assert items(out, "x") == [201, 1, 0]


def test_stages_of_a_block_see_what_blocks_before_it_have_left():
    """Deltas and totals that the block before has gathered behind its Apply and its GlobalSync."""
    batch = MiniBatchSpec(
        (
            GlobalSyncSpec("finish"),
            ApplySpec("item", "keep"),
            ExchangeSpec("add"),
            ForEachSpec("user", "count", once=True),
        ),
        ("vertices", 1),
    )
    out = run_ratings(
        [batch, GlobalSyncSpec("finish"), ApplySpec("item", "keep")],
        ADD,
        KEEP,
        "def count(user, tau): tau.n += 1",
        FINISH,
        workers=1,
        item=(FieldSpec("d", "delta"), value("x")),
        tau=(FieldSpec("n", "total"), value("kept")),
    )
    assert out.context["kept"] == 10101
    assert items(out, "x") == [111, 1, 0]


def test_blocks_must_hold_each_vertex_once():
    batch = MiniBatchSpec((ExchangeSpec("pass_by"),), ("blocks", 2))
    with pytest.raises(ValueError, match="each user once"):
        run_ratings(
            [batch],
            "def pass_by(user, item): pass",
            blocks=lambda batch, epoch, repetition: [[0, 1], [1, 2]],
        )


def test_repeats_and_what_blocks_are_asked_for():
    asked = []

    def note(batch: MiniBatchSpec, epoch: int, repetition: int) -> list[list[int]]:
        asked.append((epoch, repetition))
        return [[2, 0], [1]]

    batch = MiniBatchSpec((ForEachSpec("user", "count", once=True),), ("blocks", 2), over="user")
    out = run_ratings(
        [
            RepeatSpec((batch, BarrierSpec(), GlobalSyncSpec("finish")), times=2),
            RepeatSpec((GlobalSyncSpec("shrink"),), until="is_small"),
        ],
        "def count(user, tau): tau.n += 1",
        FINISH,
        "def shrink(tau): tau.kept //= 2",
        "def is_small(tau, p): return tau.kept < p.step",
        tau=(FieldSpec("n", "total"), value("kept")),
        epochs=2,
        setup=(batch, GlobalSyncSpec("finish")),
        blocks=note,
    )
    assert asked == [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]
    assert out.context["kept"] == 2  # the halves of 30303, and then of 20303


def test_an_exchange_by_vertices():
    """`enter` and `leave` are called for vertices without edges, too, and `active` leaves out."""
    out = run_ratings(
        [
            ApplySpec("item", "choose"),
            ExchangeSpec("count", over="item", enter="begin", leave="end", active="on"),
            ApplySpec("item", "keep"),
        ],
        "def choose(item): item.on = item.id != 1",
        "def begin(item): item.m = 1",
        "def count(user, item, rating): item.m += rating.stars",
        "def end(item): item.d = max(item.d, item.m)",
        KEEP,
        item=(
            FieldSpec("on", "value", "b1"),
            FieldSpec("m", "mirror"),
            FieldSpec("d", "delta", combine="max", dtype="u1"),
            value("x"),
        ),
    )
    assert items(out, "x") == [1 + 8, 0, 1]


def test_a_function_gets_all_local_edges_of_a_vertex():
    out = run_ratings(
        [ExchangeSpec("look", over="item"), ApplySpec("item", "keep")],
        "def look(item, edges):\n"
        "    for k in range(len(edges)):\n"
        "        edges[k].seen = k\n"
        "    item.d += 1000 + sum(e.stars * e.user.id for e in edges) + len(edges)",
        KEEP,
        item=(FieldSpec("d", "delta"), value("x")),
        rating=(FieldSpec("seen", "mirror", "u1"),),
        whole=True,
    )
    assert items(out, "x") == [1000 + 2 + 16 + 3, 1000 + 4 + 1, 1000]


def test_each_entry_is_seen_as_a_number():
    out = run_ratings(
        [ApplySpec("item", "grow", each="w")],
        "def grow(item): item.w += item.s + item.id",
        item=(value("w", 3), value("s", 3, init=5)),
    )
    assert items(out, "w") == [[5] * 3, [6] * 3, [7] * 3]


def test_numbers_are_cut_to_their_dtype():
    """A fraction is cut off, and a number that does not fit wraps around."""
    out = run_ratings(
        [ApplySpec("item", "store")],
        "def store(item):\n"
        "    item.a = 300\n"
        "    item.b[:] = -2.5\n"
        "    item.b[1] += 130\n"
        "    item.c = 7\n"
        "    item.d -= 1",
        item=(
            value("a", dtype="i1"),
            value("b", 2, "i1"),
            value("c", dtype="b1"),
            value("d", dtype="u2"),
        ),
    )
    assert (items(out, "a")[0], items(out, "b")[0]) == (300 - 256, [-2, -128])
    assert (items(out, "c")[0], items(out, "d")[0]) == (True, 65535)


def test_operators_on_vectors():
    def vector(operator: str, arguments: str) -> VectorSpec:
        return VectorSpec(operator, f'"item", {arguments}')

    out = run_ratings(
        [
            ApplySpec("item", "number"),
            vector("Copy", '"y[0]", "x"'),
            vector("Fill", '"y[i]", 4'),
            vector("Axpy", '"x", "y[1]", by="-step"'),
            vector("Mul", '"x", by=2'),
            vector("Sub", '"x", "y[0]"'),
            vector("Dot", '"y", "y", into="dot"'),
            vector("Sum", '"x", into="sum"'),
            vector("Nnz", '"y", into="nnz"'),
            vector("Norm2", '"y[1]", into="norm"'),
            vector("Zip", '"item", zipped, each="y"'.removeprefix('"item", ')),
        ],
        "def number(item): item.x = item.id",
        "def zipped(item, tau): item.y += tau.nnz",
        item=(value("x"), value("y", 2, "f8")),
        tau=(
            value("i", init=1),
            *(FieldSpec(name, "reduction", "f8") for name in ("dot", "sum", "nnz", "norm")),
        ),
    )
    assert items(out, "x") == [2 * (k - 12) - k for k in range(3)]
    assert items(out, "y") == [[k + 5.0, 9.0] for k in range(3)]
    with pytest.raises(KeyError):
        out.context["dot"]


def one_type(
    graph: nx.DiGraph, fields: tuple[FieldSpec, ...], tau: tuple[FieldSpec, ...], **parts: tuple
) -> tuple[ProgramSpec, GraphSpec, Placement]:
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
    return program, GraphSpec(sizes, {"link": ends}, {}, {}), Placement(3, places, homes)


def run_on_three(
    graph: nx.DiGraph, fields: tuple, tau: tuple, epochs: int, **parts: tuple
) -> Outcome:
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
