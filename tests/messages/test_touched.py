"""Touched rows of a route: few travel as numbers, many as bits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines.team import relaxed

from tux.messages.touched import RoutePlaces


@relaxed
@given(st.integers(0, 300).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n)))))
def test_what_is_written_is_read(case):
    count, chosen = case
    places = np.array(sorted(chosen - {count}), np.int64)
    array = RoutePlaces(places, count).array()
    assert array.nbytes <= (count + 7) // 8
    assert RoutePlaces.read(array, count).tolist() == places.tolist()


def test_few_of_many_take_no_bit_for_each_row():
    array = RoutePlaces(np.array([5, 900_000]), 1_000_000).array()
    assert array.dtype == np.int32 and array.tolist() == [5, 900_000]
    assert RoutePlaces(np.arange(40_000), 1_000_000).array().nbytes == 125_000


@pytest.mark.parametrize("wrong", [[1, 1], [-1], [2**31 - 1], [3, 2, 4]])
def test_what_is_no_list_of_places_is_refused(wrong):
    with pytest.raises(ValueError, match="do not ascend, or one is not in 0..9"):
        RoutePlaces.read(np.array(wrong, np.int32), 10)
