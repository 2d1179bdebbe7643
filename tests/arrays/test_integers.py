"""Columns of integers: joined and narrowed without a digit lost."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tux.arrays.integers import (
    distinct_integers,
    from_python_integers,
    index_dtype,
    join_integers,
    narrow,
    places_among,
)

SIGNED, UNSIGNED = st.integers(-(2**63), 2**63 - 1), st.integers(0, 2**64 - 1)
ARRAYS = st.one_of(
    st.lists(st.integers(-(2**31), 2**31 - 1)).map(lambda values: np.array(values, np.int32)),
    st.lists(SIGNED).map(lambda values: np.array(values, np.int64)),
    st.lists(UNSIGNED).map(lambda values: np.array(values, np.uint64)),
)


@given(ARRAYS)
def test_narrow(values):
    found = narrow(values)
    assert found.tolist() == values.tolist()
    first = next(
        kind
        for kind in (np.int32, np.int64, np.uint64)
        if all(np.iinfo(kind).min <= v <= np.iinfo(kind).max for v in values.tolist())
    )
    assert found.dtype == first


@given(st.lists(ARRAYS, max_size=4))
def test_joined(pieces):
    values, found = [value for piece in pieces for value in piece.tolist()], join_integers(pieces)
    if found is None:
        assert min(values) < 0 and any(piece.dtype == np.uint64 for piece in pieces)
    else:
        assert found.tolist() == values and found.dtype.kind in "iu"


@given(st.lists(SIGNED | UNSIGNED | st.integers()))
def test_of_python(values):
    found = from_python_integers(values)
    if found is None:
        assert (
            min(values) < -(2**63)
            or max(values) >= 2**64
            or min(values) < 0
            and max(values) >= 2**63
        )
    else:
        assert found.tolist() == values and (found.dtype == np.int64) == (
            max(values, default=0) < 2**63
        )


@given(ARRAYS)
def test_distinct(values):
    found = distinct_integers(values)
    assert found.dtype == values.dtype and found.tolist() == sorted(set(values.tolist()))


@given(ARRAYS, ARRAYS)
def test_places_among(values, among):
    if values.dtype != among.dtype:
        among = among.astype(values.dtype)
    values, among = distinct_integers(values), distinct_integers(among)
    known = among.tolist()
    expected = [known.index(value) if value in known else -1 for value in values.tolist()]
    found = places_among(values, among)
    assert found.dtype == np.int32 and found.tolist() == expected


@pytest.mark.parametrize(("m", "dtype"), [(0, np.int32), (2**31 - 1, np.int32), (2**31, np.int64)])
def test_index_dtype(m, dtype):
    assert index_dtype(m) == dtype
