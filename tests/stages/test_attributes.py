"""Which fields a kernel is given: what its UDFs can reach, and all where that is not known."""

import math
import operator

import numba
import numpy as np
import pytest
from programs import both, drive, start

from tux import Context, Edge, Program, Vertex, data, shared, total
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange
from tux.stages.attributes import attributes
from tux.stages.scope import Scope

SCALE = (2.0, 3)
EDGES = from_arrays(
    ["a", "b"], ["c", "c"], ends=("user", "item"), value=np.float32([1, 2]), time=np.zeros(2)
)


def inner(row):
    return row.deep + math.sqrt(row.root)


compiled = numba.njit(inner)


def calls(user, item):
    user.x = inner(item) * SCALE[0] + np.exp(item.y)


def calls_compiled(user, item):
    user.x += compiled(item)


def touch(user):
    user.y = 1


def by_text(user):
    return getattr(user, "named")  # noqa: B009


def closing(function):
    def udf(user):
        user.z = function(user)

    return udf


def nested(user):
    def within(row):
        return row.far

    user.x = within(user)


def test_names_are_found_through_all_that_is_called():
    assert attributes(calls) >= {"x", "y", "deep", "root"}
    assert attributes(calls_compiled) >= {"x", "deep", "root"}
    assert attributes(closing(inner)) >= {"z", "deep", "root"}
    assert attributes(closing((abs, inner))) >= {"z", "deep"}
    assert attributes(nested) >= {"x", "far"}
    assert "named" in attributes(by_text)


def test_a_function_that_calls_itself_is_walked_once():
    def again(row):
        return again(row) + row.x

    assert "x" in attributes(again)


def test_nothing_is_said_of_what_has_no_code():
    assert attributes(closing(operator.attrgetter("x"))) is None
    assert attributes(closing(closing(operator.attrgetter("x")))) is None


class Wide(Program):
    """Fields of which a UDF uses few."""

    user = Vertex(x=shared(), y=shared(), z=shared())
    item = Vertex(deep=shared(), root=shared(), y=shared(), unused=shared(5))
    rating = Edge("user", "item", value=data(), time=data("f8"))
    tau = Context(n=total("i8"), m=total("i8"))


def few(user, item, tau):
    user.x = inner(item)
    tau.n += 1


def test_a_kernel_is_given_what_its_udfs_use():
    worker = start(Wide(), EDGES)
    scope = Scope(worker, "exchange", "test")
    rows = {
        name: lambda name=name: scope.row(worker.tables[name], "0") for name in ("user", "item")
    }
    scope.call(few, rows, lambda: "0, 0")
    counts = {name: len(arrays) for name, arrays in scope.arguments.items()}
    assert counts == {"user_arrays": 1, "item_arrays": 2, "tau_arrays": 1}
    scope.call(touch, rows, lambda: "0, 0")  # a second UDF of the same kernel adds what it uses
    counts = {name: len(arrays) for name, arrays in scope.arguments.items()}
    assert counts == {"user_arrays": 2, "item_arrays": 2, "tau_arrays": 1}


@both
def test_fields_that_are_not_passed_stay_as_they_are(jit):
    worker = drive(start(Wide(), EDGES, jit=jit), Exchange(few))
    assert worker.tau.n == len(EDGES)
    assert worker.tau.m == 0
    assert not worker.tables["item"].arrays["unused"].any()


def misspelt(user):
    user.x = user.why


@both
def test_an_unknown_field_is_told_with_all_that_there_are(jit):
    with pytest.raises((ProgramError, AttributeError), match=r"fields: x, y, z\)"):
        drive(start(Wide(), EDGES, jit=jit), Exchange(misspelt))
