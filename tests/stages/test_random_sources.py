"""Functions that draw random numbers which the seed of a run does not decide are refused."""

import random
from random import gauss

import numpy as np
import pytest
from numpy import random as other
from support.messages import message

from tux.base.errors import ProgramError
from tux.stages.analysis.random_sources import refuse_unseeded


def by_module(src):
    src.x = random.random()


def by_name(src):
    src.x = gauss(0, 1)


def by_numpy(src):
    src.x = 1.0
    src.x += np.random.rand()


def by_another_name(src):
    src.x = other.normal()


GENERATOR = np.random.default_rng(0)


def by_generator(src):
    src.x = GENERATOR.random()


def call_by_name(src):
    return by_name(src)


def by_rng(src, rng):
    src.x = rng.normal() + np.sqrt(2.0)


@pytest.mark.parametrize(
    ("udf", "what", "below"),
    [
        (by_module, "`by_module` uses random.random", 1),
        (by_name, "`by_name` uses gauss", 1),
        (by_numpy, "`by_numpy` uses np.random.rand", 2),
        (by_generator, "`by_generator` uses GENERATOR", 1),
        (by_another_name, "`by_another_name` uses other.normal", 1),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_they_are_refused_at_their_line(udf, what, below):
    with pytest.raises(ProgramError) as error:
        refuse_unseeded(udf)
    assert error.value.what.startswith(f"{what}: ") and "rng" in error.value.do
    assert error.value.where == f"{__file__}:{udf.__code__.co_firstlineno + below}"


def test_functions_that_are_called_are_searched():
    with pytest.raises(ProgramError, match=message("uses-its-numbers-do-not", "by_name", "gauss")):
        refuse_unseeded(call_by_name)


def closing(helper):
    def udf(src):
        src.x = helper(src)

    return udf


@pytest.mark.parametrize("helper", [by_name, lambda src: [random.random() for _ in range(2)][0]])
def test_functions_that_are_closed_over_are_searched(helper):
    with pytest.raises(ProgramError, match=message("uses-its-numbers-do-not")):
        refuse_unseeded(closing(helper))


def test_the_stream_of_the_run_is_right():
    refuse_unseeded(by_rng)
