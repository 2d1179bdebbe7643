"""Rows of numbers in pieces, in memory and in files."""

import io

import numpy as np
import pytest

from tux.arrays.npy import npy_pieces, write_pieces
from tux.arrays.pieced import ArrayPieces, pop_pieces


def test_pieces_are_one_row():
    rows = [
        ArrayPieces(np.dtype("i4"), 3, [np.arange(2), np.arange(1)]),
        ArrayPieces(np.dtype("i4"), 0, []),
    ]
    rows.append(ArrayPieces(np.dtype("i4"), 5, [np.arange(5)]))
    whole = ArrayPieces.concatenate(rows).whole()
    assert whole.dtype == np.int32
    assert whole.tolist() == [0, 1, 0, 0, 1, 2, 3, 4]


def test_a_list_is_drained_in_its_order():
    pieces = [np.arange(n) for n in (3, 1, 2)]
    left = [(len(piece), len(pieces)) for piece in pop_pieces(pieces)]
    assert left == [(3, 2), (1, 1), (2, 0)]


@pytest.mark.parametrize("dtype", ["i4", "f4", "i8", "u8", "f8", "i2", "?"])
@pytest.mark.parametrize("sizes", [[], [0], [3], [1, 0, 7, 2]])
def test_files_of_pieces_are_those_of_numpy(tmp_path, dtype, sizes):
    whole = (np.arange(sum(sizes)) % 3).astype(dtype)
    bounds = np.cumsum([0, *sizes])
    pieces = [whole[lo:hi] for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)]
    path, expected = tmp_path / "row.npy", io.BytesIO()
    write_pieces(path, ArrayPieces(whole.dtype, len(whole), pieces))
    np.save(expected, whole)
    assert path.read_bytes() == expected.getvalue()
    row = npy_pieces(path, 2 * whole.itemsize)
    assert (row.dtype, row.rows) == (whole.dtype, len(whole))
    pieces = list(row.pieces)
    assert max(map(len, pieces)) <= 2
    np.testing.assert_array_equal(np.concatenate(pieces), whole)
