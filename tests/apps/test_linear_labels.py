"""Linear models whose labels are numbers, from files, memory and partitioned folders to
predictions: beside least squares of numpy, and Huber's loss beside scipy.
"""

import numpy as np
import pyarrow.parquet as pq
import pytest
from support.apps.app_samples import libsvm
from support.messages import message
from support.oracles.blockpg_oracle import Data
from support.oracles.linear_oracle import least_objective, objective

import tux
from tux.base.errors import DataError, ProgramError, UsageError
from tux.graph.manifest import read_manifest
from tux.inputs.load import load
from tux.inputs.synthetic import generate_data
from tux.options.options import Reading
from tux.program.input import Samples

RNG = np.random.default_rng(4)
X = np.round(RNG.normal(size=(80, 6)) * (RNG.random((80, 6)) < 0.6), 3)
W = RNG.normal(size=6)
Y = np.round(3 + X @ W + 0.2 * RNG.standard_t(2, size=80), 3)
TRAIN, TEST = slice(0, 60), slice(60, 80)
HOW = {"l2": 0.5, "fit_intercept": True, "tol": 1e-9}


def least_squares(x, y, l2, c=None):
    """Return the weights and the intercept of least squares with a penalty, of samples that weigh
    c.
    """
    design = np.column_stack([x, np.ones(len(x))])
    weighed = design * np.ones(len(x))[:, None] if c is None else design * c[:, None]
    penalty = np.diag([l2] * x.shape[1] + [0.0])
    v = np.linalg.solve(weighed.T @ design + penalty, weighed.T @ y)
    return v[:-1], v[-1]


def run_linear(data, test=None, loss="squared", parameters=HOW, **options):
    program = tux.Linear(loss=loss, **parameters)
    return tux.run(program, data, test=test, progress=False, jit=False, **options)


def weights(run):
    """Return the weights of features 1, 2, .. or 0, 1, .., and the intercept."""
    feature = run.vertices["feature"]
    return feature["w"][np.argsort(feature.ids)], run.context["b"].item()


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.svm").write_text(libsvm(X[TRAIN], Y[TRAIN]))
    (tmp_path / "test.svm").write_text(libsvm(X[TEST], Y[TEST]))
    return tmp_path


# From files, by the command.


def test_a_table_with_weights(here, command):
    c = RNG.integers(1, 4, 60).astype("f8")
    columns = np.column_stack([X[TRAIN], c, Y[TRAIN]])
    rows = [",".join(map(repr, row.tolist())) for row in columns]
    (here / "t.csv").write_text("\n".join(["a,b,c,d,e,f,often,price", *rows]))
    run = "run linear t.csv --label price --weight often --loss squared --l2 0.5 --fit-intercept"
    assert command(f"{run} --no-jit --tol 1e-9 --out run")[0] == 0
    w, b = weights(tux.load("run"))
    assert np.append(w, b) == pytest.approx(
        np.append(*least_squares(X[TRAIN], Y[TRAIN], 0.5, c)), abs=1e-4
    )
    (here / "new.csv").write_text("f,a,price\n1,2,unknown\n0,0,\n")
    assert command("predict run new.csv --out p.parquet")[0] == 0
    told = pq.read_table(here / "p.parquet")["prediction"].to_pylist()
    assert told == pytest.approx([w[5] + 2 * w[0] + b, b], abs=1e-5)


def test_bad_labels_are_told_or_left_out(here, command):
    lines = (here / "train.svm").read_text().splitlines()
    (here / "bad.svm").write_text("\n".join([*lines[:30], "much 1:2", *lines[30:], "inf 2:1"]))
    code, said = command("run linear bad.svm --loss huber --no-jit")
    assert code == 3 and "bad.svm:31" in said and "the label is 'much', not a number" in said
    code, said = command("run linear bad.svm --loss huber --no-jit --epochs 2 --on-bad-row skip")
    assert code == 0 and "60 samples" in said and "2 bad rows" in said


@pytest.mark.parametrize("data", ["train.svm", ""])
def test_classes_cannot_be_named(here, command, data):
    code, said = command(f"run linear {data} --loss squared --positive 7")
    assert code == 2 and "positive 7 has no effect: labels are numbers here" in said
    with pytest.raises(UsageError, match=message("has-no-effect-labels-are-2", "negative", "a")):
        run_linear((X, Y), parameters={"negative": "a", "positive": "b"})


# From memory.


def test_huber_beside_scipy():
    run = run_linear((X, Y), loss="huber")
    data = Data(X, Y.astype("f4").astype("f8"), np.ones(len(X)))
    w, b = weights(run)
    least = least_objective(data, "huber", 0.5, intercept=True)
    assert objective(data, "huber", w, b, l2=0.5) <= least * (1 + 1e-6)


def test_a_dataframe():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"]).assign(y=Y)
    run = run_linear(frame)
    told = np.append(*weights(run))
    assert told == pytest.approx(np.append(*least_squares(X[:, :3], Y, 0.5)), abs=1e-4)
    frame.loc[7, "y"] = np.nan
    with pytest.raises(DataError, match="label y is missing") as error:
        run_linear(frame)
    assert error.value.where.endswith("row 7")


def test_what_scikit_learn_holds():
    run = run_linear((X, Y))
    given = run.export("sklearn")
    assert {*given} == {"coef_", "intercept_", "features"} and given["coef_"].shape == (6,)
    assert X @ given["coef_"] + given["intercept_"] == pytest.approx(run.predict(X), abs=1e-5)


def test_made_up_samples_have_a_known_truth():
    train, test, truth = generate_data(tux.Linear(loss="huber"))
    labels = np.concatenate([edges.vertex_fields["sample"]["label"] for edges in (train, test)])
    assert train.classes == test.classes == () and len(np.unique(labels)) > 1000
    assert "RMSE of 1.0" in truth or "RMSE of 0.9" in truth
    assert "logloss" in generate_data(tux.Linear())[2]


# Folders of tux partition, and several workers.


def labels_by_id(edges):
    """Return the labels by the ids of samples."""
    samples = edges.ids["sample"].values.tolist()
    return dict(zip(samples, edges.vertex_fields["sample"]["label"].tolist(), strict=True))


def test_a_partitioned_folder(here, command):
    code, said = command("partition train.svm --parts 2 --method bicut --numeric --out parts")
    assert code == 0 and "they are samples, labelled by numbers" in said
    assert read_manifest(here / "parts").classes == []
    program = tux.Linear(loss="squared", **HOW)
    stored, direct = (load(program, data, "test.svm") for data in ("parts", "train.svm"))
    assert labels_by_id(stored.train) == labels_by_id(direct.train) and labels_by_id(
        stored.test
    ) == labels_by_id(direct.test)
    with pytest.raises(
        DataError, match=message("its-s-have-not-two", "numbers as labels")
    ) as error:
        load(tux.BlockPG(), "parts")
    assert "without --numeric" in error.value.do
    assert "--numeric" in command("partition train.svm --parts 2 --method bicut --out graph")[1]
    with pytest.raises(DataError, match="no labels, which Linear reads|classes"):
        load(program, "graph")


def test_a_folder_of_two_classes_has_their_numbers(here, command):
    (here / "x.svm").write_text(libsvm(X[:30], ["2", "5.5"] * 15))
    (here / "words.svm").write_text(libsvm(X[:30], ["ham", "spam"] * 15))
    for name in ("x", "words"):
        assert command(f"partition {name}.svm --parts 1 --method bicut --out {name}")[0] == 0
    program = tux.Linear(loss="squared")
    read = load(program, "x").train
    assert [*labels_by_id(read).values()] == [2, 5.5] * 15 and read.classes == ()
    with pytest.raises(DataError, match=message("its-s-have-the-labels", "ham and spam")):
        load(program, "words")
    with pytest.raises(UsageError, match=message("has-no-effect-labels-are-2", "negative", "2")):
        load(tux.Linear(loss="squared", negative="2", positive="5.5"), "x")


# The declaration.


def test_what_an_input_says_of_its_labels(here):
    class Vague(Samples):
        def numeric(self, program):
            return None

    class Vaguely(tux.Linear):
        input = Vague()

    with pytest.raises(
        ProgramError, match=message("must-return-not", "Vague", "numeric", "a truth value")
    ):
        load(Vaguely(), "train.svm", None, Reading())
    with pytest.raises(ProgramError, match=message("has-other-parameters-than-tux")):

        class Wrong(Samples):
            def numeric(self):
                return True

    with pytest.raises(ProgramError, match=message("it-is-a-method-of", "Samples")) as error:

        class Elsewhere(tux.Ratings):
            def numeric(self, program):
                return True

    assert "input = Mine()" in error.value.do
    assert Samples().numeric(tux.BlockPG()) is False
