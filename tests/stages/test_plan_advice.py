"""The advice of a plan of one thread to its author."""

import pytest

from tux import Context, Edge, Program, Vertex, delta, shared, total
from tux.stages import Exchange

FIELDS = {"x": shared("f4"), "d": delta("f4")}
TAU = {"s": shared("i8"), "n": total("i8"), "low": total("f4", combine="min")}


class TwoTypesAdvice(Program):
    user, item = Vertex(**FIELDS), Vertex(**FIELDS)
    rating = Edge("user", "item")
    tau = Context(**TAU)


class OneTypeAdvice(Program):
    page = Vertex(**FIELDS)
    link = Edge("page", "page")
    tau = Context(**TAU)


def spread(user, edges):
    for edge in edges:
        edge.item.d += user.x


def scatter(src, edges):
    for edge in edges:
        edge.dst.d += src.x


def same(src, edges):
    for edge in edges:
        src.x += edge.dst.x


def pass_on(src, dst):
    dst.x += src.x


def on_both(src, dst):
    src.d += 1
    dst.d += 1


def counts(user, tau):
    tau.s += 1


def watches(user, edges, tau):
    tau.s += len(edges)


def sets(user, tau):
    tau.n = 3


def lifts(user, tau):
    tau.low = max(tau.low, user.x)


def unknown(user, edges):
    print(edges)


DELTA = "collect it in a delta, and let an Apply set the field"
TOTAL = "gather it in a total, which a GlobalSync adds to the field"


@pytest.mark.parametrize(
    ("udf", "program", "do"),
    [
        (
            spread,
            TwoTypesAdvice,
            "change it in an Exchange for each edge, or, if what it does with some of "
            "the edges adds up, add shares=8",
        ),
        (scatter, OneTypeAdvice, "change it in an Exchange for each edge"),
        (same, OneTypeAdvice, DELTA),
        (pass_on, OneTypeAdvice, DELTA),
        (on_both, OneTypeAdvice, "write two Exchanges, one for each end"),
        (counts, TwoTypesAdvice, TOTAL),
        (
            watches,
            TwoTypesAdvice,
            f"{TOTAL}, or add stale_context=True if it may be seen a little late",
        ),
        (sets, TwoTypesAdvice, "only gather it (+=), and read it in a GlobalSync"),
        (lifts, TwoTypesAdvice, "only gather it (min), and read it in a GlobalSync"),
        (
            unknown,
            TwoTypesAdvice,
            "write it so that tux can follow it: see On all threads in docs/program.md",
        ),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_plan_of_one_thread_says_what_to_do(udf, program, do):
    (plan,) = Exchange(udf).plans(program(), "").values()
    assert plan.do == do and str(plan).endswith(f"; {do}")
