"""Exchange by which threads race: the plan, the results without the user's word, and with it."""

import numpy as np
import pytest
from support.programs.programs import complete

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    MiniBatch,
    Program,
    ProgramError,
    Vertex,
    data,
    metric,
    shared,
    total,
)
from tux.arrays.edges import EdgeData
from tux.options.options import RunOptions
from tux.program.program import may_race
from tux.stages.analysis.schedules import serial_reasons

PAIRS = np.random.default_rng(5).integers(0, 50, (2, 4000))
EDGES = EdgeData.of(("node", "node"), *PAIRS, {"w": np.ones(4000, "f4")})


def count_both(src, dst, link, tau):
    src.seen += 1
    dst.seen += 1
    tau.n += link.w


def report(tau):
    tau.count = tau.n


class Racers(Program):
    """Both ends are changed, which keeps an Exchange on one thread."""

    node = Vertex(seen=shared("f8"))
    link = Edge("node", "node", w=data("f4"))
    tau = Context(n=total(), count=metric())
    races = True

    def stages(self):
        return [Exchange(count_both, racing=self.races), Apply("node"), GlobalSync(report)]


class Ordered(Racers):
    races = False


class RacingStart(Ordered):
    """Threads may race before the first epoch, where the run begins with a model."""

    def setup_from(self):
        return [Exchange(count_both, racing=True), Apply("node"), GlobalSync(report)]


def test_without_the_users_word_results_are_those_of_one_thread():
    one, racers = (
        complete(kind(), EDGES, 2, threads=2).tables["node"].arrays["seen"]
        for kind in (Ordered, Racers)
    )
    np.testing.assert_array_equal(one, racers)


@pytest.mark.parametrize("jit", [False, True])
def test_with_it_totals_are_exact_and_changes_nearly_all_there(jit):
    worker = complete(Racers(), EDGES, 2, threads=2, racing=True, jit=jit)
    assert worker.tau.count == 4000
    seen = worker.tables["node"].arrays["seen"].sum()
    assert 0 < seen <= 4 * 4000  # how many are lost, nobody knows
    if not jit:  # which runs on one thread
        assert seen == 4 * 4000


def test_plans_and_options():
    ordered = Exchange(count_both, racing=True).plan(Racers(), "src")
    assert not ordered.threads and ordered.why.endswith(
        "--racing lets all threads run it, in no order"
    )
    assert str(Exchange(count_both, racing=True).plan(Racers(), "src", racing=True)) == (
        "racing, totals in lanes"
    )
    assert may_race(Racers()) and not may_race(Ordered())
    assert may_race(RacingStart(), from_model=True) and not may_race(RacingStart())
    RunOptions(racing=True, from_run="run").plan_for(RacingStart())
    RunOptions(racing=True).plan_for(Racers())
    assert serial_reasons(Racers(), one_worker(), racing=True) == []
    assert len(serial_reasons(Racers(), one_worker())) == 1


def add_both(src, edges, tau):
    for edge in edges:
        edge.dst.seen += 1
        src.seen += 1
        tau.sum += 1


class Added(Program):
    """A shared field of the context, which may be seen late, and vertices that race."""

    node = Vertex(seen=shared("f8"))
    link = Edge("node", "node")
    tau = Context(sum=shared("f8"))


def test_shared_fields_of_the_context_that_may_be_seen_late():
    stage = Exchange(add_both, additive=True, racing=True, stale_context=True)
    assert stage.plan(Added(), "src").why
    assert stage.plan(Added(), "src", racing=True).form == "racing"
    with pytest.raises(ProgramError, match="tau.sum, a shared field"):
        Exchange(add_both, additive=True, racing=True).plan(Added(), "src", racing=True)


def one_worker():
    from tux.program.stage import Cluster

    return Cluster()


def visit(user, edges):
    for edge in edges:
        edge.item.x += 1
        user.x += 1


class BlockRacers(Program):
    user = item = Vertex(x=shared("f8"))
    pair = Edge("user", "item")

    def stages(self):
        return [MiniBatch(Exchange(visit, additive=True, racing=True), over="user", vertices=4)]


def test_blocks_that_race_are_no_single_kernel():
    edges = EdgeData.of(("user", "item"), *PAIRS, {})
    (batch,) = BlockRacers().stages()
    assert batch.is_fused(BlockRacers(), 1) and not batch.is_fused(BlockRacers(), 1, racing=True)
    worker = complete(BlockRacers(), edges, 1, threads=2, racing=True)
    assert 0 < worker.tables["user"].arrays["x"].sum() <= 4000
    alone = complete(BlockRacers(), edges, 1, threads=1, racing=True)
    assert alone.tables["item"].arrays["x"].sum() == 4000


def keep_last(src, dst, tau):
    src.seen += 1
    tau.last = dst.id


class LosingRacers(Racers):
    tau = Context(last=shared("f8"), n=total(), count=metric())

    def stages(self):
        return [Exchange(keep_last, racing=True), Apply("node"), GlobalSync(report)]


def test_lost_changes_of_the_context_are_refused():
    with pytest.raises(ProgramError, match="racing=True, and `keep_last`.*tau.last"):
        Exchange(keep_last, racing=True).plan(LosingRacers(), "src")
    with pytest.raises(ProgramError, match="racing='yes'"):
        Exchange(visit, racing="yes")
