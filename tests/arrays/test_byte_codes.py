"""Columns with few different values: codes, and the values that they stand for, bit by bit."""

import numpy as np
import pytest

from tux.arrays.byte_codes import CODES, ByteCodes, code_column


def draw_column(dtype, different, m=5000):
    rng = np.random.default_rng(7)
    values = rng.integers(0, 2**63, different).astype(np.uint64).view("u1")
    width = np.dtype(dtype).itemsize
    values = np.frombuffer(values.tobytes()[: different * width], dtype)
    return np.concatenate([values, values[rng.integers(0, different, m - different)]])


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i4", "i8"])
@pytest.mark.parametrize("different", [2, 3, CODES])
def test_codes_stand_for_the_same_bits(dtype, different):
    column = draw_column(dtype, different)
    coded = code_column(column)
    assert isinstance(coded, ByteCodes) and coded.codes.dtype == np.uint8
    assert len(coded) == len(column) and coded.dtype == column.dtype
    assert coded[:].tobytes() == column.tobytes()
    index = np.array([4, 2, 2, 4999])
    assert coded.reorder(index)[:].tobytes() == column[index].tobytes()


def test_equal_values_take_no_codes():
    coded = code_column(np.full(1000, 2.5))
    assert coded.codes is None and coded[10:12].tolist() == [2.5, 2.5] and len(coded) == 1000
    assert coded[np.array([3, 5, 7])].tolist() == [2.5] * 3 and len(coded.reorder([1, 2])) == 2


@pytest.mark.parametrize(
    "column",
    [
        np.arange(CODES + 1, dtype="f4"),
        np.concatenate([np.zeros(1 << 16, "i4"), np.arange(CODES + 1, dtype="i4")]),
        np.zeros((8, 2)),
        np.arange(10, dtype="i1"),
        np.empty(0),
    ],
)
def test_other_columns_stay_as_they_are(column):
    assert np.array_equal(code_column(column), column)
    assert isinstance(code_column(column), np.ndarray)


def test_zeros_and_nans_keep_their_bits():
    column = np.array([0.0, -0.0, np.nan, -np.nan, np.inf], "f4")
    assert code_column(column)[:].tobytes() == column.tobytes()
