"""Tables of vertices where new vertices come: held-out edges in memory, and rows to predict for."""

import numpy as np
import pytest
from support.messages import message

from tux import Edge, Program, Vertex, data, shared
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError
from tux.cli.main import main
from tux.inputs.load import load
from tux.options.options import Reading, RunOptions
from tux.predict.export import export
from tux.predict.rows import predict_rows
from tux.program.sources import find
from tux.runs.session import run

COUNT = '''
"""How old and how long documents are."""
from tux import Edge, Program, Report, Vertex, data, shared
from tux.stages import Apply, Exchange, Score


class Kinds(Report):
    def exports(self):
        return {"kinds": lambda program, model: model.categories["document"]}


def count(word, document):
    word.n += document.age


def known(document, edges):
    total = document.age * 100 + document.kind * 1000
    for edge in edges:
        total += edge.word.n * edge.word.weight
    return total


class Count(Program):
    """How old and how long documents are."""

    document = Vertex(age=data("f4"), kind=data("i4"))
    word = Vertex(weight=data("f4"), n=shared("f4"))
    use = Edge("document", "word")
    report = Kinds()
    epochs = 1

    def stages(self):
        return [Exchange(count), Apply("word")]

    def predict(self):
        return Score(known, over="document")
'''


@pytest.fixture
def train_counts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "count.py": COUNT,
        "uses.csv": "document,word\n1,ash\n2,ash\n2,elm\n",
        "documents.csv": "id,age,kind\n1,3,news\n2,4,mail\n",
        "words.csv": "id,weight\nash,1\nelm,10\nfir,5\n",
        "new.csv": "document,word\n8,ash\n9,elm\n9,oak\n",
        "newer.csv": "id,age,kind\n9,1,news\n8,2,mail\n7,0,mail\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    vertices = {"document": "documents.csv", "word": "words.csv"}
    options = RunOptions(vertices=vertices, jit=False, out="run1")
    run(find("count.py").program(), "uses.csv", options=options)
    return tmp_path


def test_new_vertices_have_a_table_of_their_own(train_counts, capsys):
    #   ash is used by documents of age 3 and 4, elm by one of age 4, of weight 10
    reading = Reading(vertices={"document": "newer.csv"})
    found = predict_rows("run1", "new.csv", reading)
    assert found["document"].tolist() == [8, 9]
    assert found["score"].tolist() == [7 + 200 + 0, 40 + 100 + 1000]
    argv = ["predict", "run1", "new.csv", "--vertices", "document=newer.csv"]
    assert main(argv) == 0 and "8,207" in capsys.readouterr().out


def test_exports_know_the_categories(train_counts):
    assert export("run1", "kinds")["kind"].tolist() == ["mail", "news"]


def test_without_one_their_data_count_as_nought(train_counts):
    told = []
    assert predict_rows("run1", "new.csv", warn=told.append)["score"].tolist() == [7, 40]
    assert "data of new documents count as 0; --vertices document=FILE" in "".join(told)


def test_types_that_a_program_does_not_have(train_counts, capsys):
    assert main(["predict", "run1", "new.csv", "--vertices", "words=words.csv"]) == 2
    assert "did you mean word" in capsys.readouterr().err
    assert main(["predict", "run1", "new.csv", "--vertices", "words.csv"]) == 2
    assert "say --vertices TYPE=FILE" in capsys.readouterr().err


class UsersWithRows(Program):
    user = Vertex(age=data("f4", default=-1))
    item = Vertex(f=shared("f4"))
    rating = Edge("user", "item")


def test_held_out_edges_in_memory_meet_the_vertices_that_a_table_adds():
    train = EdgeData.of(("user", "item"), [1, 5], ["a", "b"], {})
    test = EdgeData.of(("user", "item"), [7, 5, 3], ["b", "b", "a"], {}, against=train.ids)
    table = {"id": [3, 1, 4, 5], "age": np.array([30, 10, 40, 50])}
    inputs = load(UsersWithRows(), train, test, Reading(vertices={"user": table}))
    ids, ages = inputs.test.ids["user"].values, inputs.test.vertex_fields["user"]["age"]
    assert inputs.train.ids["user"].values.tolist() == ids[:4].tolist() == [1, 5, 3, 4]
    assert ids[inputs.test.src].tolist() == [7, 5, 3]
    assert ages[inputs.test.src].tolist() == [-1, 50, 30]


def test_what_held_out_edges_of_other_ids_tell_of_vertices():
    ages = {"user": {"age": np.float32([10, 50])}}
    train = EdgeData.of(("user", "item"), [1, 5], ["a", "b"], {}, vertex_fields=ages)
    others = {"user": {"age": np.float32([51, 70])}}
    test = EdgeData.of(("user", "item"), [7, 5], ["b", "a"], {}, vertex_fields=others)
    inputs = load(UsersWithRows(), train, test)
    assert inputs.test.ids["user"].values.tolist() == [1, 5, 7]
    assert inputs.test.vertex_fields["user"]["age"].tolist() == [10, 51, 70]
    bare = EdgeData.of(("user", "item"), [1, 5], ["a", "b"], {})
    with pytest.raises(DataError, match=message("held-out-edges-tell-of", "user", "age")):
        load(UsersWithRows(), bare, test)
