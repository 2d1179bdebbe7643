"""`tux predict DIR DATA`: what a model says of the rows of a file, whatever the file's format."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.messages import message

from tux.arrays.arrow import read_parquet, write_parquet
from tux.arrays.edges import EdgeData
from tux.base.errors import DataError, UsageError
from tux.cli.main import main
from tux.options.options import Reading, RunOptions
from tux.predict.predict import predict
from tux.predict.rows import predict_rows
from tux.program.sources import find
from tux.runs.session import run

COUNT = '''
"""How often words occur."""
from tux import Bags, Edge, Program, Vertex, param, shared
from tux.stages import Apply, Exchange, Score


def count(word, edges):
    word.n += len(edges)


def known(document, edges):
    total = 0.0
    for edge in edges:
        total += edge.word.n
    return total


def several(edges, out, p):
    for edge in edges:
        for k in range(p.width):
            out[k] += (k + 1) * edge.word.n


class Count(Program):
    input = Bags()
    width: int = param(0)
    document = Vertex()
    word = Vertex(n=shared("i4"))
    occurrence = Edge("document", "word", repeats="count")

    def stages(self):
        return [Exchange(count, additive=True), Apply("word")]

    def predict(self):
        if self.width:
            return Score(several, over="document", width="width", name="times")
        return Score(known, over="document")
'''

#   ash 3 times, bay once, elm twice
TRAIN = "ash ash bay\nash elm elm\n"
WORDS = ["ash", "bay", "elm", "fir"]
#   7: ash, 2 x elm;  3: nothing known;  5: bay    (fir, three times, is unknown)
ROWS = {7: {"ash": 1, "elm": 2}, 3: {"fir": 3}, 5: {"bay": 1}}
SCORES = [3 + 2 * 2, 0, 1]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(TRAIN)
    (tmp_path / "count.py").write_text(COUNT)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return tmp_path


def train_counts(out="out", **parameters):
    return run(
        find("count.py").program(**parameters),
        "train.txt",
        options=RunOptions(out=out, epochs=1, jit=False, form="text"),
    )


def docword(rows):
    at = {word: n for n, word in enumerate(WORDS, 1)}
    lines = [f"{d} {at[w]} {n}\n" for d, row in rows.items() for w, n in row.items()]
    return f"{max(rows)}\n{len(WORDS)}\n{len(lines)}\n" + "".join(lines)


FILES = {
    "new.csv": "document,word,count\n"
    + "".join(f"{d},{w},{n}\n" for d, row in ROWS.items() for w, n in row.items()),
    "new.txt": "".join(
        " ".join(w for w, n in row.items() for _ in range(n)) + "\n" for row in ROWS.values()
    ),
    "new.ldac": "".join(
        f"{len(row)} {' '.join(f'{WORDS.index(w)}:{n}' for w, n in row.items())}\n"
        for row in ROWS.values()
    ),
    "new.svm": "".join(
        f"0 {' '.join(f'{WORDS.index(w) + 1}:{n}' for w, n in row.items())}\n"
        for row in ROWS.values()
    ),
    "docword.txt": docword({1: ROWS[7], 2: ROWS[3], 3: ROWS[5]}),
}
HOW = {"new.csv": {}, "new.txt": {"form": "text"}, "docword.txt": {"vocab": "vocab.txt"}}


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("name", FILES)
def test_rows_of_any_format(here, name):
    train_counts()
    (here / name).write_text(FILES[name])
    told = []
    found = predict_rows(
        "out", name, Reading(**HOW.get(name, {"vocab": "vocab.txt"})), warn=told.append
    )
    assert list(found) == ["document", "score"] and found["score"].tolist() == SCORES
    assert found["document"].tolist() == ([7, 3, 5] if name == "new.csv" else [1, 2, 3])
    assert told == [f"3 of 7 words of {name} are not in the model: left out"]


MATRIX = np.array([[ROWS[n].get(word, 0) for word in WORDS] for n in ROWS])
HELD = {
    "texts": [" ".join(w for w, n in row.items() for _ in range(n)) for row in ROWS.values()],
    "lists": [[w for w, n in row.items() for _ in range(n)] for row in ROWS.values()],
    "matrix": (sp.csr_array(MATRIX), WORDS),
    "table": {
        name: [triple[at] for triple in ((d, w, n) for d in ROWS for w, n in ROWS[d].items())]
        for at, name in enumerate(("document", "word", "count"))
    },
}


@pytest.mark.parametrize("name", HELD)
def test_rows_in_memory(here, name):
    train_counts()
    told = []
    found = predict_rows("out", HELD[name], warn=told.append)
    assert found["score"].tolist() == SCORES
    assert found["document"].tolist() == ([7, 3, 5] if name == "table" else [0, 1, 2])
    assert told == ["3 of 7 words of the data are not in the model: left out"]
    with pytest.raises(UsageError, match=r"\(matrix, words\)"):
        predict_rows("out", HELD["matrix"][0])


def test_several_numbers_a_row(here):
    train_counts(width=3)
    (here / "new.csv").write_text(FILES["new.csv"])
    found = predict_rows("out", "new.csv")
    assert found["times"].dtype == np.float32
    np.testing.assert_array_equal(found["times"], np.outer(SCORES, [1, 2, 3]))


def test_on_the_command_line(here, capsys):
    train_counts(width=2)
    (here / "new.csv").write_text(FILES["new.csv"])
    assert main(["predict", "out", "new.csv"]) == 0
    out, err = capsys.readouterr()
    assert out == "document,times_0,times_1\n7,7.0,14.0\n3,0.0,0.0\n5,1.0,2.0\n"
    assert err == "warning: 3 of 7 words of new.csv are not in the model: left out\n"
    for name in ("a.parquet", "a.tsv"):
        assert main(["predict", "out", "new.csv", "--out", name]) == 0
        assert capsys.readouterr().out == f"{name}: 3 documents\n"
    assert read_parquet("a.parquet")["times"].tolist() == [[7, 14], [0, 0], [1, 2]]
    assert (here / "a.tsv").read_text().splitlines()[:2] == [
        "document\ttimes_0\ttimes_1",
        "7\t7\t14",
    ]
    (here / "new.txt").write_text(FILES["new.txt"])
    assert main(["predict", "out", "new.txt", "--form", "text", "--out", "b.csv"]) == 0
    (here / "docword.txt").write_text(FILES["docword.txt"])
    assert main(["predict", "out", "docword.txt", "--vocab", "vocab.txt", "--out", "c.csv"]) == 0
    assert (here / "b.csv").read_text() == (here / "c.csv").read_text()
    capsys.readouterr()
    for argv, words in (
        ("predict out", "needs DATA or --pairs"),
        ("predict out new.csv --pairs new.csv", "needs DATA or --pairs"),
        ("predict out --pairs new.csv", "predicts for a document, not for pairs"),
        ("predict out docword.txt", "name the file of names with --vocab"),
        ("predict out docword.txt --vocab vocab.txt --columns a,b,c", "no columns to name"),
        ("predict out none.csv", "no such file"),
    ):
        assert main(argv.split()) in (2, 3)
        assert words in capsys.readouterr().err


def test_ids_of_rows_are_as_given_and_bad_rows_told(here):
    train_counts()
    (here / "new.csv").write_text("document,word,count\nz,ash,1\na b,elm,1\nz,bay,2\nq,ash,x\n")
    with pytest.raises(DataError, match="new.csv:5"):
        predict_rows("out", "new.csv")
    told = []
    found = predict_rows("out", "new.csv", Reading(on_bad_row="skip"), warn=told.append)
    assert found["document"].tolist() == ["z", "a b"] and found["score"].tolist() == [3 + 1 * 2, 2]
    assert len(told) == 1 and told[0].startswith(
        "1 bad row of new.csv skipped; the first is new.csv:5: "
    )


def test_rows_that_training_knew_are_new_all_the_same(here):
    train_counts()
    (here / "new.csv").write_text("document,word,count\n1,ash,1\n")
    assert predict_rows("out", "new.csv")["score"].tolist() == [3]


def test_nothing_known_is_an_error(here):
    train_counts()
    (here / "new.txt").write_text("oak oak\n")
    with pytest.raises(DataError, match=message("no-in-s-of", "known word")):
        predict_rows("out", "new.txt", Reading(form="text"))


LABELLED = """
from tux import Edge, Program, Vertex, data, shared
from tux.stages import Apply, Exchange, Score


def learn(sample, feature, entry):
    feature.w += entry.x * sample.y[0]


def margin(sample, edges):
    total = 100.0 * sample.y[1]
    for edge in edges:
        total += edge.x * edge.feature.w
    return total


class Labelled(Program):
    sample = Vertex(y=data("f4", 2))
    feature = Vertex(w=shared("f4"))
    entry = Edge("sample", "feature", x=data("f4"))

    def stages(self):
        return [Exchange(learn), Apply("feature")]

    def predict(self):
        return Score(margin, over="sample", name="margin")
"""


def test_data_of_vertices_need_not_be_there(here):
    """As labels of new samples."""
    (here / "labelled.py").write_text(LABELLED)
    edges = EdgeData.of(
        ("sample", "feature"),
        [0, 0, 1],
        [5, 6, 6],
        {"x": np.float32([1, 2, 3])},
        vertex_fields={"sample": {"y": [[1, 1], [2, 1]]}},
    )
    run(find("labelled.py").program(), edges, options=RunOptions(out="out", epochs=1, jit=False))
    (here / "new.csv").write_text("sample,feature,x\n0,6,0.5\n1,5,2\n1,9,7\n")
    told = []
    found = predict_rows("out", "new.csv", warn=told.append)
    assert found["margin"].tolist() == [0.5 * 8, 2] and told == [
        "1 of 3 entries of new.csv is of features that the model does not know: left out"
    ]


def test_a_program_that_predicts_for_pairs(here):
    (here / "ratings.csv").write_text(
        "user,item,rating\n" + "".join(f"{i % 5},{i % 7},{i % 3}\n" for i in range(35))
    )
    run(
        find("mf").program(rank=2), "ratings.csv", options=RunOptions(out="mf", epochs=1, jit=False)
    )
    with pytest.raises(UsageError, match=r"(?s)MF predicts for pairs, not for rows.*--pairs FILE"):
        predict_rows("mf", "ratings.csv")
    assert list(predict("mf", "ratings.csv")) == ["user", "item", "score"]


def test_rows_of_the_other_end(here):
    (here / "words.py").write_text(
        COUNT.replace("def known(document", "def known(word")
        .replace("edge.word.n", "1")
        .replace('over="document")', 'over="word")')
    )
    run(
        find("words.py").program(),
        "train.txt",
        options=RunOptions(out="out", epochs=1, jit=False, form="text"),
    )
    (here / "new.csv").write_text("document,word,count\n1,oak,4\n2,oak,1\n9,fir,1\n")
    found = predict_rows("out", "new.csv")
    assert found["word"].tolist() == ["oak", "fir"] and found["score"].tolist() == [5, 0]
    (here / "new.txt").write_text("oak\n")
    with pytest.raises(
        UsageError, match="the rows of new.txt are documents, but the model predicts for a word"
    ):
        predict_rows("out", "new.txt", Reading(form="text"))


def test_matrix_market_and_parquet(here):
    """Words are numbers there, so the model's are too."""
    (here / "train.csv").write_text("document,word,count\n1,1,2\n1,2,1\n2,1,1\n2,3,2\n")
    run(find("count.py").program(), "train.csv", options=RunOptions(out="out", epochs=1, jit=False))
    rows = {
        "document": np.array([3, 3, 1]),
        "word": np.array([1, 3, 4]),
        "count": np.array([1, 2, 5]),
    }
    write_parquet(here / "new.parquet", rows)
    lines = "".join(f"{d} {w} {n}\n" for d, w, n in zip(*rows.values(), strict=True))
    (here / "new.mtx").write_text(
        f"%%MatrixMarket matrix coordinate integer general\n3 4 3\n{lines}"
    )
    (here / "docword.txt").write_text(f"3\n4\n3\n{lines}")
    found = predict_rows("out", "new.parquet")
    assert found["document"].tolist() == [3, 1] and found["score"].tolist() == [3 + 2 * 2, 0]
    for name in ("new.mtx", "docword.txt"):  # whose rows are numbered, and may have no entry
        found = predict_rows("out", name)
        assert found["document"].tolist() == [1, 2, 3] and found["score"].tolist() == [0, 0, 7]
