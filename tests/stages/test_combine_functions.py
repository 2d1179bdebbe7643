"""Totals that a function of the user combines: on one worker, on several, and what is refused."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import both, complete

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    ProgramError,
    Vertex,
    data,
    metric,
    total,
    value,
)
from tux.arrays.edges import EdgeData

PAIRS = np.random.default_rng(2).integers(0, 30, (2, 200))
WEIGHTS = np.random.default_rng(3).normal(0, 3, 200).astype("f4")
EDGES = EdgeData.of(("node", "node"), *PAIRS, {"w": WEIGHTS})


def add_exponents(a, b):
    """Return log(exp(a) + exp(b))."""
    most = max(a, b)
    return most if most == -np.inf else most + np.log(np.exp(a - most) + np.exp(b - most))


def keep_largest(mine, others):
    """Keep the largest of both, the largest first."""
    for x in others:
        for k in range(len(mine)):
            if x > mine[k]:
                x, mine[k] = mine[k], x


def gather(src, dst, link, tau):
    most = max(tau.lse, link.w)
    tau.lse = most + np.log(np.exp(tau.lse - most) + np.exp(link.w - most))
    x = float(link.w)
    for k in range(len(tau.top)):
        if x > tau.top[k]:
            x, tau.top[k] = tau.top[k], x
    tau.n += 1


def report(tau):
    tau.log_sum, tau.count = tau.lse, tau.n
    tau.largest[:] = tau.top


class Summaries(Program):
    node = Vertex(x=value("f8"))
    link = Edge("node", "node", w=data("f4"))
    tau = Context(
        lse=total(combine=add_exponents, init=-np.inf),
        top=total(4, combine=keep_largest, init=-np.inf),
        other=total(4, combine=keep_largest, init=-np.inf),
        n=total(),
        log_sum=metric(),
        count=metric(),
        largest=value("f8", 4, finite=False),
    )

    def stages(self):
        return [Exchange(gather), Apply("node", keep), GlobalSync(report)]


def keep(node, tau):
    node.x = node.id
    tau.other[3] = max(tau.other[3], node.x)


def check(tau):
    assert tau.log_sum == pytest.approx(np.log(np.exp(WEIGHTS.astype(float)).sum()), rel=1e-12)
    np.testing.assert_array_equal(tau.largest, np.sort(WEIGHTS)[::-1][:4])
    assert tau.count == len(WEIGHTS)


@both
def test_on_one_worker(jit):
    worker = complete(Summaries(), EDGES, 2, jit=jit, threads=2)
    check(worker.tau)
    assert worker.tau.lse == -np.inf and (worker.tau.top == -np.inf).all()  # cleared


@pytest.mark.parametrize(("k", "by"), [(2, "random"), (3, "ne"), (3, "bicut")])
def test_on_several_workers(k, by):
    team = train_team(Summaries(), EDGES, 2, k=k, by=by)
    check(team.tau)


def test_workers_are_combined_in_their_order():
    """A function that is not commutative tells the order."""

    def join(mine, others):
        free = np.flatnonzero(mine < 0)
        given = others[others >= 0]
        mine[free[: len(given)]] = given

    def put(node, tau):
        for k in range(len(tau.order)):
            if tau.order[k] < 0:
                tau.order[k] = node.id
                break

    def show(tau):
        tau.seen[:] = tau.order

    class Ordered(Program):
        node = Vertex(x=value("f8"))
        link = Edge("node", "node")
        tau = Context(order=total(64, combine=join, init=-1), seen=value("f8", 64))

        def stages(self):
            return [Apply("node", put), GlobalSync(show)]

    edges = EdgeData.of(("node", "node"), *PAIRS, {})
    team = train_team(Ordered(), edges, 1, k=3)
    masters = [worker.master_ids("node").tolist() for worker in team.workers]
    seen = team.tau.seen[team.tau.seen >= 0].tolist()
    assert seen == [each for own in masters for each in own]


def test_threads_wait_for_a_function():
    plan = Exchange(gather).plan(Summaries(), "src")
    assert plan.why.endswith("changes tau.lse, which `add_exponents` combines")


def three(a, b, c):
    return a


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"combine": three, "init": 0}, "a total is combined by <function three"),
        ({"combine": 3}, "a total is combined by 3"),
        ({"combine": add_exponents}, "a total combined by `add_exponents` has init=None"),
        ({"combine": add_exponents, "init": np.nan}, "has init=nan"),
        ({"combine": "max", "init": 0}, "a total combined by max has init=0"),
    ],
)
def test_what_is_no_total(words, what):
    with pytest.raises(ProgramError) as error:
        total(**words)
    assert what in error.value.what


def returns_nothing(a, b):
    pass


def returns_an_array(mine, others):
    return mine + others


def fails(a, b):
    return a.missing


@pytest.mark.parametrize(
    ("field", "what"),
    [
        (total(combine=returns_nothing, init=0), "`returns_nothing` combines two numbers, and"),
        (total(3, combine=returns_an_array, init=0), "combines two arrays, and returns an object"),
        (total(combine=fails, init=0), "combines two values, and failed: Attribute"),
    ],
)
def test_errors_in_the_function(field, what):
    def show(tau):
        tau.m = tau.n

    class Wrong(Program):
        node = Vertex(x=value("f8"))
        link = Edge("node", "node")
        tau = Context(t=field, n=total(), m=metric())

        def stages(self):
            return [Exchange(touch_array if field.shape else touch), GlobalSync(show)]

    edges = EdgeData.of(("node", "node"), *PAIRS, {})
    with pytest.raises(ProgramError) as error:
        train_team(Wrong(), edges, 1, k=2)
    assert what in error.value.what and "test_combine_functions.py" in error.value.where


def touch(src, dst, tau):
    tau.t += 1
    tau.n += 1


def touch_array(src, dst, tau):
    tau.t[0] += 1
    tau.n += 1


def enter(src, tau):
    tau.lse = max(tau.lse, 1.0)


def test_a_vertex_is_not_given_once_for_each_replica():
    with pytest.raises(ProgramError, match="once for each replica|once a replica"):
        Exchange(gather, enter=enter, over="src").check_replicas(Summaries())
