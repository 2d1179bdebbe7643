"""Columns of tables in memory: what is not copied, and what a stream of pieces becomes."""

import numpy as np
import pyarrow as pa
import pytest

from tux.arrays.frame_columns import cast_numbers, gather_columns, unfit_reason
from tux.arrays.frames import frame_of

KINDS = [None, None, np.dtype("f4")]


def columns(data):
    """Return the columns of a table of two ids and a number, without a bad row."""

    def note(row, why):
        raise AssertionError(f"row {row}: {why}")

    frame = frame_of(data)
    pieces, _ = gather_columns(frame, range(3), ["a", "b", "c"], KINDS, note)
    return pieces.columns()


def arrow(given):
    return pa.table(given)


def pandas(given):
    return pytest.importorskip("pandas").DataFrame(given, copy=False)


@pytest.mark.parametrize("make", [dict, arrow, pandas])
@pytest.mark.parametrize("dtype", ["i8", "i4"])
def test_ids_of_a_table_in_one_piece_are_not_copied(make, dtype):
    user, item = np.array([5, 2**20, 5], dtype), np.array([1, 2, 3], dtype)
    given = make({"user": user, "item": item, "value": np.array([1.0, 2, 3])})
    found = columns(given)
    assert np.shares_memory(found[0], user) and np.shares_memory(found[1], item)
    assert found[2].dtype == np.float32 and found[2].flags.writeable


def test_numbers_are_the_runs_own():
    values = np.float32([1, 2, 3])
    found = columns({"user": [1, 2, 3], "item": [1, 2, 3], "value": values})
    assert found[2].tolist() == [1, 2, 3] and not np.shares_memory(found[2], values)


def test_pieces_take_the_least_room_and_hold_nothing_of_the_table():
    given = {"user": [1, 2, 3], "item": ["a", "b", "a"], "value": [1.0, 2, 3]}
    table = pa.Table.from_batches(pa.table(given).to_batches(max_chunksize=2))
    users, items, values = columns(table)
    assert users.dtype == np.int32 and users.tolist() == [1, 2, 3]
    assert items.values[items.codes].tolist() == ["a", "b", "a"]
    assert values.dtype == np.float32


@pytest.mark.parametrize("kind", ["f4", "f8", "i1", "i4", "i8", "u1", "u8", "?"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "i8", "u1", "u8"])
def test_numbers_fit_if_they_can_be_held(kind, dtype):
    values = np.array([0, 1, 100], dtype)
    found, bad = cast_numbers(values, np.dtype(kind))
    if kind == "?":
        assert bad.tolist() == [False, False, True] and found.tolist() == [False, True, False]
    else:
        assert bad is None and found.tolist() == [0, 1, 100] and found.dtype == kind


@pytest.mark.parametrize(
    ("value", "dtype", "kind", "why"),
    [
        (np.nan, "f4", "f8", "nan, not a finite number"),
        (np.inf, "f4", "f8", "inf, not a finite number"),
        (np.nan, "f8", "i4", "nan, not a finite number"),
        (1e39, "f8", "f4", "1e+39, beyond float32"),
        (-1, "i8", "u4", "-1, beyond uint32"),
        (2**63, "u8", "i8", "9223372036854775808, beyond int64"),
        (2.0**63, "f8", "i8", "9.223372036854776e+18, beyond int64"),
        (0.5, "f4", "i4", "0.5, not whole"),
    ],
)
def test_numbers_that_do_not_fit(value, dtype, kind, why):
    values = np.array([1, value], dtype)
    found, bad = cast_numbers(values, np.dtype(kind))
    assert bad.tolist() == [False, True] and found.tolist() == [1, 0]
    assert unfit_reason(values[1], np.dtype(kind)) == why


def test_arrays_that_arrow_does_not_know():
    """In the byte order of another machine, dates in other units, integers beyond int64."""
    large = [2**63, 2**64 - 1, 5]
    given = [np.array([3, 1, 3], ">i8"), large, np.array([1, 2, 3], ">f8")]
    user, item, value = columns(tuple(given))
    assert user.tolist() == [3, 1, 3] and user.dtype.isnative
    assert item.dtype == np.uint64 and item.tolist() == large and value.tolist() == [1, 2, 3]
    item = columns((given[0], np.array(large, object), given[2]))[1]
    assert item.tolist() == large
    for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"):
        days = np.array([0, 40, 3], f"M8[{unit}]")
        held = columns((given[0], days, given[2]))[1]
        assert held.tolist() == days.astype("M8[ns]").astype(np.int64).tolist(), unit
