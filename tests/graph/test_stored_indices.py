"""Numbers of all vertices in a folder, of which a worker reads few."""

import numpy as np
import pytest
from support.machines.team import cut_up

from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.graph import store, stored_arrays


@pytest.fixture
def folder(tmp_path):
    """Return a new folder with two parts of a graph of four users and three items."""
    edges = EdgeData.of(("user", "item"), [5, 6, 7, 8, 5], ["a", "b", "b", "c", "c"], {})
    store.save(tmp_path, cut_up(edges, k=2), edges.ends)
    return tmp_path


@pytest.mark.parametrize(
    "read", [np.asarray, lambda stored: stored[:], lambda stored: stored.sum()]
)
@pytest.mark.parametrize(
    ("name", "wrong", "array"),
    [
        ("user.home", np.int16(7), lambda part: part.types["user"].home),
        ("user.order", np.int32(-1), lambda part: part.types["user"].order),
        ("degrees.1", np.int32(-5), lambda part: part.degrees[1]),
    ],
)
def test_numbers_of_all_vertices_are_checked_when_they_are_read(folder, name, wrong, array, read):
    np.save(folder / f"{name}.npy", np.full_like(np.load(folder / f"{name}.npy"), wrong))
    stored = array(store.load(folder, 0))
    with pytest.raises(DataError, match="damaged") as error:
        read(stored)
    assert f"{name}.npy" in error.value.where


def test_what_is_not_read_is_not_checked(folder, monkeypatch):
    """A worker takes the entries of its rows, however many others there are."""
    monkeypatch.setattr(stored_arrays, "TAKEN", 2)
    whole = np.load(folder / "user.order.npy")
    damaged = whole.copy()
    damaged[-1] = 1000
    np.save(folder / "user.order.npy", damaged)
    order = store.load(folder, 0).types["user"].order
    assert order[:-1].tolist() == whole[:-1].tolist()
    assert order[np.array([2, 0, 1])].tolist() == whole[[2, 0, 1]].tolist()
    with pytest.raises(DataError, match="1000"):
        order[np.array([0, 1, 3])]
