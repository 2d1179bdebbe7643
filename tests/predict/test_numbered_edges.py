"""Rows and columns of matrices, and vertices of graphs, are numbered from 1 in some forms of edges
and from 0 in others: a model of one form knows the same vertices in the other, or refuses them.
"""

import logging

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.io import mmwrite, savemat
from support.messages import message

import tux
from tux.arrays.ids import Ids
from tux.base.errors import DataError
from tux.inputs.load import load
from tux.io.bags.bags import read_bags
from tux.io.edges.read import read_edges

RATINGS = np.array([[1, 0, 2], [0, 3, 0], [4, 0, 0], [0, 0, 5.0]])
FORMS = ("m.mtx", "m.npz", "m.mat", "memory")


@pytest.fixture
def make_matrix(tmp_path, monkeypatch):
    """Return a function that makes a matrix in a form, in the folder of the test."""
    monkeypatch.chdir(tmp_path)

    def give(form, matrix=RATINGS):
        matrix = sp.coo_array(matrix)
        name = f"{len([*tmp_path.iterdir()])}{form}"
        match form:
            case "memory":
                return matrix
            case "m.mtx":
                mmwrite(name, matrix)
            case "m.npz":
                sp.save_npz(name, matrix)
            case "m.mat":
                savemat(name, {"network": sp.csc_matrix(matrix)})
        return name

    return give


def entries(edges):
    """Return the entries of the matrix that edges stand for, by the ids of training."""
    rows, columns = edges.ids["user"].decode(edges.src), edges.ids["item"].decode(edges.dst)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return dict(zip(pairs, edges.fields["value"].tolist(), strict=True))


def read(train, test, told=None):
    """Read held-out edges beside those of training."""
    warn = (told if told is not None else []).append
    return load(tux.MF(), train, test, warn=warn)


@pytest.mark.parametrize("trained", FORMS)
@pytest.mark.parametrize("held_out", FORMS)
def test_held_out_entries_are_those_of_the_same_rows_and_columns(make_matrix, trained, held_out):
    told = []
    loaded = read(make_matrix(trained), make_matrix(held_out), told)
    assert entries(loaded.test) == entries(loaded.train)
    assert not any(loaded.test.unseen.values())
    words = "users and items are numbered from"
    assert sum(words in text for text in told) == ((trained == "m.mtx") != (held_out == "m.mtx"))


def test_a_graph_of_one_vertex_type(tmp_path):
    """METIS counts from 1.

    1 - 2 - 3
    """
    path = tmp_path / "m.npz"
    sp.save_npz(path, sp.coo_array(([1, 1], ([0, 1], [1, 2])), shape=(3, 3)))
    known = {"page": Ids(np.array([1, 2, 3]))}
    edges = read_edges(path, ("page", "page"), {}, against=known, numbered="METIS from 1")
    assert edges.ids["page"].decode(edges.src).tolist() == [1, 2]
    assert edges.numbered == "matrix from 0" and edges.unseen == {"page": 0}
    (note,) = edges.notes
    assert note.endswith("number j is number j + 1 of training")
    graph = tmp_path / "m.graph"
    graph.write_text("3 2\n2\n1 3\n2\n")
    known = {"page": Ids(np.array([0, 1, 2]))}
    how = {"against": known, "numbered": "matrix from 0", "undirected": "once"}
    edges = read_edges(graph, ("page", "page"), {}, **how)
    assert edges.ids["page"].decode(edges.dst).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("numbered", "first"), [("matrix from 0", 0), ("Matrix Market from 1", 1), ("METIS from 1", 1)]
)
def test_documents_for_a_model_of_a_matrix(tmp_path, numbered, first):
    """Words of docword are numbered from 1, those of lda-c from 0."""
    known = {"word": Ids(np.arange(3) + first)}
    for form, text in (("docword", "1\n3\n2\n1 1 4\n1 3 5\n"), ("lda-c", "2 0:4 2:5\n")):
        path = tmp_path / form
        path.write_text(text)
        edges = read_bags(path, form=form, against=known, numbered=numbered).edges
        assert edges.dst.tolist() == [0, 2] and edges.unseen["word"] == 0


def test_where_it_is_not_sure(make_matrix):
    """A matrix that is larger by an empty row and an empty column may have the ids of the file."""
    padded = np.pad(RATINGS, [(1, 0), (1, 0)])
    for trained, test in (("m.mtx", "m.npz"), ("m.npz", "m.mtx")):
        with pytest.raises(DataError, match=message("is-empty-and-there-are")) as error:
            read(make_matrix(trained), make_matrix(test, padded))
        assert "5 rows for 4 users" in error.value.what
        same = read(make_matrix(trained), make_matrix(test, np.pad(RATINGS, [(0, 1), (0, 1)])))
        assert entries(same.test) == entries(same.train)


def test_tables_are_taken_as_they_are_and_doubted(make_matrix):
    """Their ids are names, but a number that training does not have shows another first one."""
    rows, columns = np.nonzero(RATINGS)
    for form, first in (("m.npz", 0), ("m.mtx", 1)):
        for begin in (0, 1):
            table = pd.DataFrame({"user": rows + begin, "item": columns + begin, "rating": 1.0})
            told = []
            read(make_matrix(form), table, told)
            seem = f"{first} in training"
            assert any("seem to be from" in text and seem in text for text in told) == (
                begin != first
            )
    for form, begin in (("m.npz", 1), ("m.mtx", 0), ("m.npz", 0), ("m.mtx", 1)):
        told = []
        table = pd.DataFrame({"user": rows + begin, "item": columns + begin, "rating": 1.0})
        read(table, make_matrix(form), told)
        doubted = any("seem to be numbered from" in text for text in told)
        assert doubted == (begin != (form == "m.mtx"))


def test_pairs_to_predict(make_matrix, caplog):
    run = tux.run(tux.MF(rank=2), make_matrix("m.mtx"), epochs=1, progress=False, jit=False)
    expected = sorted(run.predict(make_matrix("m.mtx")).tolist())  # MATLAB has entries by column
    with caplog.at_level(logging.WARNING):
        for form in FORMS[1:]:
            assert sorted(run.predict(make_matrix(form)).tolist()) == expected
    assert caplog.text.count("users and items are numbered from 1 in training") == 3
