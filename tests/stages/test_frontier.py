"""Exchange on a frontier: only the edges of vertices that are active."""

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both, drive, start

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    MiniBatch,
    Program,
    ProgramError,
    Repeat,
    Vertex,
    data,
    delta,
    master,
    param,
    total,
    value,
)
from tux.arrays.edges import EdgeData

RNG = np.random.default_rng(3)
PAIRS = RNG.integers(0, 12, (2, 40))
EDGES = EdgeData.of(("node", "node"), *PAIRS, {"w": np.arange(40)})
ACTIVE = np.arange(12) % 3 == 0


def choose(node, p):
    node.on = node.id % p.every == 0


def send(src, dst, link):
    dst.got += link.w


def send_all(src, edges):
    for edge in edges:
        edge.dst.got += edge.w


def enter(src):
    src.seen += 1


def leave(src):
    src.seen += 10


def keep(node):
    node.sum = node.got
    node.visits = node.seen


class Sending(Program):
    every: int = param(3, "which vertices are active")
    epochs = 1
    node = Vertex(
        on=value("b1"),
        other=master("b1"),
        got=delta("f8"),
        seen=delta("i4"),
        sum=value("f8"),
        visits=value("i4"),
    )
    link = Edge("node", "node", w=data("f8"))

    def stages(self):
        return [Exchange(send, active="on"), Apply("node", keep)]


def sums(mask, src, dst):
    return np.bincount(dst[mask[src]], np.arange(40.0)[mask[src]], 12)


FORMS = {
    "per edge": (Exchange(send, active="on"), 0),
    "per vertex": (Exchange(send_all, active="on", additive=True), 0),
    "entered": (Exchange(send, active="on", enter=enter, leave=leave), 11),
}


@pytest.mark.parametrize("form", FORMS)
@both
def test_only_edges_of_active_vertices_are_visited(jit, form):
    exchange, visits = FORMS[form]
    worker = start(Sending(), EDGES, jit=jit)
    drive(worker, Apply("node", choose), exchange, Apply("node", keep))
    order = worker.graph.vertices["node"].row_of
    arrays = worker.tables["node"].arrays
    np.testing.assert_array_equal(arrays["sum"][order], sums(ACTIVE, *PAIRS))
    np.testing.assert_array_equal(arrays["visits"][order], visits * ACTIVE)
    assert worker.edges_visited == np.isin(PAIRS[0], np.flatnonzero(ACTIVE)).sum()


@both
def test_the_other_end_and_an_empty_frontier(jit):
    worker = start(Sending(every=1), EDGES, jit=jit)
    back = Exchange(send_back, over="dst", active="on")
    drive(worker, back, Apply("node", choose), back, Apply("node", keep))
    order = worker.graph.vertices["node"].row_of
    expected = np.bincount(PAIRS[0], np.arange(40.0), 12)
    np.testing.assert_array_equal(worker.tables["node"].arrays["sum"][order], expected)
    assert worker.edges_visited == 40


def send_back(src, dst, link):
    src.got += link.w


class Spreading(Program):
    """Hops from vertex 0, by a frontier, with slack too."""

    epochs = 1
    node = Vertex(hops=value("i4", init=-1), new=value("b1"), reached=delta("b1", combine="max"))
    link = Edge("node", "node")
    tau = Context(found=total(), left=value("f8"), step=value("i4"))

    def setup(self):
        return [Apply("node", place_first)]

    def stages(self):
        spread = Exchange(reach, active="new"), Apply("node", take), GlobalSync(count)
        return [Repeat(*spread, until=is_still)]


def place_first(node):
    if node.id == 0:
        node.hops, node.new = 0, True


def reach(src, dst):
    dst.reached = True


def take(node, tau):
    node.new = node.reached and node.hops < 0
    if node.new:
        node.hops = tau.step + 1
        tau.found += 1


def count(tau):
    tau.left, tau.step = tau.found, tau.step + 1


def is_still(tau):
    return tau.left == 0


@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 0), (2, 2), (3, 4)])
def test_no_flag_is_missed_on_several_workers(k, slack):
    ring = EdgeData.of(("node", "node"), range(30), [*range(1, 30), 0], {})
    team = train_team(Spreading(), ring, 1, k=k, slack=slack)
    assert team.gather("node", "hops").tolist() == list(range(30))


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Exchange(send, active="off"), "has-no-value-of-dtype"),
        (lambda: Exchange(send, active="got"), "has-no-value-of-dtype"),
        (lambda: Exchange(send, active="other"), "has-no-value-of-dtype"),
        (lambda: Exchange(send, active="on", held_out=True), "has-active"),
        (lambda: Exchange(send_all, active="on", shares=4), "has-active"),
        (lambda: Exchange(send, active=True), "has-active"),
        (lambda: MiniBatch(Exchange(send, active="on"), blocks=2), "stands-in-a-minibatch"),
    ],
)
def test_what_has_no_frontier(make, code):
    with pytest.raises(ProgramError, match=message(code)):
        start(Sending(), EDGES).prepare([make()])


def test_threads_share_a_frontier_only_if_nothing_else_changes():
    program = Sending()
    plan = Exchange(send, active="on").plan(program, "src")
    assert not plan.threads and "dst.got, which other srcs may change too" in plan.why
    assert "leave out `active`" in plan.do
    assert not Exchange(send_all, active="on", additive=True).plan(program, "src").threads
    assert Exchange(send_back, active="on").plan(program, "src").threads


def test_all_threads_do_what_one_does(all_threads):
    pairs = RNG.integers(0, 500, (2, 80_000))
    edges = EdgeData.of(("node", "node"), *pairs, {"w": np.arange(80_000)})
    found = []
    for threads in (1, 4):
        worker = start(Sending(), edges, threads=threads)
        drive(worker, Apply("node", choose), Exchange(send_back, active="on"), Apply("node", keep))
        found.append(worker.tables["node"].arrays["sum"].copy())
    assert np.array_equal(*found) and found[0].any()
    assert all_threads.count(4) >= 1
