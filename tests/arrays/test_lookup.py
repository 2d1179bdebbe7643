"""Columns looked up in a table, by any number of threads."""

import numpy as np
import pytest

from tux.arrays import lookup
from tux.arrays.lookup import look_up
from tux.base.parallel import slices


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("m", [0, 1, 7, 1000])
def test_it_is_what_indexing_gives(monkeypatch, threads, m):
    monkeypatch.setattr("tux.base.parallel._chosen", [threads])
    monkeypatch.setattr(lookup, "CHUNK", 16)
    monkeypatch.setattr(lookup, "slices", lambda n: slices(n, 1))
    rng = np.random.default_rng(m)
    table, index = rng.random(50), rng.integers(0, 50, m).astype(np.int32)
    found = look_up(table, index)
    assert found.dtype == table.dtype and np.array_equal(found, table[index])
    ranks = rng.permutation(50).astype(np.int32)
    expected = ranks[index]
    assert look_up(ranks, index, index) is index and np.array_equal(index, expected)


def test_an_index_beyond_the_table_is_an_error():
    with pytest.raises(IndexError):
        look_up(np.arange(3), np.array([0, 3]))
