"""The profile of a worker: a row for each kernel, with the calls, edges, vertices and bytes that
the program has, and the same model as without one.
"""

import itertools

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.programs import both_later, random_pairs

from tux import Context, Edge, Program, Vertex, data, delta, shared, total, value
from tux.arrays.networks import from_arrays
from tux.base import line_tracer
from tux.engine import partition
from tux.engine.profile import StageWork, WorkerProfile, merge_profiles
from tux.engine.training import Training
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

USERS, ITEMS, EDGES = 30, 20, 100


def pull(user, item, rating, tau):
    item.gain += user.f[0] * rating.value
    tau.visits += 1


def gather(item, edges):
    for edge in edges:
        item.sum += edge.user.f[1]


def settle(item):
    item.x = item.gain + item.sum


def shift(user):
    user.f[0] += 0.5


def finish(tau):
    tau.seen = tau.visits


def judge(user, item, rating, tau):
    tau.judged += rating.value


def report(tau):
    tau.mean = tau.judged


class Profiled(Program):
    """A program with a stage of each kind."""

    user = Vertex(f=shared(4, init=1.0), idle=value("f8"))
    item = Vertex(gain=delta("f8"), sum=delta("f8"), x=value("f8"))
    rating = Edge("user", "item", value=data("f4"))
    tau = Context(visits=total(), seen=value("f8"), judged=total(), mean=value("f8"))

    def setup(self):
        return [Apply("user", shift)]

    def stages(self):
        return [
            Exchange(pull),
            Exchange(gather, over="item", additive=True),
            Apply("item", settle),
            GlobalSync(finish),
        ]

    def evaluate(self):
        return [Exchange(judge), GlobalSync(report)]


def edges():
    src, dst = random_pairs(USERS, ITEMS, EDGES, seed=4)
    every = np.arange(USERS), np.arange(USERS) % ITEMS
    src, dst = np.concatenate([src, every[0]]), np.concatenate([dst, every[1]])
    return from_arrays(src, dst, ends=("user", "item"), value=np.ones(len(src), "f4"))


def train(program, *, epochs=3, **options):
    worker = Worker(program, LocalGraph.whole(program, edges(), None, 0), **options)
    training = Training(worker)
    list(training.epochs(epochs))
    return worker, training.profile()


@both_later
def test_each_stage_has_a_row_with_what_it_visits_and_touches(jit):
    _, profile = train(Profiled(), jit=jit, profile=True)
    m = len(edges().src)
    rows = [(w.method, w.stage, w.functions, w.calls, w.edges, w.vertices) for w in profile.works]
    assert rows == [
        ("setup", "Apply(user, shift)", ["shift"], 1, 0, USERS),
        ("stages", "Exchange(pull)", ["pull"], 3, 3 * m, 0),
        ("stages", "Exchange(gather, over=item)", ["gather"], 3, 3 * m, 3 * ITEMS),
        ("stages", "Apply(item, settle)", ["settle"], 3, 0, 3 * ITEMS),
        ("stages", "GlobalSync(finish)", ["finish"], 3, 0, 0),
        ("evaluate", "Exchange(judge)", ["judge"], 3, 3 * m, 0),
        ("evaluate", "GlobalSync(report)", ["report"], 3, 0, 0),
    ]
    # A field that is written counts twice, one that is not used not at all, as the equal values of
    # edges do; and the layout counts, whose ends have 2 bytes each.
    f, number, end = 4 * 4, 8, 2
    assert [work.bytes for work in profile.works] == [
        USERS * 2 * f,
        3 * m * (f + 2 * number + 2 * end),
        3 * (m * (f + end) + ITEMS * (2 * number + 8)),
        3 * ITEMS * (2 * number + 2 * number),
        0,
        3 * m * 2 * end,
        0,
    ]
    assert all(work.seconds > 0 and not work.why for work in profile.works)


@both_later
def test_a_profile_changes_no_bit(jit):
    plain, nothing = train(Profiled(), jit=jit)
    measured, profile = train(Profiled(), jit=jit, profile=True)
    assert nothing is None and profile.works
    for name, table in plain.tables.items():
        for field, array in table.arrays.items():
            assert array.tobytes() == measured.tables[name].arrays[field].tobytes(), field


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_share_the_edges(workers):
    program = Profiled()
    team = Team(program, edges(), k=workers, jit=False, profile=True)
    team.train(2)
    each = [worker.profile.end(1.0, worker.seconds, lines=False) for worker in team.workers]
    whole = merge_profiles(each)
    m = len(edges().src)
    by_stage = {work.stage: work for work in whole.works}
    assert whole.workers == workers
    assert by_stage["Exchange(pull)"].edges == 2 * m
    assert by_stage["Exchange(gather, over=item)"].edges == 2 * m
    assert by_stage["Apply(item, settle)"].vertices == 2 * ITEMS  # masters, on servers too
    assert by_stage["GlobalSync(finish)"].calls == 2


def test_a_fused_mini_batch_is_one_row():
    class Fused(Profiled):
        def stages(self):
            inside = Exchange(gather, over="item", additive=True), Apply("item", settle)
            return [MiniBatch(*inside, over="item", vertices=3)]

        def evaluate(self):
            return []

    _, profile = train(Fused(), epochs=1, jit=False, profile=True, threads=2)
    (work,) = [each for each in profile.works if each.method == "stages"]
    assert work.stage == "MiniBatch(Exchange(gather, over=item), Apply(item, settle))"
    assert work.functions == ["gather", "settle"] and work.why.startswith("blocks run one after")
    assert (work.calls, work.edges, work.vertices) == (1, len(edges().src), 2 * ITEMS)


def test_a_stage_that_stays_on_one_thread_says_why():
    def spread(item, edges):
        for edge in edges:
            edge.user.f[0] += item.x

    class Serial(Profiled):
        def stages(self):
            return [Exchange(spread, over="item", additive=True), Apply("item", settle)]

        def evaluate(self):
            return []

    _, profile = train(Serial(), epochs=1, jit=False, profile=True)
    why = {work.stage: work.why for work in profile.works}
    assert "changes user.f, which other items may change too" in why["Exchange(spread, over=item)"]
    assert why["Apply(user, shift)"] == ""


def loop(item, edges):
    n = len(edges)
    once = n + 1
    for k in range(60):
        item.sum += k * 0.5
    item.gain += once


class Looped(Profiled):
    """A program with a line that takes most of the time."""

    def stages(self):
        return [Exchange(loop, over="item", additive=True), Apply("item", settle)]

    def evaluate(self):
        return []


def test_the_line_in_a_loop_comes_first_in_plain_python(monkeypatch):
    """A clock that goes on by one with each look counts the lines that run."""
    looks = itertools.count()
    monkeypatch.setattr(line_tracer, "perf_counter", lambda: float(next(looks)))
    monkeypatch.setattr(partition, "find_sampler", lambda **_: line_tracer.LineTracer(1e9))
    _, profile = train(Looped(), epochs=4, jit=False, profile=True)
    assert profile.slowest.functions == ["loop"] and "plain Python" in profile.how
    assert sum(line.share for line in profile.lines) == pytest.approx(1)
    assert {profile.lines[0].text, profile.lines[1].text} == {
        "item.sum += k * 0.5",
        "for k in range(60):",
    }
    first = loop.__code__.co_firstlineno
    assert profile.lines[0].place in {f"{__file__}:{first + 3}", f"{__file__}:{first + 4}"}


def test_profiles_of_workers_become_one():
    def profile(seconds, edges):
        works = [StageWork("stages", "Exchange(f)", ["f"], "", 8, 2, seconds, edges, 0, 4 * edges)]
        return WorkerProfile(works=works, seconds=2 * seconds, waited=1.0, sent=0.0)

    both = merge_profiles([profile(1.0, 10), profile(3.0, 30)])
    (work,) = both.works
    assert (work.calls, work.seconds, work.edges, work.bytes, work.held) == (4, 2.0, 40, 160, 16)
    assert (both.workers, both.seconds, both.waited) == (2, 4.0, 1.0)
    assert merge_profiles([]) is None
