"""The rows of pulled positions, against dicts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from tux.sync import pulled_rows
from tux.sync.pulled_rows import add_to_rows, group_by_home, look_up_rows, tabulate


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(-1, 40), max_size=60))
def test_positions_are_grouped_by_home(dtype, lists):
    home = np.arange(41, dtype=np.int16) % 3
    ids, counts = group_by_home(np.array(lists, dtype), home, 3)
    seen = [*dict.fromkeys(v for v in lists if v >= 0)]
    assert ids.dtype == dtype and ids.tolist() == sorted(seen, key=lambda v: v % 3)
    assert counts.tolist() == [sum(v % 3 == h for v in seen) for h in range(3)]


def test_a_table_grows_with_what_is_pulled():
    some = np.random.default_rng(1).permutation(10 * pulled_rows.FIRST).astype(np.int32)
    ids, counts = group_by_home(np.tile(some, 2), np.zeros(len(some), np.int16), 1)
    assert np.array_equal(ids, some) and counts.tolist() == [len(some)]


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
