"""Ids: dense indices for any ids, and the ids back exactly."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tux.arrays import ids as module
from tux.arrays.arrow import STRING, CodedColumn, ColumnPieces, _ids
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.base.parallel import slices

INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1))
HASHES = st.lists(st.integers(0, 20) | st.integers(2**63 - 20, 2**64 - 1))
STRINGS = st.lists(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
)
COLUMNS = st.one_of(
    INTEGERS.map(lambda values: np.array(values, np.int64)),
    st.lists(st.integers(-50, 50)).map(lambda values: np.array(values, np.int32)),
    HASHES.map(lambda values: np.array(values, np.uint64)),
    STRINGS.map(lambda values: np.array(values, STRING)),
)


def test_indices_follow_ascending_ids():
    ids, codes = Ids.of([30, 10, 20, 10])
    assert ids.values.tolist() == [10, 20, 30]
    assert codes.tolist() == [2, 0, 1, 0] and codes.dtype == np.int32


@given(COLUMNS)
def test_every_id_comes_back(column):
    ids, codes = Ids.of(column)
    assert ids.decode(codes).tolist() == column.tolist()
    assert ids.values.tolist() == sorted(set(column.tolist()))
    assert ids.encode(column).tolist() == codes.tolist()


@given(COLUMNS, COLUMNS)
def test_extend_keeps_indices_and_appends_the_unknown(first, second):
    ids, codes = Ids.of(first)
    more, new_codes = ids.extend(second)
    again = [str(value) for value in more.decode(new_codes).tolist()]
    assert again == [str(value) for value in second.tolist()]
    assert [str(v) for v in more.decode(codes).tolist()] == [str(v) for v in first.tolist()]
    assert len(set(more.values.tolist())) == len(more)
    known = ids.encode(second)
    assert (known[known >= 0] == new_codes[known >= 0]).all() and (
        new_codes[known < 0] >= len(ids)
    ).all()


def test_an_extended_map_is_looked_up_although_it_is_not_sorted():
    ids, _ = Ids.of([5, 9])
    ids, codes = ids.extend([7, 1, 9, 7])
    assert ids.values.tolist() == [5, 9, 1, 7]
    assert codes.tolist() == [3, 2, 1, 3]
    assert ids.encode([1, 5, 7, 9, 8]).tolist() == [2, 0, 3, 1, -1]


def test_integers_and_strings_are_compared_as_strings():
    numbers, _ = Ids.of([7, 12])
    assert numbers.encode(["12", "007", "x", "7"]).tolist() == [1, -1, -1, 0]
    texts, _ = Ids.of(["x", "7"])
    assert texts.encode([7, 8]).tolist() == [0, -1]
    both, codes = numbers.extend(["x", "7"])
    assert both.values.tolist() == ["7", "12", "x"] and codes.tolist() == [2, 0]


def test_one_map_over_two_columns():
    ids, (src, dst) = Ids.over([[10, 30], [20, 10]])
    assert ids.values.tolist() == [10, 20, 30]
    assert (src.tolist(), dst.tolist()) == ([0, 2], [1, 0])
    ids, (src, dst) = Ids.over([[10, 9], ["b", "10"]])
    assert ids.values.tolist() == ["10", "9", "b"]
    assert (src.tolist(), dst.tolist()) == ([0, 1], [2, 0])


def test_many_chunks_give_what_one_gives(monkeypatch):
    rng = np.random.default_rng(1)
    columns = [
        rng.integers(-20, 20, 100),
        rng.integers(-(2**62), 2**62, 100)[rng.integers(0, 100, 100)],
    ]
    whole = [Ids.of(column) for column in columns]
    monkeypatch.setattr(module, "CHUNK", 7)
    for column, (ids, codes) in zip(columns, whole, strict=True):
        again, codes_again = Ids.of(column)
        assert again == ids and (codes_again == codes).all()
        assert b"".join(again.chunks()) == b"".join(ids.chunks())


def test_narrow_and_wide_integers_make_one_map():
    sparse = [-(2**31), 5, 2**31 - 1]
    assert (
        Ids.of(np.array(sparse, np.int32))[0]
        == Ids.of(np.array(sparse))[0]
        == Ids.of(np.array([], np.int8))[0].extend(sparse)[0]
    )


def test_the_extremes_of_64_bits():
    ids, codes = Ids.of(np.array([2**63 - 1, -(2**63)]))
    assert ids.decode(codes).tolist() == [2**63 - 1, -(2**63)]
    for column in (
        np.array([2**64 - 1, 1], np.uint64),
        [2**64 - 1, 1],
        np.array([2**64 - 1, 1], object),
    ):
        ids, codes = Ids.of(column)
        assert ids.decode(codes).tolist() == [2**64 - 1, 1] and ids.values.tolist() == [
            1,
            2**64 - 1,
        ]
    ids, codes = Ids.of(np.array([2**70, 3], object))
    assert ids.decode(codes).tolist() == [str(2**70), "3"]
    assert (
        Ids.of(np.array([2, 1], np.uint8))[0]
        == Ids.of([1, 2])[0]
        == Ids.of(np.array([1, 2], object))[0]
    )


def test_hashes_beside_other_integers():
    ids, codes = Ids.of([3, 7])
    more, new = ids.extend([2**64 - 1, 7, 2**63])
    assert (
        more.values.tolist() == [3, 7, 2**63, 2**64 - 1]
        and new.tolist() == [3, 1, 2]
        and codes.tolist() == [0, 1]
    )
    assert more.values.dtype == np.uint64 and more.encode([-1, 3, 2**63, 4]).tolist() == [
        -1,
        0,
        2,
        -1,
    ]
    assert more.encode(["3", str(2**63), "x"]).tolist() == [0, 2, -1]
    assert ids.encode([2**63, 7]).tolist() == [-1, 1]
    both, new = more.extend([-5])
    assert both.values.tolist() == [
        "3",
        "7",
        str(2**63),
        str(2**64 - 1),
        "-5",
    ] and new.tolist() == [4]
    assert Ids.of([-5])[0].extend([2**63])[0].values.tolist() == ["-5", str(2**63)]
    assert Ids.over([[5], [2**63], [-1]])[0].values.tolist() == sorted(["5", str(2**63), "-1"])
    assert Ids.of([2**64 - 1, -1])[0].values.tolist() == ["-1", str(2**64 - 1)]


def test_a_column_that_is_given_is_never_written_to():
    coded = CodedColumn(np.array([1, 0, 1], np.int32), np.array(["a", "b"], STRING))
    column = np.array([3, 1, 2], np.int32)
    Ids.of(["b"])[0].extend(coded)
    Ids.of(column)
    assert coded.codes.tolist() == [1, 0, 1] and column.tolist() == [3, 1, 2]


def test_equality_and_digest_bytes_tell_kinds_and_splits_apart():
    maps = [
        Ids.of(column)[0]
        for column in (
            [1, 2],
            [1, 3],
            [-1, -2],
            [2**64 - 2, 2**64 - 1],
            ["1", "2"],
            ["12"],
            ["1", "2", ""],
        )
    ]
    assert all((a == b) == (a is b) for a in maps for b in maps)
    assert len({b"".join(ids.chunks()) for ids in maps}) == len(maps)


@pytest.mark.parametrize(
    "column",
    [
        [1.5],
        [True],
        [None, "a"],
        [[1, 2]],
        np.array([1, "a"], object),
        np.array(["2020-01-01"], "M8[D]"),
    ],
)
def test_what_is_no_column_of_ids_is_refused(column):
    with pytest.raises(DataError, match="ids are"):
        Ids.of(column)


def test_no_index_no_id():
    ids, _ = Ids.of([4, 5])
    for wrong in ([-1], [0, 2]):
        with pytest.raises(IndexError):
            ids.decode(np.array(wrong))


def test_too_many_vertices_are_refused(monkeypatch):
    monkeypatch.setattr(module, "MAX_VERTICES", 3)
    ids, _ = Ids.of([1, 2, 3])
    with pytest.raises(DataError, match="4 different vertices"):
        ids.extend([1, 4, 5, 6])


@pytest.mark.parametrize(
    ("ids", "text", "index"),
    [
        ([7, -3, 20], "7", 1),  # ids are ascending
        ([7, -3, 20], "-3", 0),
        ([7, -3, 20], "07", -1),
        ([7, -3, 20], "x", -1),
        ([7, -3, 20], "99999999999999999999", -1),
        ([7, 2**64 - 1], str(2**64 - 1), 1),
        (["b", "07"], "07", 0),
        (["b", "07"], "7", -1),
    ],
)
def test_an_id_as_it_is_written(ids, text, index):
    assert Ids.of(ids)[0].index_of(text) == index


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u4"])
def test_long_columns_of_any_number_of_threads(monkeypatch, threads, dtype):
    column = np.random.default_rng(0).integers(0, 100, 1000).astype(dtype)
    expected = Ids.of(column)
    monkeypatch.setattr("tux.base.parallel._chosen", [threads])
    monkeypatch.setattr(module, "COMPILED_ROWS", 10)
    monkeypatch.setattr("tux.arrays.ranks.slices", lambda n: slices(n, 100))
    column.flags.writeable = False
    for given_column in (column, np.repeat(column, 2)[::2]):  # not in line
        ids, codes = Ids.of(given_column)
        assert ids == expected[0] and np.array_equal(codes, expected[1])
        assert codes.dtype == np.int32 and codes.flags.writeable
        assert ids.values.dtype == np.int64
        more, codes = Ids.of(np.arange(50, 60)[:3])[0].extend(given_column)
        assert more.decode(codes).tolist() == given_column.tolist()


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ([5, 2], pa.int64()),
        ([-3, 2**40], pa.int64()),
        ([2**63, 1], pa.uint64()),
        (["x", "5"], pa.string()),
        ([], pa.int64()),
    ],
)
def test_a_column_in_pieces_has_the_ids_of_the_whole(monkeypatch, last, kind):
    monkeypatch.setattr(module, "COMPILED_ROWS", 10)

    def column():
        pieces = ColumnPieces(None)
        for integers in (np.arange(9, dtype=np.int32)[::-1], np.array([4, 4], np.int64)):
            pieces.append(integers)
        pieces.append(_ids(pa.array(last, kind)))
        return pieces

    ids, codes = Ids.of(pieces := column())
    whole, expected = Ids.of(column().whole())
    assert ids == whole and codes.dtype == np.int32 and np.array_equal(codes, expected)
    assert len(pieces.whole()) == 0  # given up
