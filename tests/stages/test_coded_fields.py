"""Kernels read fields of edges that are coded, equal, or neither: the same numbers."""

import numpy as np
import pytest
from support.programs.programs import both, column, drive, random_pairs, start

from tux import Edge, Program, Vertex, data, shared
from tux.arrays.byte_codes import ByteCodes
from tux.arrays.networks import from_arrays
from tux.stages import Exchange

LEFT, RIGHT = random_pairs(40, 30, 600, seed=2)
WEIGHTS = {
    "equal": np.full(600, 1.5, "f4"),
    "few": (np.arange(600) % 5).astype("f4"),
    "many": np.arange(600, dtype="f4"),
}


class WeightedShop(Program):
    """Weights that are added up at either end."""

    user = Vertex(sum=shared("f8"))
    item = Vertex(sum=shared("f8"))
    link = Edge("user", "item", weight=data("f4"))


def add(user, item, link):
    user.sum += link.weight
    item.sum += 2 * link.weight


def gather(item, edges):
    for edge in edges:
        item.sum += edge.weight
        edge.user.sum += 2 * edge.weight


def sums(ends, weights):
    return np.bincount(np.unique(ends, return_inverse=True)[1], weights)


@both
@pytest.mark.parametrize("kind", WEIGHTS)
def test_sums_of_weights(jit, kind):
    weights = WEIGHTS[kind]
    edges = from_arrays(LEFT, RIGHT, ends=("user", "item"), weight=weights)
    stages = Exchange(add), Exchange(gather, over="item"), Exchange(add, over="item")
    worker = drive(start(WeightedShop(), edges, jit=jit), *stages)
    held = worker.graph.edges.fields["weight"]
    assert isinstance(held, ByteCodes) == (kind != "many")
    order = (
        np.argsort(worker.graph.vertices["user"].ids.values),
        np.argsort(worker.graph.vertices["item"].ids.values),
    )
    assert column(worker, "user", "sum")[order[0]].tolist() == (4 * sums(LEFT, weights)).tolist()
    assert column(worker, "item", "sum")[order[1]].tolist() == (5 * sums(RIGHT, weights)).tolist()
