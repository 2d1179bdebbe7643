"""The fields that a kernel is given: those that its UDFs can reach, and all where that is not
known.
"""

import math
import operator
import types

import numba
import numpy as np
import pytest
from support.programs.programs import both, both_later, drive, start

from tux import Context, Edge, Program, Vertex, data, shared, total
from tux.arrays.networks import from_arrays
from tux.base.errors import ProgramError
from tux.stages import Exchange
from tux.stages.analysis.attributes import attributes
from tux.stages.kernel.scope import Scope

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


def closing(function):
    def udf(user):
        user.z = function(user)

    return udf


def read_far(user):
    def within(row):
        return row.far

    user.x = within(user)


def test_names_are_found_through_all_that_is_called():
    assert attributes(calls) >= {"x", "y", "deep", "root"}
    assert attributes(calls_compiled) >= {"x", "deep", "root"}
    assert attributes(closing(inner)) >= {"z", "deep", "root"}
    assert attributes(closing((abs, inner))) >= {"z", "deep"}
    assert attributes(read_far) >= {"x", "far"}


def test_a_function_that_calls_itself_is_walked_once():
    def again(row):
        return again(row) + row.x

    assert "x" in attributes(again)


def asks(name):
    def udf(user, item):
        user.x += getattr(item, name, 100.0)

    return udf


def looks(user, item):
    if hasattr(item, "deep"):
        user.x += 1


def with_default(user, item, helper=inner):
    user.x = helper(item)


def through_a_module(user, item):
    user.x = library.inner(item)


def through_two_modules(user, item):
    user.x = library.below.inner(item)


def through_a_name(user, item):
    module = library
    user.x = module.inner(item)


library = types.ModuleType("library")
library.below = types.ModuleType("below")
library.inner = library.below.inner = inner
library.__version__ = "1"


class Helpers:
    @staticmethod
    def inner(row):
        return row.deep


def through_a_class(user, item):
    user.x = Helpers.inner(item)


def test_names_are_found_in_defaults_and_modules():
    assert attributes(with_default) >= {"x", "deep", "root"}
    assert attributes(through_a_module) >= {"x", "deep", "root"}
    assert attributes(through_two_modules) >= {"x", "deep", "root"}


@pytest.mark.parametrize(
    "udf",
    [
        closing(operator.attrgetter("x")),
        closing(closing(operator.attrgetter("x"))),
        closing(np.vectorize(inner)),
        asks("y"),
        looks,
        through_a_name,
        through_a_class,
    ],
)
def test_nothing_is_said_where_it_cannot_be_known(udf):
    assert attributes(udf) is None


class ManyFields(Program):
    """Fields of which a UDF uses few."""

    user = Vertex(x=shared(), y=shared(), z=shared())
    item = Vertex(deep=shared(), root=shared(), y=shared(), unused=shared(5))
    rating = Edge("user", "item", value=data(), time=data("f8"))
    tau = Context(n=total("i8"), m=total("i8"))


def few(user, item, tau):
    user.x = inner(item)
    tau.n += 1


def test_a_kernel_is_given_what_its_udfs_use():
    worker = start(ManyFields(), EDGES)
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
    worker = drive(start(ManyFields(), EDGES, jit=jit), Exchange(few))
    assert worker.tau.n == len(EDGES)
    assert worker.tau.m == 0
    assert not worker.tables["item"].arrays["unused"].any()


@both_later
def test_attributes_by_text_see_all_fields(jit):
    worker = start(ManyFields(), EDGES, jit=jit)
    worker.tables["item"].arrays["y"][:] = 3
    drive(worker, Exchange(asks("y")))
    assert worker.tables["user"].arrays["x"].tolist() == [3, 3]


def misspelt(user):
    user.x = user.why


@both
def test_an_unknown_field_is_told_with_all_that_there_are(jit):
    with pytest.raises(ProgramError, match=r"fields: x, y, z, id read-only\)"):
        drive(start(ManyFields(), EDGES, jit=jit), Exchange(misspelt))
