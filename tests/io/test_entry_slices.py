"""Entries that are looked at and copied slice by slice: the same as all at once."""

import numpy as np
import pytest

from tux.arrays.arrow import CodedColumn
from tux.arrays.disk_columns import file_of, limited_memory
from tux.io.bags.entries import Entries, GatheredEntries, repeat_rows, sum_entries
from tux.io.source.precision import column_ranges, large_columns

M = 14


@pytest.fixture(autouse=True)
def small_slices(monkeypatch):
    monkeypatch.setattr("tux.arrays.disk_columns.COPIED", 3)


@pytest.mark.parametrize("lengths", [[], [0], [0, 5, 0, 0, 3, 1, 0], [3, 3, 3], [0, 0, 9], [1] * 7])
def test_rows_are_repeated(lengths):
    rows, lengths = np.arange(len(lengths)) * 10 + 1, np.array(lengths, np.int64)
    found = repeat_rows(rows, lengths)
    assert found.dtype == np.int32
    assert found.tolist() == np.repeat(rows, lengths).tolist()


def test_entries_in_order_are_not_copied():
    row, column, value = np.arange(M) // 4, np.arange(M) % 4, np.ones(M)
    assert [*map(id, sum_entries(row, column, value))] == [*map(id, (row, column, value))]


@pytest.mark.parametrize("at", range(M - 1))
def test_an_entry_out_of_order_is_found_in_any_place(at):
    row, column, value = np.arange(M) // 4, np.arange(M) % 4, np.arange(M) + 0.5
    moved = np.arange(M)
    moved[[at, at + 1]] = at + 1, at
    found = sum_entries(row[moved], column[moved], value[moved])
    for array, expected in zip(found, (row, column, value), strict=True):
        assert array.tolist() == expected.tolist()


@pytest.mark.parametrize("at", range(M - 1))
def test_an_entry_that_repeats_another_is_found_in_any_place(at):
    row, column, value = np.arange(M) // 4, np.arange(M) % 4, np.ones(M)
    row[at + 1], column[at + 1] = row[at], column[at]
    _, _, sums = sum_entries(row, column, value)
    assert sums.tolist() == [1.0] * at + [2.0] + [1.0] * (M - 2 - at)


@pytest.mark.parametrize("coded", [True, False])
def test_some_entries_are_kept(coded):
    codes, value = np.arange(M, dtype=np.int32) % 4, np.arange(M) + 0.5
    column = CodedColumn(codes, np.array(["a", "b", "c", "d"])) if coded else codes
    kept = np.isin(np.arange(M), [0, 2, 3, 9, 13])
    left = Entries(np.arange(4), np.arange(M) // 4, column, value).keep(kept)
    assert left.row.tolist() == [0, 0, 0, 2, 3]
    assert (left.column.codes if coded else left.column).tolist() == [0, 2, 3, 1, 1]
    assert left.value.tolist() == [0.5, 2.5, 3.5, 9.5, 13.5]


def test_large_numbers_are_found_in_any_slice():
    column = np.array([7, 1, 5, 7, 1, 5, 3, 7])
    value = np.array([1, 2e7, 3, 3e7, 1e7, 5, 6, -4e7], np.float32)
    assert large_columns(column, value) == [1, 7]
    assert column_ranges(column, value, [7, 1, 4]) == {7: (-4e7, 3e7), 1: (1e7, 2e7)}


def test_gathered_entries_lie_on_disk(tmp_path, monkeypatch):
    for name, value in ("LARGE", 1), ("HELD", 0.0):
        monkeypatch.setattr(f"tux.arrays.disk_columns.{name}", value)
    monkeypatch.setattr("tux.arrays.arrow.GATHERED", 1)
    gathered = GatheredEntries(np.dtype("f4"))
    with limited_memory(tmp_path, 1 << 40):
        for begin in 0, 2:
            columns, values = np.arange(5) + 2**33 * begin, np.arange(5) + 0.5
            gathered.add(np.arange(2) + begin, np.array([2, 3]), columns, values)
            columns[:] = values[:] = 0  # may be changed
        entries = gathered.whole()
        assert all(map(file_of, (entries.row, entries.column, entries.value)))
        assert entries.row.tolist() == [0, 0, 1, 1, 1, 2, 2, 3, 3, 3]
        assert entries.column.tolist() == [*range(5), *range(2**34, 2**34 + 5)]
        assert entries.value.tolist() == 2 * [0.5, 1.5, 2.5, 3.5, 4.5]
