"""Positions of a part's edges, by a table and by sorting; and repeated edges."""

import numpy as np
import pytest

from tux.parallel_load.algorithm.positions import make_rows, occurring
from tux.parallel_load.algorithm.repeated import count_repeated


@pytest.mark.parametrize("n", [30, 10**6])
@pytest.mark.parametrize("m", [0, 1, 200])
def test_positions_that_occur(n, m):
    """A table of all where these are fewer than edges, and sorting where they are more."""
    rng = np.random.default_rng([n, m])
    columns = [rng.integers(0, n, m).astype(np.int32) for _ in range(2)]
    before = [column.copy() for column in columns]
    found, counts = occurring(columns, n)
    expected = np.unique(np.concatenate(columns), return_counts=True)
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_array_equal(counts, expected[1])
    np.testing.assert_array_equal(columns, before)
    assert found.dtype == counts.dtype == np.int32


@pytest.mark.parametrize("n", [30, 10**6])
def test_positions_become_rows(n):
    rng = np.random.default_rng(n)
    column = rng.integers(0, n, 100).astype(np.int32)
    rows = np.union1d(column, rng.integers(0, n, 5)).astype(np.int32)
    made = column.copy()
    make_rows(made, rows, n)
    np.testing.assert_array_equal(rows[made], column)


def test_repeated_edges():
    rng = np.random.default_rng(4)
    src, dst = rng.integers(0, 9, 50).astype(np.int32), rng.integers(0, 5, 50).astype(np.int32)
    pairs = set(zip(src.tolist(), dst.tolist(), strict=True))
    assert count_repeated(src, dst, 9, 5) == 50 - len(pairs)
    assert count_repeated(src[:0], dst[:0], 0, 0) == 0
