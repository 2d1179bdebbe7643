"""Strings in orders in which numpy's quicksort ends the process."""

import numpy as np
import pytest

from tux.arrays.arrow import STRING, CodedColumn
from tux.arrays.ids import Ids
from tux.arrays.strings import distinct_values
from tux.io.edges.read import read_edges
from tux.io.vertices.labels import read_vertex_labels

ORDERS = {
    "from the middle": np.roll(np.arange(10_000), 100),
    "descending": np.arange(10_000)[::-1],
    "odd, then even": np.concatenate([np.arange(1, 10_000, 2), np.arange(0, 10_000, 2)]),
    "up and down": np.concatenate([np.arange(5000), np.arange(5000)[::-1]]),
    "one": np.zeros(10_000, int),
}


def words(order):
    return np.array([f"user{at:07d}" for at in order], STRING)


@pytest.mark.parametrize("order", ORDERS)
def test_distinct_values(order):
    values = words(ORDERS[order])
    found, place = distinct_values(values)
    assert found.tolist() == sorted({*values.tolist()})
    assert (found[place] == values).all()
    ids, rows = Ids.of(CodedColumn(np.arange(len(values), dtype=np.int32), values))
    assert ids.values.tolist() == found.tolist() and (ids.values[rows] == values).all()


@pytest.mark.slow
def test_files_of_such_ids(tmp_path):
    names = words(ORDERS["from the middle"]).tolist()
    path = tmp_path / "e.csv"
    path.write_text("source,target\n" + "".join(f"{name},{name}\n" for name in names))
    edges = read_edges(path, ("v", "v"), {})
    assert edges.ids["v"].values.tolist() == sorted(names)
    labels = tmp_path / "l.csv"
    labels.write_text("node,label\n" + "".join(f"{name},{name}\n" for name in names))
    assert read_vertex_labels(labels, edges.ids["v"]).names.tolist() == sorted(names)
