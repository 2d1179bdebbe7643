"""`tux export`: arrays that a program makes of its model, in files that other programs read."""

import json

import numpy as np
import pytest
from support.machines.lda_team import bags
from support.oracles import lda_oracle as oracle

from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.lda.lda import LDA
from tux.apps.lda.report import pyldavis
from tux.arrays.arrow import read_parquet
from tux.arrays.ragged import Lists
from tux.cli.main import main
from tux.figures import figures, plots
from tux.options.options import RunOptions
from tux.predict.export import export, exporter
from tux.program.report import Model
from tux.program.sources import find
from tux.runs.session import run

EXPORTS = '''
"""Exports of all kinds."""
import numpy as np
from tux import Context, Edge, Program, Report, Vertex, param, shared, value
from tux.stages import Apply, Exchange


def whole(program, model):
    arrays = {"n": model.fields["item"]["n"], "names": model.ids["user"]}
    return arrays | {"scale": program.scale, "mean": model.fields["tau"]["mean"]}


def objects(program, model):
    return {"bad": np.array([{}, []], object)}


class Formats(Report):
    def exports(self):
        return {"whole": whole, "objects": objects}


class Exports(Program):
    report = Formats()
    scale: float = param(0.5)
    user = Vertex()
    item = Vertex(n=shared("i4", 2))
    link = Edge("user", "item")
    tau = Context(mean=value("f8", init=7))

    def stages(self):
        return [Exchange(add), Apply("item")]


def add(item):
    item.n[1] += 1
'''


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "exports.py").write_text(EXPORTS)
    (tmp_path / "pairs.csv").write_text("user,item\nann,3\nbob,3\nann,5\n")
    return tmp_path


@pytest.fixture
def model(here):
    run(
        find("exports.py").program(scale=0.25),
        "pairs.csv",
        options=RunOptions(out="out", epochs=2, jit=False),
    )
    return here


def test_arrays_of_a_program(model):
    found = export("out", "whole")
    assert found["n"].tolist() == [[0, 4], [0, 2]] and found["names"].tolist() == ["ann", "bob"]
    assert found["scale"] == 0.25 and found["mean"].tolist() == [7]


def test_every_model_has_arrays(model, capsys):
    (model / "ratings.csv").write_text("user,item,rating\nann,3,1\nbob,4,2\n")
    run(
        find("mf").program(rank=2), "ratings.csv", options=RunOptions(out="mf", epochs=1, jit=False)
    )
    assert main("export mf --format arrays --out a.npz".split()) == 0
    with np.load("a.npz") as found:
        assert found["user.id"].tolist() == ["ann", "bob"] and found["item.id"].tolist() == [3, 4]
        for kind in ("user", "item"):
            assert np.array_equal(found[f"{kind}.f"], read_parquet(f"mf/model/{kind}.parquet")["f"])


def test_files(model, capsys):
    assert main("export out --format whole --out a.npz".split()) == 0
    assert capsys.readouterr().out == "a.npz: n (2 x 2), names (2), scale (), mean (1)\n"
    with np.load("a.npz") as found:  # which reads no objects
        assert (
            found["n"].tolist() == [[0, 4], [0, 2]]
            and found["names"].tolist() == ["ann", "bob"]
            and found["scale"] == 0.25
        )
    assert main("export out --format whole --out a.json".split()) == 0
    assert json.loads((model / "a.json").read_text()) == {
        "n": [[0, 4], [0, 2]],
        "names": ["ann", "bob"],
        "scale": 0.25,
        "mean": [7.0],
    }


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (
            "out --format pyldavis --out a.npz",
            2,
            ["no format 'pyldavis'", "formats of this model: arrays, whole, objects"],
        ),
        (
            "mf --format pyldavis --out a.npz",
            2,
            ["no format 'pyldavis'", "formats of this model: arrays"],
        ),
        ("out --format whol --out a.csv", 2, ["no format 'whol'", "did you mean whole?"]),
        ("out --format objects --out a.npz", 2, ["bad of objects holds object"]),
        ("out --format whole --out a.csv", 2, ["end its name in .npz or .json"]),
        ("out --format whole --out pairs.csv", 2, ["pairs.csv exists"]),
        ("out --format whole --out none/a.npz", 2, ["there is no folder none"]),
        ("none --format whole --out a.npz", 3, ["no folder of a run"]),
        ("out --out a.npz", 2, ["--format"]),
        (
            "out --format whole --out a.npz --labels pairs.csv",
            2,
            ["--labels colour a picture", "--format picture"],
        ),
        ("out --format picture --out a.png", 2, ["no format 'picture'"]),
    ],
)
def test_mistakes(model, capsys, argv, code, words):
    (model / "ratings.csv").write_text("user,item,rating\nann,3,1\nbob,3,2\n")
    run(
        find("mf").program(rank=2), "ratings.csv", options=RunOptions(out="mf", epochs=1, jit=False)
    )
    before = sorted(model.iterdir())
    assert main(["export", *argv.split()]) == code
    said = capsys.readouterr().err
    assert all(word in said for word in words) and "Traceback" not in said
    assert sorted(model.iterdir()) == before


def test_help(capsys):
    assert main(["export", "--help"]) == 0 and "--format" in capsys.readouterr().out


def test_numbers_that_json_does_not_have(here):
    exporter("a.json")({"x": np.array([[1.0, np.nan], [np.inf, 2.0]])})
    assert "NaN" not in (here / "a.json").read_text()
    assert json.loads((here / "a.json").read_text())["x"][1][1] == 2.0


# Of rows.

ROWS = '''
"""A format about rows, and one that returns something else."""
import numpy as np
from tux import Context, Edge, Program, Report, RowMatrix, Samples, Vertex, data, value
from tux.stages import GlobalSync, Score


def sums(program, model, rows):
    n = len(rows.ids)
    whole = np.add.reduceat(rows.fields["value"], rows.bounds[:-1])
    pieces = (whole[at : at + 1, None] for at in range(n))
    return RowMatrix(rows, np.array([2]), np.array(["sum"]), 4, pieces)


class OfRows(Report):
    def exports(self):
        return {"sums": sums, "text": lambda program, model, rows: "text"}


class Rows(Program):
    report = OfRows()
    input = Samples()
    sample = Vertex(label=data("f4"))
    feature = Vertex(w=value("f8"))
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(n=value("i4"))

    def stages(self):
        return [GlobalSync(count)]

    def predict(self):
        return Score(guess, over="sample")


def count(tau):
    tau.n += 1


def guess(sample, edges):
    return 1.0
'''


@pytest.fixture
def of_rows(here):
    (here / "rows.py").write_text(ROWS)
    (here / "train.svm").write_text("1 1:2 2:3\n-1 2:5\n")
    (here / "new.svm").write_text("1:1 2:2\n2:7\n1:4\n" * 700)
    options = RunOptions(out="of", epochs=1, jit=False)
    run(find("rows.py").program(), "train.svm", options=options)
    return here


def test_a_matrix_of_rows(of_rows, capsys):
    flags = "--data new.svm --form svm --out a.npz"
    assert main(f"export of --format sums {flags}".split()) == 0
    assert capsys.readouterr().out == "a.npz: 2,100 samples, 1 of 4 columns\n"
    with np.load("a.npz") as found:
        assert found["shape"].tolist() == [2100, 4] and found["format"].item() == b"csr"
        assert found["data"].tolist() == [3, 7, 4] * 700 and set(found["indices"]) == {2}
        assert found["indptr"].tolist() == [*range(2101)] and found["feature"].tolist() == ["sum"]
    assert main("export of --format sums --out a.csv".split()) == 0
    assert (of_rows / "a.csv").read_text() == 'sample,feature,value\n1,"sum",5\n2,"sum",5\n'


def test_a_format_of_rows_that_returns_something_else(of_rows, capsys):
    assert main("export of --format text --out a.npz".split()) == 2
    said = capsys.readouterr().err
    assert "the format text returns an object of type str" in said
    assert "return a tux.RowMatrix" in said and not (of_rows / "a.npz").exists()


# pyLDAvis.


def test_the_five_arrays():
    n = np.array([[3, 0], [1, 2], [0, 1]])
    documents = {
        "topics": Lists(np.array([0, 2, 2, 3]), np.uint16([1, 0, 1])),
        "times": Lists(np.array([0, 2, 2, 3]), np.float32([2, 3, 2])),
    }
    ids = {"word": np.array(["ash", "bay", "elm"]), "document": np.arange(3)}
    tau = {"alpha": np.array([[0.5, 0.5]]), "beta": np.array([0.1])}
    model = Model({"word": {"n": n}, "document": documents, "tau": tau}, ids)
    found = pyldavis(LDA(topics=2), model)
    assert list(found) == [
        "topic_term_dists",
        "doc_topic_dists",
        "doc_lengths",
        "vocab",
        "term_frequency",
    ]
    np.testing.assert_allclose(
        found["topic_term_dists"],
        [np.array([3.1, 1.1, 0.1]) / 4.3, np.array([0.1, 2.1, 1.1]) / 3.3],
    )
    np.testing.assert_allclose(
        found["doc_topic_dists"], [[3.5 / 6, 2.5 / 6], [0.5, 0.5], [0.5 / 3, 2.5 / 3]]
    )
    assert found["doc_lengths"].tolist() == [5, 0, 2] and found["term_frequency"].tolist() == [
        3,
        3,
        1,
    ]
    assert found["vocab"].tolist() == ["ash", "bay", "elm"]


@pytest.mark.slow(after=1)
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_model_of_topics(here, workers):
    known = oracle.corpus(20, 15, vocabulary=12, topics=3, alpha=0.1, beta=0.1, seed=1)
    edges = bags(known.documents, known.words, vertices={"document": np.arange(21)})
    run(
        LDA(topics=3, parts=2, sampler="sparse"),
        edges,
        options=RunOptions(out="out", epochs=2, jit=workers > 1, workers=workers),
    )
    assert main("export out --format pyldavis --out a.npz".split()) == 0
    with np.load("a.npz") as stored:
        found = dict(stored)
    v = len(edges.ids["word"])
    assert found["topic_term_dists"].shape == (3, v) and found["doc_topic_dists"].shape == (21, 3)
    for name in ("topic_term_dists", "doc_topic_dists"):
        np.testing.assert_allclose(found[name].sum(1), 1, rtol=1e-12)
    assert found["doc_lengths"].tolist() == [15] * 20 + [0] and found["doc_topic_dists"][
        20
    ].tolist() == pytest.approx([1 / 3] * 3)
    assert (
        found["term_frequency"].tolist() == np.bincount(edges.dst, edges.fields["count"]).tolist()
    )
    assert found["vocab"].tolist() == [str(word) for word in edges.ids["word"].values.tolist()]
    n = read_parquet("out/model/word.parquet")["n"]
    np.testing.assert_allclose(
        found["topic_term_dists"], (n.T + 0.01) / (n.sum(0)[:, None] + 0.01 * v)
    )


# Pictures.


@pytest.fixture(params=["numbers", "words"])
def vectors(here, request):
    """Return a run whose vertices 0 to 11 have labels by third, but for the last; called by number,
    or by a word.
    """
    word = str if request.param == "numbers" else "v{}".format
    pairs = [(v, (v + step) % 12) for v in range(12) for step in (1, 3)]
    (here / "graph.txt").write_text("".join(f"{word(a)} {word(b)}\n" for a, b in pairs))
    (here / "labels.txt").write_text(
        "".join(f"{word(v)}\tk{v % 3}\n" for v in range(11)) + f"{word(99)}\tk0\n"
    )
    run(
        DeepWalk(dimensions=4, num_walks=2, walk_length=5, window=2, pool=8),
        "graph.txt",
        options=RunOptions(out="out", jit=False),
    )
    return here


@pytest.mark.slow
def test_a_picture_of_vectors(vectors, capsys, monkeypatch):
    drawn = []
    monkeypatch.setattr(
        plots,
        "draw_vectors",
        lambda *given, draw=plots.draw_vectors: drawn.append(given) or draw(*given),
    )
    assert main("export out --format picture --out a.png --labels labels.txt".split()) == 0
    assert (vectors / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "1 ids in labels.txt have no vector" in capsys.readouterr().err
    model = read_parquet("out/model/node.parquet")
    assert np.array_equal(drawn[0][0], model["u"]) and drawn[0][1].names.tolist() == [
        "k0",
        "k1",
        "k2",
    ]
    of = {
        name.removeprefix("v"): row.tolist()
        for name, row in zip(map(str, model["id"].tolist()), drawn[0][1].member, strict=True)
    }
    assert of == {str(v): [v < 11 and v % 3 == k for k in range(3)] for v in range(12)}
    assert main("export out --format picture --out b.svg".split()) == 0 and drawn[1][1] is None


def test_pictures_that_cannot_be_drawn(vectors, capsys, monkeypatch):
    def assert_refused(flags, code, *words):
        assert main(f"export out --format picture {flags}".split()) == code
        said = capsys.readouterr().err
        assert all(word in said for word in words) and "Traceback" not in said

    assert_refused("--out a.npz", 2, "no kind of picture", ".png, .svg or .pdf")
    assert_refused("--out labels.txt", 2, "exists")
    assert main("export out --format picture --out a.gif".split()) == 2
    assert_refused("--out a.png --labels none.txt", 3, "none.txt")
    monkeypatch.setattr(figures, "find_spec", lambda name: None)
    assert_refused("--out a.png", 2, "matplotlib", "tux[plot]")
    assert not list(vectors.glob("a.*"))


def test_a_model_without_its_context_is_told(here, capsys):
    """As any other part of it that is missing."""
    assert main("run exports.py pairs.csv --epochs 1 --no-jit --out out".split()) == 0
    (here / "out" / "model" / "tau.parquet").unlink()
    capsys.readouterr()
    assert main("export out --format whole --out whole.npz".split()) == 3
    err = capsys.readouterr().err
    assert "error: no such file: out/model/tau.parquet\n" in err and "the model is not whole" in err
    assert not (here / "whole.npz").exists()
