"""Columns that arrive piece by piece, in `tux.arrays.arrow.Pieces`."""

import numpy as np
import pyarrow as pa
import pytest

from tux.arrays import arrow
from tux.arrays.arrow import CodedColumn, Pieces


def words(column):
    assert isinstance(column, CodedColumn)
    return column.values[column.codes].tolist()


@pytest.mark.parametrize("merged", [0, 3, 1 << 20])
def test_pieces_of_strings_have_one_dictionary(monkeypatch, merged):
    """Whenever those that wait are put into it."""
    monkeypatch.setattr(arrow, "MERGED", merged)
    rng, pieces, expected = np.random.default_rng(merged), Pieces([None]), []
    for _ in range(9):
        texts = [f"v{n}" for n in rng.integers(0, 12, rng.integers(0, 8))]
        expected += texts
        pieces.add(pa.table([pa.array(texts, pa.string())], names=["0"]))
    column = pieces.columns()[0]
    assert words(column) == expected
    assert len(set(column.values.tolist())) == len(column.values)


@pytest.mark.parametrize("merged", [0, 1 << 20])
def test_integers_before_and_behind_strings(monkeypatch, merged):
    monkeypatch.setattr(arrow, "MERGED", merged)
    pieces = Pieces([None, np.dtype("f4")])
    for ids in ([7, 7, -3], ["x", "7", " y"], [12, 7], ["-3"]):
        kind = pa.string() if isinstance(ids[0], str) else pa.int64()
        coded = pa.array(ids, kind).dictionary_encode() if kind == pa.string() else pa.array(ids)
        pieces.add(pa.table([coded, pa.array([1.5] * len(ids))], names=["0", "1"]))
    assert pieces.rows == 9
    ids, numbers = pieces.columns()
    assert words(ids) == ["7", "7", "-3", "x", "7", "y", "12", "7", "-3"]
    assert numbers.tolist() == [1.5] * 9 and numbers.dtype == np.float32


def test_numbers_are_given_up_piece_by_piece():
    pieces = Pieces([np.dtype("f4")])
    for n in range(3):
        pieces.append([np.full(2, n, np.float32)])
    row = pieces.each[0].stream_pieces()
    assert (row.rows, row.dtype) == (6, np.float32)
    assert row.whole().tolist() == [0, 0, 1, 1, 2, 2]
    assert list(row.pieces) == []
