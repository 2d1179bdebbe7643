"""Deltas of vertices that a function of the user combines: the same results on one worker and on
several, and what is refused.
"""

import random

import numpy as np
import pytest
from support.machines.team import train_team
from support.programs.programs import both_later, column, complete, start
from support.programs.redistributing import move_trainings, of_vertices, train, trainings_of

from tux import Apply, Edge, Exchange, MiniBatch, Program, ProgramError, Vertex, delta, value
from tux.arrays.edges import EdgeData
from tux.inputs.load import Inputs

PAIRS = np.random.default_rng(2).integers(0, 30, (2, 300))
EDGES = EdgeData.of(("node", "node"), *PAIRS, {})
MOST = 3


def keep_largest(mine, others):
    """Keep the largest of both, the largest first, each once."""
    for x in others:
        for k in range(len(mine)):
            if x == mine[k]:
                break
            if x > mine[k]:
                x, mine[k] = mine[k], x


def add_exponents(a, b):
    """Return log(exp(a) + exp(b))."""
    most = max(a, b)
    return most if most == -np.inf else most + np.log(np.exp(a - most) + np.exp(b - most))


def offer(src, dst):
    x = src.id
    for k in range(len(dst.top)):
        if x == dst.top[k]:
            break
        if x > dst.top[k]:
            x, dst.top[k] = dst.top[k], x
    dst.lse = add_exponents(dst.lse, -0.1 * src.id)


def keep(node):
    keep_largest(node.best, node.top)
    node.sum = add_exponents(node.sum, node.lse)


class LargestNeighbours(Program):
    """The numbers of the three largest neighbours of each node, and a sum of exponents."""

    node = Vertex(
        top=delta("i4", MOST, combine=keep_largest, init=-1),
        lse=delta("f8", combine=add_exponents, init=-np.inf),
        best=value("i4", MOST, init=-1),
        sum=value("f8", init=-np.inf, finite=False),
    )
    link = Edge("node", "node")

    def stages(self):
        return [Exchange(offer), Apply("node", keep)]


class NeighboursInBlocks(LargestNeighbours):
    """Takes the edges of a few nodes at a time."""

    def stages(self):
        return [MiniBatch(*super().stages(), over="dst", vertices=7)]


class NeighboursOfActive(LargestNeighbours):
    """Visits the edges of all nodes one by one, as their field says."""

    node = Vertex(**LargestNeighbours.node.fields, active=value("b1", init=1))

    def stages(self):
        return [Exchange(offer, over="src", active="active"), Apply("node", keep)]


def check(best, sums, epochs):
    """Check the results of so many epochs, in the order of the nodes' numbers."""
    for node in range(30):
        near = EDGES.src[EDGES.dst == node]
        largest = np.unique(near)[::-1][:MOST]
        assert best[node].tolist() == [*largest, *[-1] * (MOST - len(largest))]
        total = epochs * np.exp(-0.1 * near).sum()
        assert np.exp(sums[node]) == pytest.approx(total, rel=1e-12)


@both_later
@pytest.mark.parametrize("make", [LargestNeighbours, NeighboursInBlocks])
def test_on_one_worker(make, jit):
    worker = complete(make(), EDGES, 2, jit=jit, threads=2)
    check(column(worker, "node", "best"), column(worker, "node", "sum"), 2)
    rows = worker.tables["node"].arrays
    assert (rows["top"] == -1).all() and (rows["lse"] == -np.inf).all()  # cleared


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (LargestNeighbours, {"k": 2, "by": "random"}),
        (LargestNeighbours, {"k": 3, "by": "ne", "jit": False, "check": True}),
        (NeighboursInBlocks, {"k": 2, "by": "random", "slack": 2, "jit": False}),
        (NeighboursOfActive, {"k": 2, "by": "random", "jit": False}),
        pytest.param(
            LargestNeighbours, {"k": 3, "by": "random", "check": True}, marks=pytest.mark.slow
        ),
        pytest.param(
            NeighboursInBlocks,
            {"k": 3, "by": "ne", "slack": 2, "delivery": 4, "threads": 2},
            marks=pytest.mark.slow,
        ),
    ],
)
def test_on_several_workers(make, options):
    team = train_team(make(), EDGES, 2, **options)
    check(team.gather("node", "best"), team.gather("node", "sum"), 2)


class NeighboursOfLastEpoch(LargestNeighbours):
    """Gathers what the next epoch takes."""

    by = "random"

    def stages(self):
        return [Apply("node", keep), Exchange(offer)]


@pytest.mark.parametrize(("k", "n"), [(1, 2), (2, 1), (2, 3)])
def test_what_was_not_taken_yet_moves_to_another_number_of_workers(k, n):
    program, inputs = NeighboursOfLastEpoch(), Inputs(EDGES, None)
    trainings, cluster = trainings_of(program, inputs, k)
    train(trainings, cluster, 2)
    others, cluster = move_trainings(program, inputs, trainings, n)
    train(others, cluster, 3)
    workers, fields = [each.worker for each in others], program.vertices["node"].fields
    best, sums = (of_vertices(workers, "node", name, fields[name]) for name in ("best", "sum"))
    check({node: np.array(numbers) for node, numbers in best.items()}, sums, 2)


def merge_moments(mine, others):
    """Combine counts, means and sums of squared distances from the mean."""
    n = mine[0] + others[0]
    if others[0] > 0:
        away = others[1] - mine[1]
        mine[2] += others[2] + away * away * mine[0] * others[0] / n
        mine[1] += away * others[0] / n
        mine[0] = n


def fade(a, b):
    """Return a number that depends on how it is rounded on the way."""
    return 0.1 * a + b / 3 + 0.3 * a * b


class ManyNumbers(Program):
    node = Vertex(
        moments=delta("f8", 3, combine=merge_moments, init=0), x=delta(combine=fade, init=0)
    )
    link = Edge("node", "node")


def test_compiled_code_and_python_make_the_same_bits():
    rng, rows = np.random.default_rng(1), np.arange(20, dtype=np.int32)
    drawn = {"moments": rng.uniform(1, 9, (2, 20, 3)), "x": rng.random((2, 20), "f4")}
    found = []
    for jit in (True, False):
        worker = start(ManyNumbers(), EDGES, jit=jit)
        worker.prepare([Apply("node", ignore)])
        table = worker.tables["node"]
        for name, (held, given) in drawn.items():
            table.arrays[name][:20] = held
            table.combine_rows(name, table.arrays[name], rows, given)
            found.append(table.arrays[name].tobytes())
    assert found[:2] == found[2:]


def test_threads_take_turns():
    plan = Exchange(offer).plan(LargestNeighbours(), "src")
    assert str(plan) == "tiles, tickets of columns"
    with pytest.raises(ProgramError, match="racing=True.*dst.top, which `keep_largest` combines"):
        Exchange(offer, racing=True).plan(LargestNeighbours(), "src")


def returns_nothing(a, b):
    pass


def returns_an_array(mine, others):
    return np.maximum(mine, others)


def draws(a, b):
    return a if random.random() < 0.5 else b


def add(a, b):
    return a + b


def divides(mine, others):
    mine[0] /= others[0]


def cannot_be_compiled(a, b):
    return a.missing


def touch(src, dst):
    dst.d += 1


def touch_array(src, dst):
    dst.d[0] += 1


def ignore(node):
    pass


@pytest.mark.parametrize(
    ("field", "what"),
    [
        (delta(combine=returns_nothing, init=0), "`returns_nothing` combines two numbers, and"),
        (delta(3, combine=returns_an_array, init=0), "combines two arrays, and returns something"),
        (delta(combine=draws, init=0), "`draws` uses random.random"),
        (delta(combine=add, init=1), "`add` makes 2.0 of two values that are init=1"),
        (delta(3, combine=divides, init=0), "`divides` makes [nan, 0.0, 0.0] of two values"),
        (delta(combine=cannot_be_compiled, init=0), "UDF cannot_be_compiled cannot be compiled"),
    ],
)
def test_wrong_functions(field, what):
    class Wrong(Program):
        node = Vertex(d=field)
        link = Edge("node", "node")

        def stages(self):
            return [Exchange(touch_array if field.shape else touch), Apply("node", ignore)]

    with pytest.raises(ProgramError) as error:
        start(Wrong(), EDGES).prepare(Wrong().stages()[1:])
    assert what in error.value.what and "test_combined_deltas.py" in error.value.where


def visit(dst, edges):
    for e in edges:
        dst.d = max(dst.d, e.src.id)


def test_one_loop_of_several_stages_refuses_them_too():
    class Whole(Program):
        node = Vertex(d=delta(combine=add, init=1))
        link = Edge("node", "node", whole="dst")

        def stages(self):
            return [MiniBatch(Exchange(visit), Apply("node", ignore), over="dst", vertices=7)]

    [batch] = Whole().stages()
    assert batch.is_fused(Whole(), 1)
    with pytest.raises(ProgramError, match="`add` makes"):
        start(Whole(), EDGES).prepare([batch])
