"""Stores to rows that numba's removal of dead code does not know to be seen by others."""

import numpy as np
import pytest
from support.programs.programs import start

from tux import Edge, Program, Vertex, mirror, value
from tux.arrays.networks import from_arrays
from tux.stages import Exchange


class Slots(Program):
    one = Vertex(x=value("f8"))
    other = Vertex(y=value("f8"))
    link = Edge("one", "other", z=mirror("f8", 3))


def with_random_numbers(one, edges, rng):
    for edge in edges:
        for k in range(3):
            edge.z[k] = rng.uniform()


def behind_a_comprehension(one, edges):
    n = len([k for k in range(3)])
    for edge in edges:
        for k in range(n):
            edge.z[k] = k


def behind_a_function(one, edges):
    def square(k):
        return k * k

    for edge in edges:
        for k in range(3):
            edge.z[k] = square(k)


def behind_a_truth_value(one, edges):
    for edge in edges:
        for k in range(3):
            edge.z[k] = 1.0 if bool(k) else 4.0


def in_place(one, edges):
    n = len([k for k in range(3)])
    for edge in edges:
        z = edge.z
        z += n


STORES = with_random_numbers, behind_a_comprehension, behind_a_function, behind_a_truth_value
STORES += (in_place,)


@pytest.mark.slow(after=3)
@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("store", STORES)
def test_stores_to_edges_of_a_loop_are_kept(store, check):
    found = []
    for options in ({"check": check}, {"jit": False}):
        edges = from_arrays([0, 1, 1], [0, 0, 1], ends=("one", "other"))
        worker = start(Slots(), edges, **options)
        worker.run(worker.prepare([Exchange(store, over="one")]))
        found.append(worker.graph.edges.fields["z"])
    np.testing.assert_array_equal(found[0], found[1])
    assert found[0].any(axis=1).all()
