"""Functions that are linked into those that call them."""

import numpy as np
from numba import njit

from tux.base.linked import linked_njit


@linked_njit()
def add_halves(x, total):
    for k in range(len(x)):
        total[0] += half(x[k])


@linked_njit(forceinline=True)
def half(x):
    return x / 2 if x > 0 else np.sqrt(-x)


@linked_njit()
def check(x):
    if x < 0:
        raise ValueError("it is negative")
    return x


@njit
def use(x, total):
    add_halves(x, total)
    return half(x[0]) + check(x[1])


def test_linked_functions_call_each_other_for_all_types():
    for kind in ("f8", "f4", "i8"):
        total = np.zeros(1)
        assert use(np.array([4, 6, -9], kind), total) == 8
        assert total[0] == 2 + 3 + 3


def test_an_error_of_a_linked_function_is_raised():
    try:
        use(np.array([1.0, -1.0]), np.zeros(1))
    except ValueError as error:
        assert str(error) == "it is negative"
    else:
        raise AssertionError("no error")


def test_another_function_may_call_it_too():
    @njit
    def call(x):
        return half(x) + half(np.float32(x))

    assert call(3.0) == 3
    assert use(np.array([4.0, 6.0]), np.zeros(1)) == 8
