"""Few entries of a large matrix, held out or to be scored, are said to be as large as it is."""

import numpy as np
import pytest
from scipy.io import mmwrite, savemat
from scipy.sparse import coo_matrix, save_npz

from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.edges.read import read_edges

SIZES = 300_000, 20_000
ENDS = ("user", "item")
WRITERS = {
    "npz": save_npz,
    "mtx": mmwrite,
    "mat": lambda path, matrix: savemat(path, {"network": matrix.tocsc()}),
}


@pytest.mark.parametrize("kind", WRITERS)
def test_sizes_that_training_has_are_believed(tmp_path, kind):
    path = str(tmp_path / f"few.{kind}")
    WRITERS[kind](path, coo_matrix(([5.0, 4.0], ([0, 299_999], [7, 19_999])), shape=SIZES))
    first = kind == "mtx"
    known = {end: Ids(np.arange(size) + first) for end, size in zip(ENDS, SIZES, strict=True)}
    edges = read_edges(path, ENDS, {"rating": "f4"}, against=known)
    assert len(edges) == 2
    known["user"] = Ids(np.arange(299_999) + first)
    for against in (known, None):
        with pytest.raises(DataError, match=r"said to be 300,000|2 entries only"):
            read_edges(path, ENDS, {"rating": "f4"}, against=against)
