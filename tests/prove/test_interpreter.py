"""The interpreter: what stages read and write, by cases that are computed by hand."""

from __future__ import annotations

import pytest
from support.prove.ratings import ADD, FINISH, GIVE, KEEP, items, run_ratings, value
from support.prove.spec import (
    ApplySpec,
    ExchangeSpec,
    FieldSpec,
    GlobalSyncSpec,
    MiniBatchSpec,
    VectorSpec,
)

TOLD = FieldSpec("told", "metric", "f8")


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


@pytest.mark.parametrize("combine", ["mean", "replica_mean"])
def test_means_in_a_block_are_of_edges_and_workers_of_the_block(combine):
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
        FINISH + "; tau.told = tau.kept",
        tau=(FieldSpec("n", "total"), FieldSpec("s", "shared"), value("kept"), TOLD),
        epochs=2,
    )
    first = 100 * (4 + 30) + 4
    assert out.metrics == {1: {"told": first}, 2: {"told": 100 * (100 * first + 34) + 4}}
    assert out.context["s"] == 2 * 4 * 4


@pytest.mark.parametrize("workers", [1, 2])
def test_an_epoch_does_not_report_metrics_of_another_one(workers):
    """Set-up tells 0, epochs 1 and 3 tell 1 and 3."""
    out = run_ratings(
        [GlobalSyncSpec("finish")],
        "def begin(tau): tau.told = 0",
        "def finish(tau):\n    tau.kept += 1\n    if tau.kept % 2: tau.told = tau.kept",
        setup=(GlobalSyncSpec("begin"),),
        workers=workers,
        epochs=3,
        tau=(value("kept"), TOLD),
    )
    assert out.metrics == {1: {"told": 1}, 2: {}, 3: {"told": 3}}


def test_an_apply_does_not_see_own_changes_of_the_context():
    """Changes of a worker since the last GlobalSync show in its Exchanges alone."""
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


@pytest.mark.parametrize(("workers", "seen"), [(1, [3, 1, 0]), (2, [0, 0, 0])])
def test_an_aggregate_and_an_operator_see_what_masters_hold(workers, seen):
    """On several workers, without what replicas have changed since the last Apply."""
    out = run_ratings(
        [
            ExchangeSpec("give"),
            VectorSpec("Copy", '"item", "x", "s"'),
            GlobalSyncSpec("finish", "look", over="item"),
            ApplySpec("item"),
        ],
        GIVE,
        "def look(item, tau): tau.n += item.s; item.private = item.s",
        FINISH,
        workers=workers,
        item=(FieldSpec("s", "shared"), value("x"), FieldSpec("private", "master")),
        tau=(FieldSpec("n", "total"), value("kept")),
    )
    assert (items(out, "x"), items(out, "private")) == (seen, seen)
    assert out.context["kept"] == sum(seen)
    assert items(out, "s") == [3, 1, 0]
