"""A share of the rows of a sparse matrix of scipy, as one of several processes reads it: the arrays
of compressed rows are read from the first entry of its rows to the last.
"""

from __future__ import annotations

import numpy as np

from tux.arrays.npy import read_npz, read_npz_rows
from tux.base.errors import DataError
from tux.io.bags.entries import BagSpec
from tux.io.samples.labels import SampleRows
from tux.io.samples.matrix import matrix_rows
from tux.io.source.input_files import FilePiece, pieces_of


def read_matrix_rows(asked: BagSpec, whole: str, labels: int) -> SampleRows:
    """Read the rows of a share of the matrix in a .npz file, numbered from 1 here, which has as
    many rows in all as there are `labels`. See `tux.io.samples.matrix.read_matrix`.

    Raises `DataError` for what cannot be read in shares, and where reading the whole finds a fault.
    """
    files, pieces = pieces_of(whole), pieces_of(asked.path)
    piece = pieces[0] if pieces else FilePiece(files[0].path, 0, 0)
    form, rows, columns = _read_head(piece.path)
    if len(files) > 1 or form != "csr" or rows != labels or asked.bits:
        raise DataError(f"{piece.path} is no matrix of {labels:,} compressed rows")
    end = rows if piece.end is None else piece.end
    bounds = read_npz_rows(piece.path, "indptr", piece.begin, end + 1, rows + 1)
    if bounds.dtype.kind not in "iu":
        raise DataError(f"{bounds.dtype} instead of bounds", where=f"{piece.path}:indptr")
    bounds = bounds.astype(np.int64)
    if (np.diff(bounds) < 0).any() or (bounds[0] and not piece.begin):
        raise DataError("no bounds of rows", where=f"{piece.path}:indptr")
    entries = int(bounds[0]), int(bounds[-1])
    arrays = {name: read_npz_rows(piece.path, name, *entries) for name in ("indices", "data")}
    shape = np.array([end - piece.begin, columns])
    arrays |= {"format": np.array("csr"), "shape": shape, "indptr": bounds - bounds[0]}
    asked.bad.places.begin(1, piece, piece.begin + 1)
    return matrix_rows(arrays, asked, end - piece.begin)


def _read_head(path: str) -> tuple[str, int, int]:
    """Return the form of the matrix in a .npz file, and its numbers of rows and of columns."""
    arrays = read_npz(path, ("format", "shape"))
    form, shape = arrays.get("format"), arrays.get("shape")
    if form is None or shape is None or form.size != 1 or shape.shape != (2,):
        raise DataError(f"{path} holds no sparse matrix of two dimensions")
    if shape.dtype.kind not in "iu" or int(shape.min()) < 0:
        raise DataError(f"{shape.tolist()} is the shape of no matrix", where=f"{path}:shape")
    return form.astype("U").item(), int(shape[0]), int(shape[1])
