"""`Apply(..., all=True)`: in each block of a mini-batch all vertices of the type; and fields whose
shape is a function of the parameters.
"""

import numpy as np
import pytest
from support.machines.team import train_team
from support.messages import message
from support.programs.programs import both_later, column, complete

from tux import Edge, Program, Vertex, delta, param, shared, value
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Apply, Exchange, MiniBatch

#   item 3 has an edge of one user only
EDGES = from_arrays([0, 0, 1, 2, 2, 3], [1, 2, 1, 2, 3, 1], ends=("user", "item"))
BLOCKS = 4


def gather(user, item, p):
    item.seen[user.kind % p.kinds, 0] += 1


def tick(item, rng):
    item.blocks += 1
    item.drawn += rng.uniform()
    for k in range(item.seen.shape[0]):
        item.sum += item.seen[k, 0]
        item.cleared += item.seen[k, 1]


class Ticks(Program):
    """Counts of the visits of each item, and of the edges that visit it."""

    kinds: int = param(2)
    order: str = param("shuffled")
    user = Vertex(kind=shared("i4", init=3))
    item = Vertex(
        seen=delta("i4", lambda p: (p.kinds, 2)),
        blocks=value("i4"),
        drawn=value("f8"),
        sum=value("i4"),
        cleared=value("i4"),
    )
    link = Edge("user", "item")

    def stages(self):
        batch = [Exchange(gather), Apply("item", tick, all=True), Apply("user")]
        return [MiniBatch(*batch, over="user", vertices=1, order=self.order)]


def check(fields, blocks=BLOCKS):
    assert set(fields("blocks").tolist()) == {blocks}
    assert fields("sum").tolist() == [3, 2, 1] and not fields("cleared").any()


@both_later
def test_each_block_visits_all(jit):
    worker = complete(Ticks(), EDGES, 1, jit=jit)
    check(lambda name: column(worker, "item", name))
    assert worker.tables["item"].arrays["seen"].shape == (3, 2, 2)


@pytest.mark.parametrize(("k", "jit"), [(2, True), (3, False)])
def test_several_workers_visit_the_same(k, jit):
    team = train_team(Ticks(), EDGES, 1, k=k, jit=jit, by="random")
    check(lambda name: team.gather("item", name))
    alone = complete(Ticks(), EDGES, 1, jit=False)
    np.testing.assert_allclose(team.gather("item", "drawn"), column(alone, "item", "drawn"))
    assert team.agrees("item", "sum")


def test_a_vertex_draws_other_numbers_in_each_block():
    worker = complete(Ticks(), EDGES, 1, jit=False)
    drawn = column(worker, "item", "drawn")
    once = start_once()
    assert (np.abs(drawn - BLOCKS * once) > 1e-3).all()


def start_once():
    """Return the numbers that one block draws."""

    class Once(Ticks):
        def stages(self):
            return [MiniBatch(Exchange(gather), Apply("item", tick, all=True), over="user")]

    return column(complete(Once(), EDGES, 1, jit=False), "item", "drawn")


@pytest.mark.parametrize("order", ["rotated", "pipelined"])
def test_workers_on_different_blocks_are_refused(order):
    with pytest.raises(ProgramError, match=message("has-all-true-and-stands")):
        complete(Ticks(order=order), EDGES, 1, jit=False)


def test_without_it_a_block_visits_what_it_touches():
    class TouchedItems(Ticks):
        def stages(self):
            return [MiniBatch(Exchange(gather), Apply("item", tick), over="user", vertices=1)]

    worker = complete(TouchedItems(), EDGES, 1, jit=False)
    assert column(worker, "item", "blocks").tolist() == [3, 2, 1]
