"""Rows that are kept for a few steps: what is asked for, what steps see, and what is sent."""

import numpy as np

from tux.sync.row_window import RowWindow, order_by_home

NONE = np.empty(0, np.int32)
LAST = [0, 1]  # the first field belongs to the rows of list 0, the second to those of both lists


def window():
    return RowWindow(0, [np.zeros((0, 2)), np.zeros((0, 1), np.int64)], LAST, NONE)


def touch(made, positions, levels, often=(), *, ends=False):
    often = np.isin(positions, often)
    return made.touch(np.array(positions, np.int32), np.array(levels, np.int8), often, ends=ends)


def test_a_row_is_asked_for_once_or_where_it_is_touched_often():
    made = window()
    first = touch(made, [7, 3], [0, 1])
    assert first.places.tolist() == [0, 1] and first.asked.all() and not first.sent.any()
    second = touch(made, [3, 9, 7], [1, 1, 1], often=[7])
    assert second.places.tolist() == [1, 2, 0]
    assert second.asked.tolist() == [False, True, True]
    assert second.sent.tolist() == [False, False, True]
    assert touch(made, [3], [0]).asked.all(), "it has not had all of its fields"
    last = touch(made, [7, 3], [0, 0], often=[7], ends=True)
    assert last.asked.tolist() == [True, False] and not last.sent.any(), "the end sends all"


def test_changes_stay_until_they_are_sent():
    made = window()
    first, second = touch(made, [7, 3], [0, 0]), touch(made, [3], [1])
    made.make_room()
    made.put_values(0, first.places, np.array([[1.0, 1], [2, 2]]))
    made.rows[0][first.places] += [[0.5, 0], [0, 0.25]]
    made.note_changes(first)
    made.put_values(0, second.places, np.array([[4.0, 4]]))
    assert made.rows[0][:2].tolist() == [[1.5, 1], [4, 4.25]]
    made.note_changes(second)
    places, levels = made.unsent(second.places)
    assert places.tolist() == [1] and levels.tolist() == [0], "all that has changed of it"
    assert made.take_changes(0, places).tolist() == [[0, 0.25]]
    assert made.take_changes(0, places).tolist() == [[0, 0]]
    places, levels = made.unsent()
    assert places.tolist() == [0] and levels.tolist() == [0]
    assert not len(made.unsent()[0])


def test_room_grows_and_rows_are_aligned():
    made = window()
    touch(made, [5, 6, 8], [0, 0, 0])
    made.make_room()
    made.rows[0][:3] = [[1, 2], [3, 4], [5, 6]]
    for first in (100, 200):
        touch(made, range(first, first + 90), [1] * 90)
        made.make_room()
        assert made.rows[0][:3].tolist() == [[1, 2], [3, 4], [5, 6]]
        assert not made.rows[0][3:].any() and len(made.rows[0]) >= len(made.positions)
        assert all(each.ctypes.data % 64 == 0 for each in made.rows)


def test_rows_are_ordered_by_home_and_level():
    home = np.array([1, 0, 1, 0, 1], np.int16)
    positions, levels = np.array([4, 3, 2, 1, 0], np.int32), np.array([1, 0, 0, 1, 0], np.int8)
    order, counts = order_by_home(positions, levels, home, 2, 2)
    assert positions[order].tolist() == [3, 1, 2, 0, 4]
    assert counts.tolist() == [[1, 1], [2, 1]]
