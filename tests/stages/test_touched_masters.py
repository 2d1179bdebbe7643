"""The masters that a clock is about, found in ascending lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines.team import relaxed

from tux.sync.touched_masters import TouchedMasters, find_places, unite_sorted

LISTS = st.sets(st.integers(0, 400)).map(lambda some: np.array(sorted(some), np.int32))


class HeldRoutes:
    """Rows that workers hold: masters `held[w]` here; the own ones have numbers 10 times as
    large.
    """

    def __init__(self, held, rank):
        self.held, self.rank = held, rank

    def down(self, worker, numbers):
        return self.held[worker]

    def up(self, home, numbers):
        assert home == self.rank
        return 10 * self.held[home]


@relaxed
@given(LISTS, LISTS)
def test_places_of_those_rows_that_a_route_has(route, rows):
    at, which = find_places(route, rows)
    common = np.intersect1d(route, rows)
    assert route[at].tolist() == rows[which].tolist() == common.tolist()


@pytest.mark.long
@relaxed
@given(st.lists(LISTS, min_size=1, max_size=5))
def test_a_number_of_several_lists_is_in_their_union_once(lists):
    union = unite_sorted(lists)
    assert union.dtype == np.int32
    assert union.tolist() == sorted(set().union(*map(set, lists)))


@relaxed
@given(st.lists(LISTS, min_size=1, max_size=4), st.data())
def test_each_worker_holds_its_part_of_what_all_have_sent(held, data):
    sent = [
        np.array(sorted(data.draw(st.sets(st.sampled_from(own.tolist() or [0])))), np.int32)
        if len(own)
        else own
        for own in held
    ]
    rank = data.draw(st.integers(0, len(held) - 1))
    touched = TouchedMasters.of(sent, HeldRoutes(held, rank), rank, np.array([0], np.int32))
    union = set().union(*map(set, sent))
    assert touched.rows.tolist() == sorted(union)
    for own, which in zip(held, touched.held, strict=True):
        assert touched.rows[which].tolist() == sorted(union & set(own.tolist()))
    assert touched.own.tolist() == (10 * touched.rows[touched.held[rank]]).tolist()
    assert touched.size == len(union) + len(touched.own) + sum(map(len, touched.held))
