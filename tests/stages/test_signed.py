"""Differences of unsigned fields are those of Python's numbers, compiled or not, checked or not."""

import numpy as np
import pytest
from support.programs.programs import column, drive, start

from tux import Edge, Program, Vertex, value
from tux.arrays.networks import from_arrays
from tux.stages import Apply
from tux.stages.check.signed import has_unsigned

EDGES = from_arrays([0], [1], ends=("node", "node"))


class UnsignedFields(Program):
    node = Vertex(
        a=value("u1", init=3),
        b=value("u4", init=7),
        w=value("f8", init=1.5),
        big=value("u8", init=3),
        h=value("u2", 2, init=2),
        out=value("f8", 14),
    )
    link = Edge("node", "node")


def difference(a, b):
    return a - b


def work(node):
    out = node.out
    out[0] = -node.a
    out[1] = -int(node.a)
    out[2] = 2.0**-node.a
    out[3] = node.a - node.b
    out[4] = abs(difference(node.a, node.b))
    count = node.a
    for _ in range(2):
        count -= node.b
    out[5] = count
    out[6] = node.a & -node.a
    out[7] = ~node.a
    out[8] = ~node.a & 255
    out[9] = -node.h[0]
    out[10] = node.h[0] - node.b
    out[11] = node.w - 2.5
    out[12] = min(node.a - 4, node.b - 9)
    out[13] = -node.w
    out -= node.w


EXPECTED = [-3, -3, 0.125, -4, 4, -11, 1, -4, 252, -2, -5, -1, -2, -1.5]


@pytest.mark.long(after=2)
@pytest.mark.slow(after=1)
@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize("jit", [True, False])
def test_differences_are_those_of_python(jit, check):
    worker = drive(start(UnsignedFields(), EDGES, jit=jit, check=check), Apply("node", work))
    assert column(worker, "node", "out")[0].tolist() == [x - 1.5 for x in EXPECTED]


def store(node):
    node.a -= 2
    node.b = node.b - 5
    node.big = -node.big


def test_what_fits_is_stored_as_before():
    worker = drive(start(UnsignedFields(), EDGES), Apply("node", store))
    assert column(worker, "node", "a")[0] == 1 and column(worker, "node", "b")[0] == 2
    assert column(worker, "node", "big")[0] == 2**64 - 3  # the largest type, which wraps around


def test_only_kernels_with_small_unsigned_numbers_are_rewritten():
    large = np.zeros(1, "u8"), (np.zeros(2, "i4"), 3)
    assert not has_unsigned(large) and has_unsigned((large, np.zeros(1, "u2")))
