"""Folders that ``tux partition`` writes, run by the apps: the model is that of the file, labels and
weights of samples included.
"""

import json

import numpy as np
import pytest
from support.messages import message

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.deepwalk.deepwalk import DeepWalk
from tux.apps.mf.mf import MF
from tux.arrays.arrow import read_parquet
from tux.base.errors import DataError, UsageError
from tux.cli.info import info
from tux.cli.main import main
from tux.compare import partitioners as compare_cuts
from tux.graph.manifest import read_manifest
from tux.inputs.load import load
from tux.io.samples.samples import read_samples
from tux.options.options import Reading, RunOptions
from tux.partition import aweto, bicut, random
from tux.runs.session import run
from tux.synthetic.clicks import clicks, write_clicks

RNG = np.random.default_rng(11)
WALKS = {
    "dimensions": 4,
    "num_walks": 3,
    "walk_length": 6,
    "window": 2,
    "negatives": 2,
    "learning_rate": 0.1,
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Return a folder of its own, and three methods: as many as there are would only be slow."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        compare_cuts, "PARTITIONERS", {"random": random, "bicut": bicut, "aweto": aweto}
    )
    return tmp_path


@pytest.fixture
def tux(capsys):
    """Run a command; returns exit code, standard output and standard error."""

    def run_it(words):
        code = main(words.split())
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run_it


@pytest.fixture
def samples(here):
    """Write libsvm files of more features than samples, one to train and one to test on. The first
    has rows of zeros.
    """
    write_clicks(
        clicks(60, 100, 5, 10, seed=3, test_share=0.3), here / "train.svm", here / "test.svm"
    )
    text = (here / "train.svm").read_text()
    (here / "train.svm").write_text("-1\n+1\n-1\n-1\n" + text)
    return here


def fit(program, source, test=None, **how):
    """Return a run in plain Python."""
    return run(program, source, test, RunOptions(**{"jit": False, "epochs": 2} | how))


def rows(result, kind):
    """Return the fields of a type's vertices that are the model, by the dense index of those of
    training.
    """
    table, vertices = result.worker.tables[kind], result.worker.graph.vertices[kind]
    order = vertices.row_of[: vertices.n_train]
    return {
        name: table.arrays[name][order] for name, field in table.declared.items() if field.in_model
    }


def check_same_fields(one, other, *kinds):
    """Assert that two runs have learned the same fields of some vertex types. They may differ by
    the rounding of changes, which a single worker does not send to itself.
    """
    for kind in kinds:
        mine, others = rows(one, kind), rows(other, kind)
        assert mine
        for name, array in mine.items():
            np.testing.assert_allclose(array, others[name], rtol=1e-5, atol=1e-6)


def sample_fields(edges):
    """Return the fields of samples as lists, by name."""
    return {name: values.tolist() for name, values in edges.vertex_fields["sample"].items()}


# ---- samples


def test_what_is_told_of_samples(samples, tux):
    code, out, _ = tux("partition train.svm --parts 2 --method random,bicut,aweto --out parts")
    assert (
        code == 0
        and " samples and " in out
        and "two types, as they are samples, labelled -1 or +1" in out
    )
    assert "x: cannot win, as samples are cut: " in out and read_manifest(
        samples / "parts"
    ).partitioner in ("bicut", "aweto")
    found = info("parts")
    assert (
        found["labels"] == "-1 or +1"
        and "whole" in found["sample"]
        and found["sample"].endswith("with label")
    )


@pytest.mark.long
def test_the_other_class_may_be_named_first(samples, tux):
    assert tux("partition train.svm --parts 1 --method bicut --out parts")[0] == 0
    one = fit(BlockPG(fit_intercept=True, l1=0.5), "parts", "test.svm")
    other = fit(
        BlockPG(fit_intercept=True, l1=0.5, negative="1", positive="-1"), "parts", "test.svm"
    )
    np.testing.assert_allclose(rows(one, "feature")["w"], -rows(other, "feature")["w"], atol=1e-9)
    assert one.records[-1]["test_auc"] == pytest.approx(other.records[-1]["test_auc"])
    with pytest.raises(UsageError, match="the classes -1 and [+]1"):
        fit(BlockPG(negative="a", positive="b"), "parts")


@pytest.mark.long
def test_a_table_with_weights(here, tux):
    x, size = RNG.normal(size=60), RNG.choice(["s", "m"], 60)
    kind = np.where(x + (size == "s") + RNG.normal(size=60) > 0.4, "spam", "ham")
    lines = [
        f"{a:.3f},{b},{1 + i % 3},{c}"
        for i, (a, b, c) in enumerate(zip(x, size, kind, strict=True))
    ]
    (here / "mail.csv").write_text("\n".join(["x,size,often,kind", *lines]) + "\n")
    assert (
        tux("partition mail.csv --parts 2 --method bicut --label kind --weight often --out parts")[
            0
        ]
        == 0
    )
    assert read_manifest(here / "parts").classes == ["ham", "spam"]
    how = {"label": "kind", "weight": "often"}
    stored, direct = (
        load(BlockPG(), source, "mail.csv", Reading(**how)) for source in ("parts", "mail.csv")
    )
    assert sample_fields(stored.train) == sample_fields(direct.train) and sample_fields(
        stored.test
    ) == sample_fields(direct.test)
    assert (
        set(sample_fields(stored.train)["weight"]) == {1, 2, 3}
        and len(sample_fields(stored.test)["label"]) == 120
    )
    assert tux("partition mail.csv --parts 2 --method bicut --label kind --out plain")[0] == 0
    with pytest.raises(AssertionError):
        check_same_fields(
            *(fit(BlockPG(blocks=2), folder) for folder in ("parts", "plain")), "feature"
        )


def test_labels_of_another_file_and_weights_of_one(samples, tux):
    read = read_samples("train.svm")
    lines = (samples / "train.svm").read_text().splitlines()
    (samples / "bare.svm").write_text("".join(line.partition(" ")[2] + "\n" for line in lines))
    (samples / "labels.txt").write_text("".join(f"{label:+.0f}\n" for label in read.label))
    assert (
        tux("partition bare.svm --parts 1 --method bicut --labels labels.txt --out parts")[0] == 0
    )
    assert tux("partition train.svm --parts 1 --method bicut --out others")[0] == 0
    assert sample_fields(load(BlockPG(), "parts").train) == sample_fields(
        load(BlockPG(), "others").train
    )
    assert tux("partition bare.svm --parts 1 --method bicut --out none")[0] == 0
    with pytest.raises(
        DataError, match="(?s)its sources have no labels.*--help|its samples have no labels"
    ):
        fit(BlockPG(), "none")


@pytest.mark.long
@pytest.mark.parametrize(
    "labels", [["1", "2", "3"], pytest.param(["7", "7", "7"], marks=pytest.mark.long)]
)
def test_labels_that_are_not_of_two_kinds_are_left_out(here, tux, labels):
    (here / "x.svm").write_text(
        "".join(f"{label} {1 + at}:2 {3 + at}:4\n" for at, label in enumerate(labels * 3))
    )
    code, out, _ = tux("partition x.svm --parts 2 --method bicut --out parts")
    # others may be place holders
    assert code == 0 and ("labels are left out: 3 kinds of labels" in out) == (labels[0] == "1")
    assert "two types, as it is a svm file" in out
    manifest = read_manifest(here / "parts")
    assert manifest.fields == ["value"] and manifest.classes == [] and manifest.edges == 18
    result = fit(MF(rank=2, learning_rate=0.001), "parts", epochs=1)
    assert result.records[0]["train_rmse"] > 0
    with pytest.raises(DataError, match="have no labels, which BlockPG reads"):
        fit(BlockPG(), "parts")


@pytest.mark.long
def test_programs_without_labels_take_the_folder_too(here, tux):
    (here / "x.svm").write_text(
        "".join(f"{i % 2} {1 + i % 3}:2 {4 + i % 5}:4\n" for i in range(30))
    )
    assert tux("partition x.svm --parts 1 --method bicut --out parts")[0] == 0 and read_manifest(
        here / "parts"
    ).classes == ["0", "1"]
    check_same_fields(
        *(fit(MF(rank=2, learning_rate=0.01), source) for source in ("parts", "x.svm")),
        "item",
        "user",
    )


def test_samples_that_are_cut_are_refused(samples, tux):
    code, out, _ = tux("partition train.svm --parts 2 --method random --out parts")
    assert (
        code == 0 and "Some samples are cut: programs that need each whole will refuse this." in out
    )
    with pytest.raises(
        DataError, match="its samples are cut, by random, but each sample is needed whole"
    ) as caught:
        fit(BlockPG(), "parts")
    assert "--method bicut" in caught.value.do


@pytest.mark.long
def test_features_that_are_hashes(here, tux):
    ids = np.sort(RNG.integers(2**62, 2**64 - 1, 12, dtype=np.uint64))
    (here / "h.svm").write_text(
        "".join(f"{i % 2} {ids[i % 5]}:1 {ids[5 + i % 7]}:{1 + i % 3}\n" for i in range(40))
    )
    assert tux("partition h.svm --parts 2 --method bicut --out parts")[0] == 0
    fit(BlockPG(l1=0.01), "parts", "h.svm", out="run")
    assert tux("export run --format weights --out run.json")[0] == 0
    found = json.loads((here / "run.json").read_text())
    assert found["feature"] and set(found["feature"]) <= set(ids.tolist())
    assert read_parquet(here / "run" / "model" / "feature.parquet")["id"].tolist() == ids.tolist()
    code, out, _ = tux("predict run h.svm")
    assert code == 0 and len(out.splitlines()) == 41 and len(set(out.split(",")[2:])) > 5


@pytest.mark.parametrize(
    ("words", "code", "what"),
    [
        ("train.svm --parts 2 --label x", 2, "no columns with names"),
        ("train.svm --parts 2 --labels train.svm", 3, "has labels itself"),
        ("train.svm --parts 2 --one-type --label x", 2, "two types of vertices"),
        ("train.svm --parts 2 --columns a,b --labels x", 2, "no columns of edges"),
        ("r.csv --parts 2 --label rating", 3, "3 kinds of labels instead of two"),
        ("r.csv --parts 2 --label stars", 3, "no column 'stars'"),
        ("bad.svm --parts 2", 3, "bad.svm:3"),
    ],
)
def test_mistakes(samples, tux, words, code, what):
    (samples / "r.csv").write_text("user,item,rating\n1,2,3\n2,3,4\n3,4,5\n")
    (samples / "bad.svm").write_text("1 1:1\n0 2:1\n1 2:x\n")
    found, _, err = tux(f"partition {words}")
    assert found == code and what in err


# ---- edges


def test_what_a_folder_cannot_do(here, tux):
    (here / "g.txt").write_text("".join(f"{a} {b}\n" for a, b in RNG.integers(0, 9, (30, 2))))
    assert tux("partition g.txt --parts 1 --one-type --method random --out parts")[0] == 0
    with pytest.raises(
        DataError, match=message("its-edges-hold-the-program", "no numbers", "weight")
    ):
        fit(DeepWalk(**WALKS, weighted=True), "parts")
    with pytest.raises(UsageError, match=message("is-cut-already-so-no")):
        fit(DeepWalk(**WALKS, hold=0.2), "parts")
