"""--check: a number that a field of whole numbers cannot hold is told where it is stored."""

import inspect

import numpy as np
import pytest

from tux import Edge, Program, Vertex, data, mirror
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.engine.worker import Worker
from tux.graph.local import LocalGraph
from tux.stages import Exchange

EDGES = from_arrays([0, 0, 1], [0, 1, 1], ends=("user", "item"), value=np.float32([1, 2.5, 4]))


class StoredFields(Program):
    item = Vertex(n=mirror("i4"), small=mirror("i1", 2), wide=mirror("i8"), real=mirror("f4"))
    user = Vertex(list=mirror("u4", "edges"), on=mirror("b1"))
    rating = Edge("user", "item", value=data("f4"))


def walk(udf, jit):
    """Pass once over the edges, checked. Return the worker."""
    worker = Worker(
        StoredFields(),
        LocalGraph.whole(StoredFields(), EDGES, None, seed=0),
        seed=0,
        jit=jit,
        check=True,
    )
    worker.run(worker.prepare([Exchange(udf)]))
    return worker


def half(item, rating):
    item.n = rating.value


def add_rating(item, rating):
    item.n += rating.value


def large(item, rating):
    item.small[1] = 100 * rating.value


def below(user):
    user.list[0] = user.list[0] - 1


def fits(user, item, rating):
    item.n = int(rating.value) + 2.0
    item.small[0] = -128
    item.small[1] = 127
    item.wide = (item.wide + 7) * 6364136223846793005
    item.real = 2.5
    user.on = rating.value > 2


BAD = [
    (half, r"2.5 is stored in `item.n`, which holds whole numbers"),
    (add_rating, r"[0-9].5 is stored in `item.n`, which holds whole numbers"),
    (large, r"(250|400) is stored in `item.small\[1\]`, which holds -128 to 127"),
]


@pytest.mark.long
@pytest.mark.parametrize("jit", [True, False], ids=["jit", "plain"])
@pytest.mark.parametrize(("udf", "message"), BAD, ids=[udf.__name__ for udf, _ in BAD])
def test_what_a_field_cannot_hold_is_told(udf, message, jit):
    with pytest.raises(ProgramError, match=message) as error:
        walk(udf, jit)
    line = inspect.getsourcelines(udf)[1] + 1
    assert error.value.where == f"{__file__}:{line}" and "declare the field" in error.value.do


def test_numbers_below_zero_do_not_fit_unsigned_fields():
    with pytest.raises(
        ProgramError, match="-1 is stored in .*, which holds 0 to 4,294,967,295"
    ) as e:
        walk(below, jit=True)
    assert "signed" in e.value.do


def arrays(item, rating):
    part = item.small
    part += np.ones(2, np.int8)
    part[0:1] += part[1:2]
    item.small[:] += np.ones(1, np.int8)
    np.add(part, np.ones(2, np.int8), part)
    n = 0
    n += 1
    item.wide = part[np.array([0, -1])].sum() + n
    item.real = np.ones(2)[np.array([True, False])].sum()


@pytest.mark.slow
@pytest.mark.parametrize("jit", [True, False], ids=["jit", "plain"])
def test_arrays_that_go_together_are_changed(jit):
    items = walk(arrays, jit).tables["item"].arrays
    assert (items["wide"] == items["small"].sum(axis=1) + 1).all() and (items["real"] == 1).all()


def add_three(item):
    np.add(item.small, np.ones(3, np.int8), item.small)


def test_a_result_that_a_function_of_numpy_cannot_write_is_told():
    with pytest.raises(ProgramError, match="`item.small` is changed by an array of another shape"):
        walk(add_three, jit=False)


@pytest.mark.slow
def test_what_a_field_can_hold_is_stored():
    items = walk(fits, jit=True).tables["item"].arrays
    assert (items["small"] == [-128, 127]).all() and set(items["n"]) <= {3, 4, 6}
