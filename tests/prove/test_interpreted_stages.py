"""The interpreter: which vertices and edges stages visit, by cases that are computed by hand."""

from __future__ import annotations

import pytest
from support.prove.ratings import ADD, FINISH, KEEP, items, run_ratings, value
from support.prove.spec import (
    ApplySpec,
    BarrierSpec,
    ExchangeSpec,
    FieldSpec,
    ForEachSpec,
    GlobalSyncSpec,
    MiniBatchSpec,
    RepeatSpec,
    VectorSpec,
)


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


def test_one_block_is_the_whole_graph():
    """An Apply in it visits items without edges, too."""
    out = run_ratings(
        [MiniBatchSpec((ExchangeSpec("add"), ApplySpec("item", "keep")))],
        ADD,
        "def keep(item): item.x = item.d + 1",
        item=(FieldSpec("d", "delta"), value("x")),
    )
    assert items(out, "x") == [4, 2, 1]


def test_operators_in_a_mini_batch_are_on_all_vertices_and_leave_own_changes():
    """Once for each of three blocks. Shared changes of the context stay with their workers."""
    batch = MiniBatchSpec(
        (
            ExchangeSpec("count"),
            VectorSpec("Add", '"item", "x", by=1'),
            VectorSpec("Sum", '"item", "x", into="all"'),
        ),
        ("vertices", 1),
    )
    out = run_ratings(
        [batch, GlobalSyncSpec("finish")],
        "def count(user, item, tau): tau.s += 1",
        "def finish(tau): tau.kept = tau.all",
        item=(value("x"),),
        tau=(FieldSpec("s", "shared"), FieldSpec("all", "reduction", "f8"), value("kept")),
    )
    assert (items(out, "x"), out.context["kept"], out.context["s"]) == ([3, 3, 3], 9, 4)


def test_each_vertex_is_visited_where_it_is():
    """Item 0 is on both workers, whose mirror fields differ; with `once`, at its master alone."""
    out = run_ratings(
        [
            ExchangeSpec("write"),
            ForEachSpec("item", "look"),
            ForEachSpec("item", "add", once=True),
            ApplySpec("item", "keep"),
        ],
        "def write(item, rating): item.m += rating.stars",
        "def look(item): item.least = min(item.least, item.m)",
        ADD.replace("user, ", ""),
        "def keep(item): item.x = 10 * item.least + item.d",
        item=(
            FieldSpec("m", "mirror"),
            FieldSpec("least", "delta", combine="min"),
            FieldSpec("d", "delta"),
            value("x"),
        ),
    )
    assert items(out, "x") == [10 * 3 + 1, 10 * 4 + 1, 1]
