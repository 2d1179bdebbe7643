"""Labels of vertices: lines of ids, pairs, MATLAB's groups; ids that the graph does not have;
and what is said of a bad line.
"""

import gzip

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from support.messages import message

from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.io.vertices.labels import read_vertex_labels

NUMBERS, NAMES = (
    Ids(np.array([7, 0, 12])),
    Ids(np.array(["ann", "bob", "a b", "7"], np.dtypes.StringDType())),
)


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(text, name="labels.txt"):
        data = text.encode() if isinstance(text, str) else text
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return name

    return write


def assignments(labels, ids):
    """Return the id and the label of each assignment."""
    return [
        (
            str(ids.values[i]),
            labels.names[k].item() if labels.names.dtype.kind == "i" else labels.names[k],
        )
        for i, k in zip(*np.nonzero(labels.member), strict=True)
    ]


@pytest.mark.parametrize("name", ["a.cmty", "a.cmty.gz", "a.all.cmty.txt", "A.CMTY"])
def test_a_line_of_ids_for_each_label(file, name):
    labels = read_vertex_labels(file("7\t12\n# none\n\n12 12 99 98 99\n97\n", name), NUMBERS)
    assert labels.names.tolist() == [1, 4, 5] and labels.unknown == 3
    assert labels.member.tolist() == [
        [True, False, False],
        [False, False, False],
        [True, True, False],
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 1\n12 1\n7 0\n", [("7", 0), ("7", 1), ("12", 1)]),
        ("# id label\n\n7\tbig cat\r\n0\tdog\n", [("7", "big cat"), ("0", "dog")]),
        ("7,1\n12,01\n", [("7", "1"), ("12", "01")]),
        ("node_id;label\n7;-3\n", [("7", -3)]),
        ("\ufeffnode,group\n0, 5", [("0", 5)]),
        ("  7   10  \n0 9\n", [("7", 10), ("0", 9)]),
        ("7 1\n7 1\n8 2\n", [("7", 1)]),
    ],
)
@pytest.mark.parametrize("name", ["labels.txt", "labels.csv.gz"])
def test_pairs(file, text, expected, name):
    assert assignments(read_vertex_labels(file(text, name), NUMBERS), NUMBERS) == expected


def test_ids_that_are_text(file):
    labels = read_vertex_labels(file("ann\tx\na b\ty\n7\tx\nnode\tx\n"), NAMES)
    assert (
        assignments(labels, NAMES) == [("ann", "x"), ("a b", "y"), ("7", "x")]
        and labels.unknown == 1
    )
    labels = read_vertex_labels(file("7 1\n8 1\n"), NAMES)
    assert assignments(labels, NAMES) == [("7", 1)] and labels.unknown == 1
    labels = read_vertex_labels(file("7 1\nx7 1\n007 2\n"), NUMBERS)  # text that meets numbers
    assert assignments(labels, NUMBERS) == [("7", 1)] and labels.unknown == 2


def test_a_matrix(file):
    scipy.io.savemat(
        "g.mat",
        {
            "group": sp.csr_array(
                np.array([[0, 1], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [1, 1]])
            )
        },
    )
    labels = read_vertex_labels("g.mat", NUMBERS)
    assert assignments(labels, NUMBERS) == [("7", 0), ("7", 1), ("0", 1)] and labels.unknown == 0
    assert not labels.moved
    one = Ids(np.arange(1, 9))  # as of METIS: row i is vertex i + 1
    labels = read_vertex_labels("g.mat", one)
    assert assignments(labels, one) == [("1", 1), ("8", 0), ("8", 1)] and labels.moved


@pytest.mark.parametrize(
    ("text", "where", "words"),
    [
        ("7 1\n12 1 2\n", "labels.txt:2", "3 columns instead of an id and a label"),
        ("7 1\n# c\n\n12\n", "labels.txt:4", "1 columns"),
        ("7\tone\n8\ttwo\n12\n", "labels.txt:3", "1 columns"),
        ("7,1\n12,\n", "labels.txt:2", "missing"),
        (b"7 1\n12 \xff\n", "labels.txt:2", "UTF-8"),
        (b"7 1\0\n", "", "not a text file"),
        ("", "", "no label"),
        ("# nothing\n", "", "no label"),
        ("ann x\nbob y\n", "", "no id of labels.txt is one of the graph"),
    ],
)
def test_what_is_wrong(file, text, where, words):
    with pytest.raises(DataError, match=words) as error:
        read_vertex_labels(file(text), NUMBERS)
    assert error.value.where == where


def test_too_many_labels_take_no_memory(file):
    path = file("".join(f"{n} {n}\n" for n in range(20_000)))
    with pytest.raises(
        DataError, match=message("has-different-labels-too-many", "20,000", "300,000")
    ):
        read_vertex_labels(path, Ids(np.arange(300_000)))


@pytest.mark.parametrize(
    ("name", "n", "count", "assigned"),
    [
        ("PPI.cmty.gz", 3_890, 50, 6_640),
        ("wikipedia.cmty.gz", 4_777, 40, 6_770),
        ("cora_labels.txt.gz", 2_708, 7, 2_708),
        ("wiki_labels.txt.gz", 2_405, 17, 2_405),
        ("blogcatalog.mat", 10_312, 39, 14_476),
    ],
)
def test_real_labels(real_data, name, n, count, assigned):
    labels = read_vertex_labels(real_data / "labelled" / name, Ids(np.arange(n)))
    assert (
        labels.member.shape == (n, count)
        and labels.member.sum() == assigned
        and labels.unknown == 0
    )
    assert labels.member.any(1).all()
