"""Exchange: random numbers and the random order of tiles."""

import numpy as np
import pytest
from support.programs.programs import Calling, by_edge, drive, random_pairs, start

from tux import Edge, Program, Vertex, data, mirror
from tux.arrays.networks import from_arrays
from tux.program.stage import Stage
from tux.stages import Exchange, MiniBatch


class DrawingShop(Program):
    """Edges that keep what is drawn."""

    user = Vertex()
    item = Vertex()
    rating = Edge("user", "item", value=data(), draw=mirror("f8"))


def nothing(user):
    pass


def draw(rating, rng):
    rating.draw = rng.uniform() + rng.below(3)


LEFT, RIGHT = random_pairs(30, 20, 150)
VALUES = np.arange(150, dtype=np.float32)
MANY = from_arrays(LEFT, RIGHT, ends=("user", "item"), value=VALUES)
TURNED = from_arrays(LEFT[::-1], RIGHT[::-1], ends=("user", "item"), value=VALUES[::-1])


def drawn_by_edge(make=lambda: Exchange(draw), edges=MANY, epoch=0, **options):
    worker = start(DrawingShop(), edges, **options)
    worker.epoch = epoch
    return by_edge(drive(worker, make()), "draw")


@pytest.mark.slow
def test_random_numbers_depend_on_the_edges_ends_alone():
    numbers = drawn_by_edge()
    assert len(set(numbers.values())) == 150
    assert drawn_by_edge(edges=TURNED) == numbers
    assert drawn_by_edge(lambda: Exchange(draw, enter=nothing)) == numbers
    assert drawn_by_edge(lambda: MiniBatch(Exchange(draw), edges=20)) == numbers
    assert drawn_by_edge(jit=False) == numbers


def test_random_numbers_change_with_epoch_seed_and_stage():
    class Twice(Stage):
        """Two stages of one UDF; what the second has drawn."""

        def prepare(self, worker, batch=None):
            steps = worker.prepare([Exchange(draw), Exchange(draw)])
            return Calling(worker, lambda worker, block: worker.run(steps))

    runs = [drawn_by_edge(), drawn_by_edge(epoch=1), drawn_by_edge(seed=1), drawn_by_edge(Twice)]
    for i, one in enumerate(runs):
        for other in runs[:i]:
            assert not set(one.values()) & set(other.values())


def test_tiles_come_in_another_order_each_epoch_but_the_same_edges():
    orders = []

    def note(rating):
        orders[-1].append(rating.value)

    worker = start(DrawingShop(), MANY, jit=False)
    step = Exchange(note).prepare(worker)
    for epoch in (0, 1, 0):
        worker.epoch = epoch
        orders.append([])
        step.run()
    assert (
        orders[0] == orders[2] != orders[1]
        and sorted(orders[0]) == sorted(orders[1]) == VALUES.tolist()
    )
