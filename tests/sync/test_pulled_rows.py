"""The rows of pulled positions, against dicts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from tux.sync import pulled_rows
from tux.sync.pulled_rows import (
    add_to_rows,
    find_touched,
    insert_positions,
    look_up_rows,
    tabulate,
    tabulate_with_room,
)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(st.integers(-1, 40), max_size=30), min_size=1, max_size=3))
def test_touched_positions_are_found(dtype, lists):
    flat = [v for each in lists for v in each]
    ends = np.cumsum([len(each) for each in lists])
    positions, levels, times = find_touched(np.array(flat, dtype), ends)
    seen = [*dict.fromkeys(v for v in flat if v >= 0)]
    assert positions.dtype == dtype and positions.tolist() == seen
    assert levels.tolist() == [next(i for i, each in enumerate(lists) if v in each) for v in seen]
    assert times.tolist() == [flat.count(v) for v in seen]


def test_a_table_grows_with_what_is_pulled():
    some = np.random.default_rng(1).permutation(10 * pulled_rows.FIRST).astype(np.int32)
    positions, _, times = find_touched(np.tile(some, 2), np.array([2 * len(some)]))
    assert np.array_equal(positions, some) and set(times.tolist()) == {2}


def test_positions_that_a_table_lacks_get_the_next_places():
    slots = tabulate_with_room(np.array([7, 3]), 2)
    assert insert_positions(slots, np.array([3, 9, 5]), 2).tolist() == [1, 2, 3]
    assert look_up_rows(np.array([5, 9, 7, 3]), slots).tolist() == [3, 2, 0, 1]


@pytest.mark.parametrize("scale", [1, 2**32, 2**40])
def test_rows_are_the_places_in_the_list(scale):
    """Positions that differ in their upper bits alone are as good as others."""
    positions = np.array([7, 0, 3, 12, 5], np.int64) * scale
    slots = tabulate(positions)
    assert slots.shape == (16, 2)
    assert look_up_rows(positions, slots).tolist() == [0, 1, 2, 3, 4]
    lists = np.array([3 * scale, -1, 0], np.int64)
    assert look_up_rows(lists, slots).tolist() == [2, -1, 1]
    own = np.zeros((5, 1), np.float32)
    add_to_rows(own, slots, np.array([3, 4]) * scale, np.array([[2], [9]], np.float32))
    assert own.ravel().tolist() == [0, 0, 2, 0, 0], "4 is not pulled"


def test_nothing_is_pulled():
    slots = tabulate(np.empty(0, np.int32))
    assert look_up_rows(np.array([-1], np.int32), slots).tolist() == [-1]
