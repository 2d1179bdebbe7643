"""Encodings: what comes out is what went in, in the fewest bytes of the three forms; what fits
no rows is refused.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.machines.team import relaxed, unpack_message

from tux.messages.encoding import DENSE, ELEMENTS, NEVER, NOTHING, ROWS, fill_elements, pack, unpack


def message(count, width, dtype, density, seed):
    """Return a field of `count` rows and more, the rows of a message in some order, and dirty of
    given densities by row and by element.
    """
    rng = np.random.default_rng(seed)
    field = np.zeros((count + 3, width), dtype)
    rows = rng.permutation(count + 3)[:count].astype(np.int32)
    dirty = (
        (rng.random((count, 1)) < density[0]) & (rng.random((count, width)) < density[1])
    ).astype(np.uint8)
    return field, rows, rng.integers(0, 2, (count, width)).astype(dtype), dirty


densities = st.tuples(st.sampled_from([0, 0.02, 0.5, 1]), st.sampled_from([0, 0.02, 0.5, 1]))


@relaxed
@given(
    st.integers(0, 60),
    st.integers(0, 20),
    st.sampled_from(["f4", "i8", "b1", "u2"]),
    densities,
    st.integers(0, 99),
)
def test_news_arrives_and_takes_the_fewest_bytes(count, width, dtype, density, seed):
    field, rows, values, dirty = message(count, width, dtype, density, seed)
    arrays = pack([(values, dirty)])
    [(unpacked, flags)] = unpack_message(arrays, [field], rows)
    assert (flags >= dirty).all() and np.array_equal(unpacked[flags == 1], values[flags == 1])
    changed, size = dirty.any(axis=1).sum(), values.itemsize
    forms = [
        count * width * size,
        -(-count // 8) + changed * width * size,
        dirty.sum() * (2 + size),
    ]
    assert sum(array.nbytes for array in arrays[1:]) == min(forms)
    assert arrays[0].tolist() == [DENSE + forms.index(min(forms)) if dirty.any() else NOTHING]


def test_each_form_wins_somewhere():
    none = np.zeros((9, 8), np.uint8)
    full, row, element = none + np.uint8(1), none.copy(), none.copy()
    row[2], element[4, 4] = 1, 1
    values = np.arange(72, dtype="f4").reshape(9, 8)
    arrays = pack((values, dirty) for dirty in (none, full, row, element))
    assert arrays[0].tolist() == [NOTHING, DENSE, ROWS, ELEMENTS] and [
        a.nbytes for a in arrays[1:]
    ] == [288, 2, 32, 2, 4]


def test_places_beyond_16_bits():
    dirty = np.zeros((70_000, 2), np.uint8)
    dirty[69_999, 1] = 1
    values, field = np.arange(140_000.0).reshape(70_000, 2), np.zeros((70_001, 2))
    arrays = pack([(values, dirty)])
    assert arrays[1].dtype == np.uint32
    [picked] = unpack(arrays, [field], np.arange(1, 70_001, dtype=np.int32))
    assert picked.rows.tolist() == [140_001] and fill_elements(picked, field, -1)[
        70_000
    ].tolist() == [
        -1,
        139_999,
    ]


def test_higher_dimensions_and_several_fields():
    values = np.arange(24.0).reshape(2, 3, 4)
    arrays = pack(
        [(values, np.ones((2, 12), np.uint8)), (np.array([7, 8]), np.array([[0], [1]], np.uint8))]
    )
    cube, count = np.zeros((5, 3, 4)), np.zeros(5, np.int64)
    first, second = unpack(arrays, [cube, count], np.array([4, 1], np.int32))
    assert np.array_equal(fill_elements(first, cube, 0)[[4, 1]], values) and fill_elements(
        second, count, -1
    ).tolist() == [-1, 8, -1, -1, -1]


FIELD, AT = np.zeros((4, 2), np.float32), np.arange(3, dtype=np.int32)


@pytest.mark.parametrize(
    "arrays",
    [
        [],
        [np.uint8([])],
        [np.uint8([DENSE])],
        [np.uint8([NOTHING]), np.zeros((3, 2), np.float32)],
        [np.uint8([NOTHING, NOTHING])],
        [np.uint8([7]), np.zeros((3, 2), np.float32)],
        [np.uint8([DENSE]), np.zeros((4, 2), np.float32)],
        [np.uint8([DENSE]), np.zeros((3, 2))],
        [np.uint8([DENSE]), np.zeros((3, 2), np.float32), np.zeros(1)],
        [np.uint8([DENSE, DENSE]), np.zeros((3, 2), np.float32)],
        [np.uint8([ROWS]), np.uint8([0b11100000]), np.zeros((2, 2), np.float32)],
        [np.uint8([ROWS]), np.uint8([]), np.zeros((2, 2), np.float32)],
        [np.uint8([ROWS]), np.uint8([0b10000000]), np.float32(1)[...]],
        [np.uint8([ROWS]), np.uint8([0b10000000]), np.zeros((2, 2), np.float32)],
        [np.uint8([ROWS]), np.float32([1]), np.zeros((1, 2), np.float32)],
        [np.uint8([DENSE]), np.float32(1)[...]],
        [np.uint8([ELEMENTS]), np.uint16(1)[...], np.float32(1)[...]],
        [np.uint8([ELEMENTS]), np.uint16([6]), np.zeros(1, np.float32)],
        [np.uint8([ELEMENTS]), np.uint16([2, 2]), np.zeros(2, np.float32)],
        [np.uint8([ELEMENTS]), np.uint16([3, 2]), np.zeros(2, np.float32)],
        [np.uint8([ELEMENTS]), np.uint16([0, 1]), np.zeros(1, np.float32)],
        [np.uint8([ELEMENTS]), np.uint16([0])],
        [np.uint8([ELEMENTS]), np.float32([0]), np.zeros(1, np.float32)],
        [np.uint8([ELEMENTS]), np.int16([-1]), np.zeros(1, np.float32)],
        [np.float32([ELEMENTS]), np.uint16([0]), np.zeros(1, np.float32)],
    ],
)
def test_what_fits_no_rows_is_refused(arrays):
    with pytest.raises(ValueError):  # noqa: PT011 - each case says another thing
        unpack(arrays, [FIELD], AT)


def test_a_field_without_width_has_no_elements():
    bare = np.zeros((4, 0), np.float32)
    assert unpack(pack([(bare[:3], np.zeros((3, 0), np.uint8))]), [bare], AT) == [NEVER]
    with pytest.raises(ValueError, match="1 places as uint16 for 1 values"):
        unpack([np.uint8([ELEMENTS]), np.uint16([0]), np.zeros(1, np.float32)], [bare], AT)
