"""Fused mini-batches: one compiled loop over blocks does what block after block does, to the
bit, and is taken only where that holds.
"""

import numpy as np
import pytest
from support.machines.team import Team
from support.programs.programs import both, random_pairs, start

from tux import (
    Context,
    Edge,
    Program,
    Vertex,
    data,
    delta,
    master,
    mirror,
    param,
    shared,
    total,
    value,
)
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.engine.training import Training
from tux.program.stage import Cluster
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch, minibatch
from tux.stages.analysis.schedules import serial_reasons
from tux.stages.blocks import fused
from tux.stages.minibatch import BatchBlocks

LEFT, RIGHT = random_pairs(30, 12, 150, seed=4)
EDGES = from_arrays(
    LEFT, RIGHT, ends=("row", "column"), x=np.random.default_rng(1).normal(size=150).astype("f4")
)


def gather(column, edges, rng):
    """Add x (x + state of the row) to g, and take the least x. A stream of random numbers stands
    for what an algorithm may draw.
    """
    for edge in edges:
        column.g += edge.x * (edge.x + edge.row.state)
        column.least = min(column.least, edge.x)
    column.luck = rng.uniform()


def step(column, tau, p, rng):
    column.w -= p.rate * column.g + 0.01 * column.least
    column.steps += 1
    column.draw = rng.uniform()
    tau.steps += 1


def scatter(column, edges):
    for edge in edges:
        edge.row.state += edge.x * (column.w - column.last)
    column.last = column.w


def look(column):
    column.seen += 1


class FusedSteps(Program):
    rate: float = param(0.05)
    size: int = param(1)
    row = Vertex(whole=True, state=mirror("f8"))
    column = Vertex(
        w=value("f8"),
        g=delta("f8"),
        least=delta("f4", combine="min"),
        steps=master("i4"),
        last=mirror("f8"),
        draw=master("f8"),
        luck=mirror("f8"),
        seen=mirror("i4"),
    )
    entry = Edge("row", "column", x=data("f4"))
    tau = Context(steps=total(), all=value("f8"))

    def stages(self):
        parts = [
            Exchange(gather, additive=True),
            Apply("column", step),
            Exchange(scatter, additive=True),
            ForEach("column", look),
        ]
        return [
            MiniBatch(*parts, vertices=self.size),
            GlobalSync(lambda tau: setattr(tau, "all", tau.all + tau.steps)),
        ]


def state(program, jit=True, epochs=3):
    training = Training(start(program, EDGES, jit=jit))
    records = list(training.epochs(epochs))
    tables = training.worker.tables.values()
    return (
        training.worker,
        {(t.name, f): a.copy() for t in tables for f, a in t.arrays.items()},
        [r["clock"] for r in records],
    )


@pytest.mark.long
@both
@pytest.mark.parametrize("size", [1, 5])
def test_fused_is_block_after_block(monkeypatch, jit, size):
    worker, fused, clocks = state(FusedSteps(size=size), jit)
    assert worker.edges_visited == 3 * 2 * 150 and worker.kernels == 4
    monkeypatch.setattr(minibatch, "can_be_fused", lambda *_: False)
    _, apart, others = state(FusedSteps(size=size), jit)
    assert clocks == others
    assert fused.keys() == apart.keys()
    for name, array in apart.items():
        assert np.array_equal(fused[name], array), name
    assert fused["column", "steps"].tolist() == [3] * 12 == fused["column", "seen"].tolist()
    assert not fused["column", "g"].any() and np.isinf(fused["column", "least"]).all()


@pytest.mark.long
def test_small_blocks_differ_from_one_large_one():
    _, small, _ = state(FusedSteps(size=1))
    _, large, clocks = state(FusedSteps(size=0))
    assert clocks == [2, 4, 6]
    assert not np.allclose(small["column", "w"], large["column", "w"])


@pytest.mark.slow
def test_fused_starts_from_what_other_stages_left():
    team = Team(FusedSteps(size=4), EDGES, k=2, by="bicut", jit=True).train(3)
    _, alone, _ = state(FusedSteps(size=4))
    order = start(FusedSteps(size=4), EDGES).graph.vertices["column"].row_of
    assert np.allclose(team.gather("column", "w"), alone["column", "w"][order])


def offer(row, edges):
    for edge in edges:
        edge.column.g += edge.x + edge.column.w
        edge.column.least = min(edge.column.least, edge.x)


def take(column, tau, p):
    column.w -= p.rate * column.g + 0.01 * column.least
    column.steps += 1
    tau.steps += 1


def take_at_random(column, tau, p, rng):
    take(column, tau, p)
    column.draw = rng.uniform()


class Touching(FusedSteps):
    """Rows in mini-batches change the columns that they have entries of."""

    drawn = param(False)

    def stages(self):
        take_one = take_at_random if self.drawn else take
        parts = Exchange(offer, over="row"), Apply("column", take_one), Exchange(offer, over="row")
        batch = MiniBatch(*parts, Apply("column", take_one), vertices=self.size, order="fixed")
        return [batch, *super().stages()[1:]]


@pytest.mark.slow
@both
@pytest.mark.parametrize("size", [1, 7])
def test_an_apply_on_the_other_end_visits_what_the_block_touches(monkeypatch, jit, size):
    worker, together, clocks = state(Touching(size=size), jit)
    assert worker.kernels == 4
    monkeypatch.setattr(minibatch, "can_be_fused", lambda *_: False)
    _, apart, others = state(Touching(size=size), jit)
    assert clocks == others
    for name, array in apart.items():
        assert np.array_equal(together[name], array), name
    blocks = {(row // size, column) for row, column in zip(order_of_rows(), EDGES.dst, strict=True)}
    assert together["column", "steps"].sum() == 3 * 2 * len(blocks)
    assert not together["column", "g"].any() and np.isinf(together["column", "least"]).all()


def order_of_rows():
    """Return the position of the row of each edge in the order that blocks are cut from."""
    return start(Touching(), EDGES).graph.vertices["row"].row_of[EDGES.src]


@pytest.mark.slow
def test_larger_blocks_and_random_numbers_go_block_by_block(monkeypatch):
    _, drawn, _ = state(Touching(drawn=True, size=7))
    _, plain, _ = state(Touching(size=7))
    assert np.array_equal(drawn["column", "w"], plain["column", "w"])
    assert len(set(drawn["column", "draw"].tolist())) == 12
    batch, worker = Touching(size=7).stages()[0], start(Touching(size=7), EDGES)
    assert not isinstance(batch.prepare(worker), BatchBlocks)
    monkeypatch.setattr(fused, "MAX_FUSED_EDGES", 10)
    assert isinstance(batch.prepare(worker), BatchBlocks)


class Resting(FusedSteps):
    """Steps of columns that are awake: each rests after some steps."""

    column = Vertex(awake=value("b1", init=True), **FusedSteps.vertices["column"].fields)

    def stages(self):
        parts = Exchange(gather_awake, additive=True), Apply("column", step_awake)
        return [MiniBatch(*parts, vertices=self.size, awake="awake"), *super().stages()[1:]]


def gather_awake(column, edges):
    if column.awake:
        for edge in edges:
            column.g += edge.x
            column.least = min(column.least, edge.x)


def step_awake(column, tau, p):
    if column.awake:
        column.w -= p.rate * column.g + 0.01 * column.least
        column.steps += 1
        column.awake = column.steps < 3 and column.g > 0


@pytest.mark.long
@both
@pytest.mark.parametrize("size", [1, 5])
def test_blocks_without_vertices_that_are_awake_are_left_out(monkeypatch, jit, size):
    _, fused, clocks = state(Resting(size=size), jit, epochs=4)
    monkeypatch.setattr(minibatch, "can_be_fused", lambda *_: False)
    _, apart, others = state(Resting(size=size), jit, epochs=4)
    assert clocks == others
    for name, array in apart.items():
        assert np.array_equal(fused[name], array), name
    assert set(fused["column", "steps"].tolist()) == {1, 3} and not fused["column", "awake"].any()


def test_a_block_that_is_left_out_is_not_visited():
    """Steps that do not look at the field show which vertices they visit."""

    class Asleep(Resting):
        column = Vertex(awake=value("b1"), **FusedSteps.vertices["column"].fields)

        def stages(self):
            batch, *after = FusedSteps.stages(self)
            return [MiniBatch(*batch.inside, vertices=1, awake="awake"), *after]

    _, fused, _ = state(Asleep(), jit=False)
    assert not fused["column", "steps"].any() and not fused["column", "seen"].any()


def test_an_apply_on_the_other_end_leaves_no_block_out():
    """Rows are asleep; columns that they touch are visited, as several workers visit them."""

    class Asleep(Touching):
        row = Vertex(whole=True, awake=value("b1"), **Touching.vertices["row"].fields)

        def stages(self):
            batch, *after = super().stages()
            return [MiniBatch(*batch.inside, vertices=1, order="fixed", awake="awake"), *after]

    _, plain, _ = state(Touching(size=1), jit=False)
    _, asleep, _ = state(Asleep(size=1), jit=False)
    assert np.array_equal(asleep["column", "steps"], plain["column", "steps"])


def test_what_is_said_of_threads_depends_on_the_size_of_blocks():
    said = "blocks run one after the other"
    for program, limit in (
        (FusedSteps(), ""),
        (Touching(), ", if they have at most 1,000,000 edges"),
    ):
        (line,) = [
            each for each in serial_reasons(program, Cluster()) if each.startswith("MiniBatch")
        ]
        assert line.endswith(f"runs on one thread: {said}{limit}")


@pytest.mark.parametrize("name", ["w", "nothing"])
def test_awake_names_a_field_that_is_true_or_false(name):
    class Wrong(FusedSteps):
        def stages(self):
            return [MiniBatch(*super().stages()[0].inside, vertices=1, awake=name)]

    program = Wrong()
    with pytest.raises(ProgramError, match=f"awake='{name}' is no field of column with dtype b1"):
        start(program, EDGES).prepare(program.stages())


class SharedSteps(FusedSteps):
    """Steps on a field that both ends share, along tiles: not fused."""

    row = Vertex(state=shared("f8"))

    def stages(self):
        return [
            MiniBatch(Exchange(touch, over="column"), Apply("column", step), vertices=1),
            GlobalSync(lambda tau: None),
        ]


def touch(row, column, entry):
    row.state += entry.x
    column.g += entry.x
    column.least = min(column.least, entry.x)


def test_tiles_are_not_fused():
    program = SharedSteps()
    worker = start(program, EDGES)
    stages = worker.prepare(program.stages())
    assert isinstance(stages[0], BatchBlocks)
    worker.run(stages)
    assert worker.clock == 12 + 1
