"""The loss softmax from files, memory and partitioned folders to predictions and exports: words
and numbers as labels, classes that training has not seen, and what is refused.
"""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy.special import softmax
from support.apps.app_samples import libsvm
from support.messages import message

import tux
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.base.errors import DataError, UsageError
from tux.base.text import join_class_names
from tux.graph.manifest import read_manifest
from tux.inputs.load import load
from tux.inputs.synthetic import generate_data
from tux.program.input import Samples, class_names

RNG = np.random.default_rng(4)
X = np.round(RNG.normal(size=(90, 6)) * (RNG.random((90, 6)) < 0.6), 3)
Y = (X @ RNG.normal(size=(6, 3)) + RNG.gumbel(size=(90, 3))).argmax(axis=1)
WORDS = np.array(["roe", "cod, salted", "eel"])[Y]
TRAIN, TEST = slice(0, 60), slice(60, 90)
HOW = {"loss": "softmax", "l2": 0.5, "fit_intercept": True, "tol": 1e-9}
FLAGS = "--loss softmax --l2 0.5 --fit-intercept --tol 1e-9 --no-jit"


def table(x, y):
    rows = [
        ",".join([*map(repr, row.tolist()), f'"{label}"']) for row, label in zip(x, y, strict=True)
    ]
    return "\n".join(["a,b,c,d,e,f,kind", *rows])


def run_softmax(data, test=None, parameters=HOW, **options):
    return tux.run(tux.Linear(**parameters), data, test=test, progress=False, jit=False, **options)


def shares(run, x):
    """Return the probabilities by the weights."""
    feature = run.vertices["feature"]
    w = feature["w"][np.argsort(feature.ids)]
    return softmax(x @ w + run.context["b"], axis=1)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text(libsvm(X[TRAIN], Y[TRAIN] + 7))
    (tmp_path / "test.svm").write_text(libsvm(X[TEST], Y[TEST] + 7))
    (tmp_path / "train.csv").write_text(table(X[TRAIN], WORDS[TRAIN]))
    (tmp_path / "test.csv").write_text(table(X[TEST], WORDS[TEST]))
    return tmp_path


@pytest.mark.long
def test_the_command_from_training_to_exports(here, command):
    code, said = command(f"run linear train.svm --test test.svm {FLAGS} --out run")
    assert code == 0 and "test_logloss" in said and "test_accuracy" in said, said
    assert "class" in said and "(intercept)" in said
    run = json.loads((here / "run" / "run.json").read_text())
    assert run["parameters"]["classes"] == "7,8,9" and run["parameters"]["negative"] == ""
    last = json.loads((here / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    model = tux.load("run")
    p = shares(model, X[TEST])
    assert last["test_accuracy"] == pytest.approx((p.argmax(axis=1) == Y[TEST]).mean())
    assert last["test_logloss"] == pytest.approx(-np.log(p[np.arange(30), Y[TEST]]).mean())
    assert "test_auc" not in last
    (here / "bare.svm").write_text(libsvm(X[TEST], [""] * 30))
    (here / "odd.svm").write_text(libsvm(X[TEST], [*range(30)]))
    for new in ("test.svm", "bare.svm", "odd.svm"):
        assert command(f"predict run {new} --out {new}.csv")[0] == 0
        head, *lines = (here / f"{new}.csv").read_text().splitlines()
        assert head == "sample,probability_7,probability_8,probability_9,class"
        cells = np.array([line.split(",") for line in lines], "f8")
        assert cells[:, 1:4] == pytest.approx(p, abs=1e-6)
        assert cells[:, 4].tolist() == (7 + p.argmax(axis=1)).tolist()
    assert command("export run --format weights --out w.json")[0] == 0
    told = json.loads((here / "w.json").read_text())
    assert told["classes"] == [7, 8, 9] and np.shape(told["weight"]) == (6, 3)
    assert np.abs(told["weight"]).max(axis=1).tolist() == sorted(
        np.abs(told["weight"]).max(axis=1), reverse=True
    )
    assert command("export run --format sklearn --out s.npz")[0] == 0
    with np.load(here / "s.npz") as arrays:
        assert arrays["coef_"].shape == (3, 6) and arrays["classes_"].tolist() == [7, 8, 9]
        margins = X[TEST] @ arrays["coef_"].T + arrays["intercept_"]
    assert softmax(margins, axis=1) == pytest.approx(p, abs=1e-12)


@pytest.mark.long
def test_words(here, command):
    run = f"run linear train.csv --label kind --test test.csv {FLAGS} --out run"
    code, said = command(run)
    assert code == 0, said
    model = tux.load("run")
    assert class_names(model.program.classes) == ("cod, salted", "eel", "roe")
    assert command("predict run test.csv --out p.parquet")[0] == 0
    assert command("predict run test.csv --out p.csv")[0] == 0
    with open("p.csv", newline="") as file:
        assert len(next(csv.reader(file))) == 5
    told = pq.read_table(here / "p.parquet")
    assert told.column_names[1:] == [
        "probability_cod, salted", "probability_eel", "probability_roe", "class",
    ]  # fmt: skip
    best = [class_names(model.program.classes)[k] for k in shares(model, X[TEST]).argmax(axis=1)]
    assert told["class"].to_pylist() == best


@pytest.mark.long
def test_a_class_that_training_has_not_seen(here, command):
    (here / "new.svm").write_text(libsvm(X[TEST][:2], [8, 10]))
    code, said = command(f"run linear train.svm --test new.svm {FLAGS}")
    assert code == 3 and "new.svm:2" in said
    assert "label '10' is none of the classes '7', '8', '9'" in said
    code, said = command(f"run linear train.svm {FLAGS} --classes 7,8")
    assert code == 2 and "the classes are to be 7,8: label '9' is none of the classes" in said
    assert "name all labels" in said
    code, said = command(f"run linear train.svm --test new.svm {FLAGS} --classes 10,9,8,7")
    assert code == 0, said


@pytest.mark.slow
def test_a_label_that_is_missing_is_a_bad_row(here, command):
    lines = (here / "train.csv").read_text().splitlines()
    (here / "bad.csv").write_text("\n".join([*lines[:20], "1,2,3,4,5,6,", *lines[20:]]))
    code, said = command(f"run linear bad.csv --label kind {FLAGS}")
    assert code == 3 and "bad.csv:21" in said and "the label is missing" in said
    code, said = command(f"run linear bad.csv --label kind {FLAGS} --on-bad-row skip")
    assert code == 0 and "60 samples" in said and "1 bad row" in said


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ("--loss logistic", "--loss softmax are for any number of classes; "),
        ("--loss softmax --positive 7", "positive 7 has no effect: labels are any number"),
        ("--loss squared --classes 7,8", "classes 7,8 has no effect: labels are numbers here"),
        ("--loss softmax --classes 7,7,8,9", "are not two labels or more, all different"),
        ("--loss softmax --positive-weight 2", "positive_weight has no effect"),
        ("--loss softmax --solver sgd", "sgd is for losses of one margin"),
    ],
)
def test_what_is_refused(here, command, flags, what):
    code, said = command(f"run linear train.svm {flags}")
    assert code in (2, 3) and what in said, said


def test_labels_of_one_kind(here, command):
    (here / "same.svm").write_text(libsvm(X[:5], [7] * 5))
    code, said = command(f"run linear same.svm {FLAGS}")
    assert code == 3 and "all labels of same.svm are of one kind: '7' (5)" in said


def test_arrays():
    run = run_softmax((X[TRAIN], WORDS[TRAIN]), (X[TEST], WORDS[TEST]), epochs=100)
    p = shares(run, X[TEST])
    assert run.predict(X[TEST]) == pytest.approx(p, abs=1e-6)
    told = run.predict(X[TEST], ids=True)
    assert [*told.columns][-1] == "class"
    right = (told["class"] == WORDS[TEST]).mean()
    assert run.history["test_accuracy"][-1] == pytest.approx(right)
    with pytest.raises(DataError, match="none of the classes"):
        run_softmax((X[TRAIN], WORDS[TRAIN]), (X[TEST], ["cod"] * 30))
    with pytest.raises(DataError, match="3 kinds of labels instead of two"):
        run_softmax((X, WORDS), parameters={})


def test_samples_that_are_made_up():
    train, test, _ = generate_data(tux.Linear(loss="softmax"))
    for edges in (train, test):
        assert {*edges.vertex_fields["sample"]["label"].tolist()} == {0, 1}
        assert edges.classes == ("-1", "+1")


# Folders of tux partition, and several workers.


def labels_by_id(edges):
    """Return the labels by the ids of samples."""
    samples = edges.ids["sample"].values.tolist()
    classes = [edges.classes[int(k)] for k in edges.vertex_fields["sample"]["label"]]
    return dict(zip(samples, classes, strict=True))


def test_partitioned_folders(here, command):
    code, said = command("partition train.svm --parts 2 --method bicut --multiclass --out parts")
    assert code == 0 and "they are samples, labelled 7 or 8 or 9" in said
    assert read_manifest(here / "parts").classes == ["7", "8", "9"]
    program, direct = tux.Linear(**HOW), load(tux.Linear(**HOW), "train.svm", "test.svm")
    stored = load(program, "parts", "test.svm")
    assert labels_by_id(stored.train) == labels_by_id(direct.train) and labels_by_id(
        stored.test
    ) == labels_by_id(direct.test)
    assert command("partition train.svm --parts 2 --method bicut --numeric --out numbers")[0] == 0
    assert labels_by_id(load(program, "numbers").train) == labels_by_id(direct.train)
    two = np.where(Y[TRAIN] == 1, "ham", "spam")
    (here / "two.svm").write_text(libsvm(X[TRAIN], two))
    assert command("partition two.svm --parts 1 --method bicut --out two")[0] == 0
    assert [*labels_by_id(load(program, "two").train).values()] == two.tolist()
    named = tux.Linear(**HOW, classes="spam,eggs,ham")
    assert [*labels_by_id(load(named, "two").train).values()] == two.tolist()
    with pytest.raises(
        DataError, match=message("its-s-have-not-two", "labels of 3 classes")
    ) as told:
        load(tux.Linear(), "parts")
    assert "--loss softmax" in told.value.do
    label = load(tux.Linear(loss="squared"), "parts").train.vertex_fields["sample"]["label"]
    assert sorted({*label.tolist()}) == [7, 8, 9]
    with pytest.raises(UsageError, match="the classes are to be 7,8: label '9'"):
        load(tux.Linear(**HOW, classes="7,8"), "parts")
    code, said = command("partition train.svm --parts 2 --multiclass --numeric --out no")
    assert code == 2 and "contradict" in said
    assert "--multiclass" in command("partition train.svm --parts 2 --method bicut --out graph")[1]


# The declaration.


def edges(label, weight=1.0):
    """Return samples that are edges already."""
    row, column = np.nonzero(X)
    kinds = {"sample": Ids(np.arange(len(X))), "feature": Ids(np.arange(X.shape[1]))}
    known = {
        "label": np.resize(label, len(X)).astype(np.float32),
        "weight": np.full(len(X), weight, np.float32),
    }
    return EdgeData(
        ("sample", "feature"),
        kinds,
        row.astype(np.int32),
        column.astype(np.int32),
        {"value": X[row, column].astype(np.float32)},
        vertex_fields={"sample": known},
    )


@pytest.mark.parametrize(
    ("parameters", "label", "what"),
    [
        (
            {"loss": "softmax", "classes": "a,b"},
            [0, 1, 2],
            "label 2 of sample 2.*2 classes, 0 to 1",
        ),
        ({"loss": "softmax", "classes": "a,b"}, [0, -1], "label -1 of sample 1"),
        ({"loss": "softmax", "classes": "a,b"}, [0, 0.5], "label 0.5"),
        ({"loss": "softmax", "classes": "a,b"}, [np.nan, 0], "label nan"),
        ({"loss": "softmax"}, [0, 1], "how many classes"),
        ({}, [0, 1], "label 0 of sample 0.*-1 or"),
        ({"loss": "squared"}, [0, np.inf], "label inf of sample 1"),
    ],
)
def test_labels_of_edges_that_the_loss_does_not_know(parameters, label, what):
    with pytest.raises((DataError, UsageError), match=what):
        run_softmax(edges(label), parameters=parameters, epochs=1)
    if parameters.get("classes"):
        held_out = edges([0, 1])
        with pytest.raises(DataError, match=what):
            run_softmax(held_out, edges(label), parameters=parameters, epochs=1)


def test_weights_that_train_nothing():
    with pytest.raises(DataError, match="weight -1 of sample 0"):
        run_softmax(edges([-1, 1], -1.0), parameters={}, epochs=1)
    with pytest.raises(DataError, match=message("the-weight-of-each-is", "sample")):
        run_softmax((X, Y, np.zeros(len(X))), epochs=1)


@pytest.mark.long
def test_what_a_run_says_of_its_classes(here, command):
    assert "3 classes: 7, 8, 9\n" in command(f"run linear train.svm {FLAGS} --epochs 1")[1]
    (here / "numbers.svm").write_text(libsvm(X, np.arange(len(X)) / 8))
    said = command(f"run linear numbers.svm {FLAGS} --epochs 1")[1]
    assert "90 classes: 0.0, 0.125, 0.25, 0.375, 0.5, ...; --loss squared takes labels" in said


@pytest.mark.parametrize("text", ['"a,b', '"a"b,c', "a\nb,c"])
def test_names_of_classes_that_cannot_be_read(text):
    with pytest.raises(UsageError, match=message("classes-cannot-be-read")):
        class_names(text)


def test_names_of_classes_as_a_parameter():
    for classes in (("a", "b"), ("a,b", 'say "no"', "c"), ("-1", "+1", "1e3")):
        assert class_names(join_class_names(classes)) == classes
    assert class_names("") == () and class_names("a, b ,c") == ("a", "b", "c")
    assert Samples().multiclass(tux.BlockPG()) is False
