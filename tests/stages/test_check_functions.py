"""The functions that checked UDFs call, and what their errors say."""

import numpy as np
import pytest
from numba import njit

from tux.stages.check import checks
from tux.stages.check.explain import udf_error


def store(item):
    item.x = 1


@pytest.mark.parametrize(
    ("held", "given", "fits"), [((2, 3), (2, 3), True), ((2, 3), (3,), True), ((3,), (2, 3), False)]
)
def test_what_is_stored_into_a_part_has_no_more_axes(held, given, fits):
    @njit
    def compare(x, value):
        checks.alike(x, value, 5)

    if fits:
        compare(np.zeros(held), np.ones(given))
    else:
        with pytest.raises(checks.UnlikeShapes):
            compare(np.zeros(held), np.ones(given))


def test_an_index_of_a_tuple_is_that_of_an_entry():
    @njit
    def look(x, i):
        return checks.index(x, i, 0, 5)

    pair = 1.0, 2.0
    assert [look(pair, i) for i in (-2, 1)] == [-2, 1]
    for wrong in (-3, 2):
        with pytest.raises(checks.OutOfBounds):
            look(pair, wrong)


def test_a_field_of_none_is_told_with_the_function():
    error = udf_error(TypeError("expected float64, got None"), [store])
    assert error.what.startswith("a name in UDF store is None")
    error = udf_error(TypeError("expected float64, got a list"), [store])
    assert error.what.startswith("UDF store has raised TypeError: expected float64, got a list")


def test_a_key_that_is_missing_is_told_as_python_tells_it():
    error = udf_error(KeyError("rank"), [store])
    assert error.what.startswith("UDF store has raised KeyError: 'rank'")
    assert error.do.startswith("correct the function")
