"""Plans: how threads may share a kernel, by what its UDFs do."""

import re

import pytest

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    argmax,
    data,
    delta,
    master,
    mirror,
    shared,
    total,
    value,
)
from tux.program.stage import Cluster
from tux.stages import Apply, Exchange, ForEach, Generate, GlobalSync, MiniBatch, Repeat
from tux.stages.analysis.schedules import serial_reasons

FIELDS = {"x": shared("f4"), "f": shared("f4", 2), "v": value("f4"), "d": delta("f4")}
FIELDS |= {"m": mirror("f4"), "h": master("f4")}
TAU = {
    "s": shared("i8", 2),
    "n": total("i8"),
    "low": total("f4", combine="min"),
    "high": total("f4", combine="max"),
    "far": argmax(),
    "k": value("f4"),
}


class TwoTypesPlan(Program):
    user, item = Vertex(**FIELDS), Vertex(**FIELDS)
    rating = Edge("user", "item", y=data("f4"), z=mirror("f4"))
    tau = Context(**TAU)


class OneTypePlan(Program):
    page = Vertex(**FIELDS)
    link = Edge("page", "page", y=data("f4"), z=mirror("f4"))
    tau = Context(**TAU)


def plan(stage, program):
    """Return the plan of a stage with one kernel, without what to do; lines of this file as 0."""
    (found,) = stage.plans(program, "").values()
    return re.sub(r"\(test_plan.py:\d+\)", "(0)", str(found).partition("; ")[0])


def both(user, item):
    user.x += item.x
    item.x += user.x


def one(user, item):
    user.d += item.x


def other(user, item):
    item.f[0] = user.x


def nothing(user, item, rating, p):
    if user.x > p.none:
        pass


def own_edge(user, rating):
    rating.z = user.x * rating.y


def folds(user, item, tau):
    tau.n += 1
    tau.low = min(tau.low, user.x)
    tau.high = max(tau.high, item.x)
    tau.far.add(user.x, user.id)


def reads_constant(user, tau):
    user.d += tau.k


def reads_total(user, tau):
    if tau.n < 5:
        tau.n += 1


def overwrites_total(user, tau):
    tau.n = 3


def other_fold(user, tau):
    tau.n = max(tau.n, 3)


def reads_extreme(user, tau):
    user.d += tau.far.value


def counts(user, tau):
    tau.s[0] += 1


def reads_shared(user, tau):
    user.d += tau.s[0]


def odd(user, item):
    user.d += getattr(item, "x")  # noqa: B009


def odd_total(user, tau):
    setattr(tau, "n", 3)  # noqa: B010


@pytest.mark.parametrize(
    ("udf", "told"),
    [
        (both, "tiles, tickets of rows and columns"),
        (one, "tiles, tickets of rows"),
        (other, "tiles, tickets of columns"),
        (nothing, "tiles"),
        (own_edge, "tiles"),
        (folds, "tiles, totals in lanes"),
        (reads_constant, "tiles, tickets of rows"),
        (
            reads_total,
            "one thread: `reads_total` (0) does more with the total tau.n than to gather it",
        ),
        (overwrites_total, "one thread: `overwrites_total` (0) does more with the total tau.n"),
        (other_fold, "one thread: `other_fold` (0) does more with the total tau.n"),
        (reads_extreme, "tiles, tickets of rows"),
        (counts, "one thread: `counts` (0) changes tau.s, a shared field"),
        (reads_shared, "tiles, tickets of rows"),
        (odd, "tiles, tickets of rows and columns"),
        (odd_total, "one thread: `odd_total` (0) may change tau.s, a shared field"),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_a_udf_per_edge(udf, told):
    assert plan(Exchange(udf), TwoTypesPlan()).startswith(told)
    assert told.startswith("one") or plan(Exchange(udf), TwoTypesPlan()) == told


def test_the_enumerated_end_has_the_rows():
    assert plan(Exchange(one, over="item"), TwoTypesPlan()) == "tiles, tickets of columns"


# ---- one vertex type


def give(src, dst):
    dst.d += src.v


def count(src, dst):
    src.d += 1
    dst.m += 1


def spread(src, dst):
    dst.x = src.x


def least(src, dst):
    src.x = min(src.x, 1)
    dst.x = min(dst.x, 1)


def draw(src, dst):
    src.x += dst.x


def odd_end(src, dst):
    dst.d += getattr(src, "v")  # noqa: B009


@pytest.mark.parametrize(
    ("udf", "told"),
    [
        (give, "tiles, tickets of columns"),
        (count, "tiles, tickets of rows and columns"),
        (spread, "one thread: `spread` (0) changes dst.x, which is read or changed by way of src"),
        (least, "one thread: `least` (0) changes src.x, which is read or changed by way of dst"),
        (draw, "one thread: `draw` (0) changes src.x, which is read or changed by way of dst"),
        (
            odd_end,
            "one thread: `odd_end` (0) may change src.d, which is read or changed by way of dst",
        ),
    ],
    ids=lambda each: each.__name__ if callable(each) else "",
)
def test_a_udf_per_edge_of_one_type(udf, told):
    assert plan(Exchange(udf), OneTypePlan()) == told


def test_src_and_dst_of_two_types_are_different_rows():
    assert plan(Exchange(both), TwoTypesPlan()) == "tiles, tickets of rows and columns"


# ---- by vertex


def enter(src, tau):
    src.x = tau.k


def leave(src, tau, rng):
    src.f[1] = rng.uniform()
    tau.n += 1


def along(src, dst, link):
    src.x += dst.v
    link.z = src.x


def along_same(src, dst):
    src.m += dst.x


def along_other(src, dst):
    dst.d += 1


def gather(src, edges):
    for edge in edges:
        src.x += edge.dst.v * edge.y
        edge.z = src.x


def scatter(src, edges):
    for edge in edges:
        edge.dst.d += src.x


def same(src, edges):
    for i in range(len(edges)):
        src.x += edges[i].dst.x


def lists(user, edges):
    for i in range(len(edges)):
        edges[i].item.m = user.x


def watch(user, edges, tau):
    for edge in edges:
        user.x += edge.item.x
        tau.low = min(tau.low, user.x)


def tallies(user, edges, tau):
    for edge in edges:
        tau.s[int(edge.y)] += tau.s[0]


def unknown(user, edges):
    user.x = sum([edge.y for edge in edges])


def far_off(user, edges):
    print(edges)


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (Exchange(along, enter=enter, leave=leave), "vertices, totals in lanes"),
        (ForEach("src", enter), "vertices"),
        (
            Exchange(along_same, enter=enter),
            "one thread: `enter` (0) changes src.x, which is read by way of dst",
        ),
        (
            Exchange(along_other, enter=enter),
            "one thread: `along_other` (0) changes dst.d, which other srcs may change too",
        ),
        (Exchange(gather), "vertices"),
        (
            Exchange(scatter),
            "one thread: `scatter` (0) changes dst.d, which other srcs may change too",
        ),
        (Exchange(gather, shares=8), "vertices"),
        (
            Exchange(scatter, shares=8),
            "one thread: `scatter` (0) changes dst.d, which other srcs may change too",
        ),
        (Exchange(same), "one thread: `same` (0) changes src.x, which is read by way of dst"),
    ],
    ids=lambda each: getattr(each, "label", ""),
)
def test_vertices_of_one_type(stage, told):
    assert plan(stage, OneTypePlan()) == told


@pytest.mark.parametrize(
    ("stage", "told"),
    [
        (
            Exchange(lists),
            "one thread: `lists` (0) changes item.m, which other users may change too",
        ),
        (Exchange(lists, shares=8), "cells, tickets of rows and columns"),
        (Exchange(watch, shares=8), "cells, tickets of rows, totals in lanes"),
        (Exchange(watch), "vertices, totals in lanes"),
        (Exchange(tallies), "one thread: `tallies` (0) changes tau.s, a shared field"),
        (Exchange(tallies, stale_context=True), "vertices, totals in lanes"),
        (ForEach("user", counts), "one thread: `counts` (0) changes tau.s, a shared field"),
        (ForEach("user", counts, stale_context=True), "vertices, totals in lanes"),
        (Exchange(unknown), "vertices"),
        (
            Exchange(far_off),
            "one thread: `far_off` (0) may change item.x, which other users may change too",
        ),
    ],
    ids=lambda each: getattr(each, "label", ""),
)
def test_vertices_of_two_types(stage, told):
    assert plan(stage, TwoTypesPlan()) == told


# ---- masters, lists, blocks


def settle(user, tau):
    user.v = user.d * tau.k
    user.h += 1
    tau.n += 1


def settle_any(v, tau):
    v.x = tau.n


def sum_up(user, tau):
    user.h = user.v
    tau.high = max(tau.high, user.h)


def make(start, path, tau, rng):
    path[0] = start
    tau.n += rng.below(3)


def tell(start, path, tau):
    path[0] = tau.s[0] + start
    tau.s[0] += 1


def use(path):
    for edge in path:
        edge.page.x += 1


def test_masters():
    assert plan(Apply("user", settle), TwoTypesPlan()) == "vertices, totals in lanes"
    assert plan(Apply("item", settle_any), TwoTypesPlan()) == "vertices"
    assert plan(GlobalSync(None, aggregate=sum_up), TwoTypesPlan()) == "vertices, totals in lanes"
    assert Apply("user").plans(TwoTypesPlan(), "") == {}
    assert GlobalSync(settle).plans(TwoTypesPlan(), "") == {}


def test_lists():
    plans = Generate(make, use, "page", path=3).plans(OneTypePlan(), "")
    lists, changes = map(str, plans.values())
    assert lists == "vertices, totals in lanes"
    assert changes.startswith("one thread: `use` (test_plan.py:")
    assert ") changes path.page.x of vertices that other lists name" in changes
    (plan,) = Generate(tell, None, "page", path=3).plans(OneTypePlan(), "").values()
    assert str(plan).startswith("one thread: `tell` (test_plan.py:")


class StagesOfLines(TwoTypesPlan):
    """Stages that some lines are told of."""

    def stages(self, cluster):
        own = Exchange(watch, over="user", additive=True)
        return [
            Repeat(Exchange(both), times=2),
            MiniBatch(own, Apply("user", settle), vertices=1),
            MiniBatch(own, Apply("user", settle)),
            MiniBatch(Exchange(counts), Apply("item"), blocks=3),
            Exchange(counts),
            Apply("item"),
        ]


def test_what_a_run_tells_of_one_thread():
    fused = "MiniBatch(Exchange(watch, over=user), ...) runs on one thread: "
    alone = "Exchange(counts) runs on one thread: `counts` (test_plan.py:"
    told = serial_reasons(StagesOfLines(), Cluster())
    assert told[0] == f"{fused}blocks run one after the other"
    assert told[1].startswith(alone) and len(told) == 2
    assert serial_reasons(StagesOfLines(), Cluster(workers=2)) == told[1:]
