"""Matrices, networks, texts, samples and points in memory."""

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from support.programs.held_data import (
    STRING,
    DocumentWords,
    LabelledSamples,
    LinkedPages,
    PointsInPlane,
    RatedPairs,
    WeighedPages,
    load_data,
    rows,
    wrong,
)

from tux.arrays.edges import EdgeData

# ---- matrices and networks


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia"])
def test_a_matrix_of_ratings(form):
    matrix = sp.coo_matrix(([4.0, 2.0], ([2, 0], [1, 0])), (4, 2)).asformat(form)
    inputs, _ = load_data(RatedPairs, matrix, sp.csr_array(np.array([[0, 0, 9.0]])))
    assert rows(inputs.train) == [(0, 0, 2), (2, 1, 4)]
    assert inputs.train.ids["user"].values.tolist() == [0, 1, 2, 3]
    assert rows(inputs.test) == [(0, 2, 9)] and inputs.test.unseen == {"user": 0, "item": 1}


def test_bad_entries_of_a_matrix():
    matrix = sp.csr_array(np.array([[1.0, np.nan], [0, 3.0]]))
    said = wrong(RatedPairs, matrix)
    assert "value of column 1 is nan, not a finite number" in said and "row 0" in said
    inputs, _ = load_data(RatedPairs, matrix, on_bad_row="skip")
    assert rows(inputs.train) == [(0, 0, 1), (1, 1, 3)] and inputs.train.skipped == 1
    assert "no columns to name" in wrong(RatedPairs, matrix, columns="a,b,c")
    assert "complex128" in wrong(RatedPairs, sp.csr_array(np.array([[1j]])))


def test_adjacency():
    #  0 --> 1 --> 2     3
    matrix = sp.csr_array(([0.5, 2.0], ([0, 1], [1, 2])), (4, 4))
    assert rows(load_data(LinkedPages, matrix)[0].train) == [(0, 1), (1, 2)]
    weighed = load_data(WeighedPages, matrix)[0].train
    assert rows(weighed) == [(0, 1, 0.5), (1, 2, 2)] and len(weighed.ids["page"]) == 4
    assert "4 x 3: it has no edges from page to page" in wrong(LinkedPages, matrix[:, :3])


def test_networks():
    graph = nx.Graph([("a", "b"), ("b", "c")])
    graph.add_node("d")
    train = load_data(LinkedPages, graph)[0].train
    assert rows(train) == [("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")]
    assert train.ids["page"].values.tolist() == ["a", "b", "c", "d"]
    nx.set_edge_attributes(graph, 2.5, "weight")
    assert set(load_data(WeighedPages, graph)[0].train.fields["weight"]) == {2.5}
    assert "has no attribute 'weight'" in wrong(WeighedPages, nx.Graph([(1, 2)]))
    assert "holds no edge" in wrong(LinkedPages, nx.empty_graph(3))
    rated = nx.Graph()
    rated.add_edge(("user", 1), ("item", "x"), weight=3)
    inputs, _ = load_data(RatedPairs, rated)
    assert rows(inputs.train) == [(1, "x", 3)] and inputs.train.columns == {"value": "weight"}


# ---- documents

TEXTS = ["The cat sat.\nThe cat!", "", "a dog SAT"]
COUNTED = [(0, "cat", 2), (0, "sat", 1), (0, "the", 2), (2, "dog", 1), (2, "sat", 1)]


def series(texts):
    return pytest.importorskip("pandas").Series(texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    "make", [list, tuple, np.array, series, pa.array, lambda t: np.array(t, STRING)]
)
def test_texts(make):
    train = load_data(DocumentWords, make(TEXTS))[0].train
    assert rows(train) == COUNTED
    assert train.ids["document"].values.tolist() == [0, 1, 2]


def test_texts_with_stop_words_and_a_vocabulary(tmp_path):
    (tmp_path / "stop.txt").write_text("the\n")
    (tmp_path / "vocab.txt").write_text("cat\nsat\nthe\n")
    stopped = load_data(DocumentWords, TEXTS, stop=tmp_path / "stop.txt")[0].train
    assert rows(stopped) == [row for row in COUNTED if row[1] != "the"]
    known = load_data(DocumentWords, TEXTS, vocab=tmp_path / "vocab.txt")[0].train
    assert rows(known) == [row for row in COUNTED if row[1] != "dog"]


def test_texts_that_are_missing_are_bad():
    given = np.array(["cat sat", None, "dog sat"], object)
    assert "the text is missing" in wrong(DocumentWords, given)
    train = load_data(DocumentWords, given, on_bad_row="skip")[0].train
    assert train.ids["document"].values.tolist() == [0, 2] and train.skipped == 1


def test_lists_of_words_are_taken_as_they_are():
    given = [["The", "cat", "The"], [], ("x y",)]
    inputs, _ = load_data(DocumentWords, given, [["cat", "new"]])
    assert rows(inputs.train) == [(0, "The", 2), (0, "cat", 1), (2, "x y", 1)]
    assert len(inputs.train.ids["document"]) == 3
    assert [row[1:] for row in rows(inputs.test)] == [("cat", 1), ("new", 1)]
    assert not set(inputs.test.src) & {0, 1, 2}  # other documents than those of training
    assert "the document is no list of words" in wrong(DocumentWords, [["a"], [3]])
    assert "a stop list goes with text" in wrong(DocumentWords, given, stop="stop.txt")


COUNTS = np.array([[2, 0, 1], [0, 0, 0], [0, 3, 0]])


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize(
    "words", [["x", "y", "z"], np.array(["x", "y", "z"]), {"z": 2, "x": 0, "y": 1}]
)
def test_a_matrix_of_counts_and_its_words(form, words):
    matrix = sp.csr_array(COUNTS).asformat(form)
    numbers = load_data(DocumentWords, matrix)[0].train
    assert rows(numbers) == [(0, 0, 2), (0, 2, 1), (2, 1, 3)]
    assert numbers.ids["document"].values.tolist() == [0, 1, 2]
    inputs, _ = load_data(DocumentWords, (matrix, words), (matrix, words))
    assert rows(inputs.train) == [(0, "x", 2), (0, "z", 1), (2, "y", 3)]
    assert len(inputs.test.ids["word"]) == 3 and inputs.test.src.min() >= 3


def test_what_is_wrong_with_a_matrix_of_counts():
    matrix = sp.csr_array(COUNTS * 0.5)
    said = wrong(DocumentWords, matrix)
    assert "count of word 2 is '0.5', not a whole number" in said and "row 0" in said
    assert "at least 1" in wrong(DocumentWords, sp.csr_array(-COUNTS))
    some = sp.csr_array(np.array([[0.5, 0], [0, 3]]))
    assert rows(load_data(DocumentWords, some, on_bad_row="skip")[0].train) == [(1, 1, 3)]


def test_a_dense_matrix_is_not_taken_for_columns():
    for program, given in (
        (DocumentWords, COUNTS.repeat(2, axis=1)),
        (LinkedPages, np.eye(4, dtype=int)),
    ):
        assert "it may be a matrix" in wrong(program, given)
    assert rows(load_data(DocumentWords, np.array([[7, 1, 2]]))[0].train) == [(7, 1, 2)]
    assert rows(load_data(LinkedPages, np.array([[7, 1, 2]]))[0].train) == [(7, 1)]


def test_words_must_fit_the_matrix():
    matrix = sp.csr_array(COUNTS)
    assert "words of shape (2,) for 3 columns" in wrong(DocumentWords, (matrix, ["x", "y"]))
    assert "'x' is the word of two columns" in wrong(DocumentWords, (matrix, ["x", "y", "x"]))
    assert "words are strings" in wrong(DocumentWords, (matrix, [1, 2, 3]))
    assert "are not 0, 1, 2" in wrong(DocumentWords, (matrix, {"x": 0, "y": 2, "z": 3}))


def test_a_list_of_names_is_one_of_files(tmp_path):
    path = tmp_path / "my words.txt"  # with a blank, as texts have
    path.write_text("1,a,2\n")
    assert rows(load_data(DocumentWords, [str(path)])[0].train) == [(1, "a", 2)]
    assert "no such file" in wrong(DocumentWords, ["nowhere.txt", "neither.txt"])


# ---- samples

X = np.array([[0.5, 0, 1], [0, 2, 0], [0, 0, 0], [1, 0, 0]])
ENTRIES = [(0, 0, 0.5), (0, 2, 1), (1, 1, 2), (3, 0, 1)]


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dense", "lists"])
@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 1, 0],
        np.array(["no", "yes", "yes", "no"]),
        np.array([False, True, True, False]),
        pa.array([-1, 1, 1, -1]),
    ],
    ids=["list", "words", "truths", "arrow"],
)
def test_a_matrix_and_its_labels(form, y):
    plain = {"dense": X, "lists": X.tolist()}
    x = plain[form] if form in plain else sp.csr_array(X).asformat(form)
    train = load_data(LabelledSamples, (x, y))[0].train
    assert rows(train) == ENTRIES
    assert train.ids["sample"].values.tolist() == [0, 1, 2, 3]
    assert train.vertex_fields["sample"]["label"].tolist() == [-1, 1, 1, -1]
    assert train.vertex_fields["sample"]["weight"].tolist() == [1, 1, 1, 1]


def test_test_samples_follow_those_of_training():
    inputs, _ = load_data(
        LabelledSamples, (sp.csr_array(X), [0, 1, 1, 0], [1, 2, 3, 4.0]), (X[:2], [1, 1])
    )
    assert inputs.train.vertex_fields["sample"]["weight"].tolist() == [1, 2, 3, 4]
    assert inputs.test.src.tolist() == [4, 4, 5] and inputs.test.unseen["feature"] == 0
    assert inputs.test.vertex_fields["sample"]["label"].tolist()[4:] == [1, 1]


def test_a_table_and_its_labels():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 0.0], "b": ["x", "y"]}, index=pd.Index([8, 9], name="row"))
    train = load_data(LabelledSamples, (frame, pd.Series(["n", "p"])))[0].train
    assert rows(train) == [(0, "a", 1), (0, "b=x", 1), (1, "b=y", 1)]
    assert train.vertex_fields["sample"]["label"].tolist() == [-1, 1]


def test_labels_in_a_file(tmp_path):
    (tmp_path / "labels.txt").write_text("1\n0\n0\n1\n")
    train = load_data(LabelledSamples, sp.csr_array(X), labels=tmp_path / "labels.txt")[0].train
    assert train.vertex_fields["sample"]["label"].tolist() == [1, -1, -1, 1]


def test_what_is_wrong_with_samples():
    x = sp.csr_array(X)
    assert "(X, y)" in wrong(LabelledSamples, x)
    assert "3 labels, but 4 samples" in wrong(LabelledSamples, (x, [0, 1, 1]))
    assert "3 kinds of labels" in wrong(LabelledSamples, (x, [0, 1, 2, 0]))
    said = wrong(LabelledSamples, (x, [0, 1, np.nan, 0]))
    assert "'nan', not finite" in said and "the labels, row 2" in said
    skipped = load_data(LabelledSamples, (x, np.array([0, 1, None, 0], object)), on_bad_row="skip")[
        0
    ].train
    assert skipped.ids["sample"].values.tolist() == [0, 1, 3]
    bad = X.copy()
    bad[1, 1] = np.inf
    said = wrong(LabelledSamples, (bad, [0, 1, 1, 0]))
    assert "value of feature 1" in said and "row 1" in said
    assert "the weight is -1" in wrong(LabelledSamples, (x, [0, 1, 1, 0], [1, -1.0, 1, 1]))
    assert "for 4 samples" in wrong(LabelledSamples, (x, [0, 1, 1, 0], [1.0]))
    assert "no columns with names" in wrong(LabelledSamples, (x, [0, 1, 1, 0]), weight="w")
    assert "given twice" in wrong(LabelledSamples, (x, [0, 1, 1, 0]), labels="labels.txt")
    assert "is nothing that LabelledSamples reads" in wrong(LabelledSamples, np.ones(3))
    assert "no column of labels" in wrong(LabelledSamples, {"a": [1.0, 2.0], "b": [1.0, 3.0]})


# ---- points, vertices and others


def test_points_of_an_array_are_numbered_from_0():
    train = load_data(PointsInPlane, X[:, :2])[0].train
    assert train.ids["point"].values.tolist() == [0, 1, 2, 3]
    assert train.vertex_fields["point"]["x"].tolist() == X[:, :2].tolist()
    assert load_data(PointsInPlane, X[:, :2].tolist())[0].train.digest() == train.digest()
    assert "x[1] is nan" in wrong(PointsInPlane, np.array([[1.0, np.nan]]))
    assert "is nothing that PointsInPlane reads" in wrong(PointsInPlane, sp.csr_array(X))


def test_edges_stay_as_they_are():
    edges = EdgeData.of(("user", "item"), [1], [2], {"value": np.float32([3])})
    assert load_data(RatedPairs, edges)[0].train is edges


@pytest.mark.parametrize(
    "program", [RatedPairs, LinkedPages, DocumentWords, LabelledSamples, PointsInPlane]
)
def test_other_objects_are_refused(program):
    said = wrong(program, 42)
    assert f"is nothing that {program.__name__} reads" in said and "names of files" in said
