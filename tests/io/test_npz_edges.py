"""Edges of sparse matrices that scipy.sparse.save_npz has written."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.programs.held_data import RatedPairs, WeighedPages, load_data, rows, wrong

from tux.io.edges.npz import npz_shape

FORMS = ["csr", "csc", "coo"]


@pytest.fixture
def save_matrix(tmp_path):
    """Return a function that saves a matrix as .npz, and returns the file's name."""

    def write(matrix, **how):
        sp.save_npz(tmp_path / "m.npz", matrix, **how)
        return str(tmp_path / "m.npz")

    return write


@pytest.mark.parametrize("form", FORMS)
def test_they_are_those_of_the_matrix_in_memory(save_matrix, form):
    matrix = sp.coo_array(([4.0, 2.0, 0.0], ([2, 0, 1], [1, 0, 0])), (4, 3)).asformat(form)
    path = save_matrix(matrix, compressed=form == "csr")
    train, held = load_data(RatedPairs, path)[0].train, load_data(RatedPairs, matrix)[0].train
    assert rows(train) == rows(held) == [(0, 0, 2), (1, 0, 0), (2, 1, 4)]
    for kind in ("user", "item"):
        assert train.ids[kind].values.tolist() == held.ids[kind].values.tolist()
    assert npz_shape(path) == (4, 3)


@pytest.mark.parametrize("form", FORMS)
def test_adjacency(save_matrix, form):
    #  0 --> 1 --> 2     3
    matrix = sp.coo_array(([0.5, 2.0], ([0, 1], [1, 2])), (4, 4)).asformat(form)
    train = load_data(WeighedPages, save_matrix(matrix))[0].train
    assert rows(train) == [(0, 1, 0.5), (1, 2, 2)]
    assert train.ids["page"].values.tolist() == [0, 1, 2, 3]


def test_what_is_no_matrix_of_edges(save_matrix, tmp_path):
    assert "4 x 3 matrix: it has no edges from page to page" in wrong(
        WeighedPages, save_matrix(sp.eye_array(4, 3, format="csr"))
    )
    assert "holds no edge" in wrong(RatedPairs, save_matrix(sp.csr_array((2, 2))))
    assert "not finite" in wrong(RatedPairs, save_matrix(sp.csr_array([[np.nan]])))
    assert "cannot hold" in wrong(RatedPairs, save_matrix(sp.csr_array([[1e300]])))
    assert "no columns to name" in wrong(
        RatedPairs, save_matrix(sp.eye_array(2).tocsr()), columns="a,b,c"
    )
    far = sp.coo_array(([1.0], ([0], [2**40])), (1, 2**41))
    assert "2,199,023,255,552, with 1 entries" in wrong(RatedPairs, save_matrix(far))
    np.savez(tmp_path / "a.npz", src=np.arange(3), dst=np.arange(3))
    assert "holds no sparse matrix" in wrong(RatedPairs, str(tmp_path / "a.npz"))
