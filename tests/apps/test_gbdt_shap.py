"""SHAP values of boosted trees beside their definition and beside XGBoost's; the files of them."""

import json

import numpy as np
import pytest
from scipy import sparse
from support.messages import message
from support.oracles.gbdt_oracle import draw_samples, edges_of
from support.oracles.shap_oracle import draw_trees, shap_values

import tux
from tux.apps.gbdt import shap
from tux.apps.gbdt.gbdt import GBDT
from tux.base import parallel
from tux.cli.main import main
from tux.predict.row_exports import rows_of_edges

FEATURES = 5


def rows_of(x):
    edges = edges_of(x, np.ones(len(x), "f4"))
    return rows_of_edges(edges, "sample", np.arange(len(x)))


def contributions(fields, x, chosen=slice(None)):
    """Return what all features give, and the base, (n, p + 1), by tux."""
    explained = shap.ExplainedTrees.of(fields, x.shape[1], chosen)
    out = np.zeros((len(x), x.shape[1] + 1))
    out[:, [*explained.used, -1]] = np.concatenate([*shap.explain_scores([explained], rows_of(x))])
    return out


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_they_are_means_over_all_subsets(depth):
    fields = draw_trees(4, depth, FEATURES, seed=depth) | {"base": np.float32(0.5)}
    x, _ = draw_samples(n=6, p=FEATURES, share=0.7, seed=depth)
    found = contributions(fields, x)
    np.testing.assert_allclose(found, shap_values(fields, x, 0.5), atol=1e-12)


def test_trees_of_one_leaf_and_no_trees_are_all_base():
    fields = draw_trees(1, 2, FEATURES) | {"base": np.float32(0.5)}
    x, _ = draw_samples(n=3, p=FEATURES)
    found = contributions(fields, x)
    assert not found[:, :-1].any()
    np.testing.assert_allclose(found[:, -1], 0.5 + float(fields["weight"][0, 1]), rtol=1e-15)
    assert (contributions(fields, x, slice(0))[:, -1] == 0.5).all()


def test_chosen_trees_add_up():
    """A class has every other tree, say."""
    fields = draw_trees(5, 3, FEATURES) | {"base": np.float32(0)}
    x, _ = draw_samples(n=20, p=FEATURES)
    parts = [contributions(fields, x, slice(first, None, 2)) for first in (0, 1)]
    np.testing.assert_allclose(parts[0] + parts[1], contributions(fields, x), atol=1e-12)


def test_pieces_and_threads_give_the_same_bits(monkeypatch):
    fields = draw_trees(4, 4, FEATURES) | {"base": np.float32(1)}
    x, _ = draw_samples(n=50, p=FEATURES)
    one = contributions(fields, x)
    monkeypatch.setattr(shap, "BLOCK_ROWS", 7)
    monkeypatch.setattr(parallel, "threads", lambda: 3)
    monkeypatch.setattr(shap, "threads", lambda: 3)
    assert np.array_equal(contributions(fields, x), one)


def test_an_entry_that_is_there_twice_counts_as_in_predictions():
    fields = draw_trees(4, 3, 2) | {"base": np.float32(0)}
    x = np.float32([[0.3, -1.0]])
    once, explained = contributions(fields, x), shap.ExplainedTrees.of(fields, 2)
    rows = rows_of(x)
    to, value = np.append(rows.to, 0), np.append(rows.fields["value"], np.float32(9))
    double = tux.NewRows("sample", rows.ids, np.array([0, 3]), "feature", to, {"value": value})
    assert np.array_equal(explained.contributions(double), once)


# ---- of runs


def write(path, x, y):
    """Write a libsvm file, whose features are numbered from 1."""
    rows = []
    for values, label in zip(x, y, strict=True):
        there = np.flatnonzero(~np.isnan(values))
        rows.append(" ".join([f"{label:.9g}", *(f"{k + 1}:{values[k]:.9g}" for k in there)]))
    path.write_text("\n".join(rows) + "\n")


def train(folder, out="run", numbers=False, **more):
    """Train on a file in a folder, as plain Python, with the model of the best epoch."""
    for name, seed, n in (("train", 1, 60), ("new", 2, 30)):
        write(folder / f"{name}.svm", *draw_samples(n=n, p=6, seed=seed, numbers=numbers))
    loss = "squared" if numbers else "logistic"
    how = {"jit": False, "progress": False, "out": folder / out, "test": folder / "new.svm"}
    program = GBDT(max_iter=3, max_depth=2, learning_rate=1.0, loss=loss)
    return tux.run(program, folder / "train.svm", **how, **more)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, id="classes"),
        pytest.param(True, id="numbers", marks=pytest.mark.slow),
    ],
)
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("shap")
    train(folder, numbers=request.param)
    return folder


@pytest.fixture
def here(folder, monkeypatch, tmp_path):
    """Work in the folder of a run; files that a test writes go elsewhere."""
    monkeypatch.chdir(folder)
    return tmp_path


def margins(run, data):
    found = np.asarray(run.predict(data), np.float64)
    return found if run.parameters["loss"] == "squared" else np.log(found / (1 - found))


def matrix_of(arrays):
    shape = tuple(arrays["shape"])
    return sparse.csr_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape)


def test_a_file_for_scipy(here, capsys):
    out = here / "shap.npz"
    assert main(f"export run --format shap --data new.svm --out {out}".split()) == 0
    assert "30 samples, " in capsys.readouterr().out
    run, found = tux.load("run"), sparse.load_npz(out)
    assert found.shape == (30, 8)  # columns of libsvm from 0, and the base
    np.testing.assert_allclose(found.toarray().sum(axis=1), margins(run, "new.svm"), atol=1e-5)
    again = run.export("shap", "new.svm")
    assert (matrix_of(again) != found).nnz == 0
    with np.load(out) as arrays:
        assert arrays.keys() == again.keys() and arrays["sample"].tolist() == [*range(1, 31)]
        assert arrays["feature"][-1] == "base"
        names = [str(k) for k in found.indices[: len(arrays["feature"]) - 1]]
        assert arrays["feature"][:-1].tolist() == names


def test_the_samples_of_training_are_read_again(here):
    run = tux.load("run")
    assert np.array_equal(run.export("shap")["data"], run.export("shap", "train.svm")["data"])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_line_for_each_number(here, ending):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    out = here / f"shap.{ending}"
    assert main(f"export run --format shap --data new.svm --out {out}".split()) == 0
    read = pandas.read_csv if ending == "csv" else pandas.read_parquet
    arrays, table = tux.load("run").export("shap", "new.svm"), read(out)
    assert [*table] == ["sample", "feature", "contribution"]
    np.testing.assert_allclose(table["contribution"], arrays["data"], rtol=1e-6)
    assert table["feature"].astype(str).tolist() == arrays["feature"].tolist() * 30
    lines = np.repeat(np.arange(1, 31), len(arrays["feature"]))
    assert table["sample"].tolist() == lines.tolist()


def test_they_are_those_of_xgboost(here):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    run = tux.load("run")
    (here / "model.json").write_text(json.dumps(run.export("xgboost")))
    booster = xgboost.Booster(model_file=str(here / "model.json"))
    x, _ = draw_samples(n=30, p=6, seed=2, numbers=run.parameters["loss"] == "squared")
    data = xgboost.DMatrix(np.column_stack([np.full(30, np.nan), x]))
    found = matrix_of(run.export("shap", "new.svm")).toarray()
    np.testing.assert_allclose(found, booster.predict(data, pred_contribs=True), atol=1e-5)


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        ("--format shap --out a.json", 2, ["end its name in .npz, .parquet, .csv or .tsv"]),
        ("--format shap --data none.svm --out a.npz", 3, ["none.svm"]),
        ("--format shap --out new.svm", 2, ["new.svm exists"]),
        ("--format trees --data new.svm --out a.npz", 2, ["trees is about the model alone"]),
        ("--format gantt --data new.svm --out a.svg", 2, ["gantt is about the model alone"]),
    ],
)
def test_mistakes(folder, monkeypatch, capsys, flags, code, words):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert main(f"export run {flags}".split()) == code
    said = capsys.readouterr().err
    assert all(word in said for word in words) and "Traceback" not in said
    assert sorted(folder.iterdir()) == before


def test_data_of_training_that_are_not_there_any_more(tmp_path):
    run = train(tmp_path)
    train(tmp_path, "next", from_run=tmp_path / "run", epochs=1)
    following = tux.load(tmp_path / "next")
    assert len(following.export("shap")["sample"]) == 60
    with open(tmp_path / "train.svm", "a") as file:
        file.write("1 1:1\n")
    for each in (run, following):
        with pytest.raises(tux.DataError, match=message("the-data-changed-since-the-2")):
            each.export("shap")
    (tmp_path / "train.svm").unlink()
    with pytest.raises(tux.DataError, match="train.svm") as error:
        run.export("shap")
    assert "name a file of samples" in error.value.do


def test_data_in_memory_are_named_again():
    x, y = draw_samples(n=40, p=4)
    run = tux.run(GBDT(max_iter=2, max_depth=2), edges_of(x, y), jit=False, progress=False)
    with pytest.raises(tux.UsageError, match=message("of-training-cannot-be-read", "memory")):
        run.export("shap")
    with pytest.raises(tux.UsageError, match=message("the-format-is-about-the", "trees")):
        run.export("trees", edges_of(x, y))
    found = matrix_of(run.export("shap", edges_of(x, y))).toarray()
    np.testing.assert_allclose(found.sum(axis=1), margins(run, edges_of(x, y)), atol=1e-5)


def test_several_classes_stand_side_by_side():
    x, y = draw_samples(n=60, p=4, numbers=True)
    kinds = np.digitize(y, np.quantile(y, [0.3, 0.6]))
    program = GBDT(loss="softmax", classes="0,1,2", max_iter=2, max_depth=2)
    data = (sparse.csr_matrix(np.nan_to_num(x)), kinds)
    run = tux.run(program, data, jit=False, progress=False)
    arrays = run.export("shap", data)
    found = matrix_of(arrays).toarray().reshape(60, 3, 5)
    scores = np.exp(found.sum(axis=2))
    chances = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(run.predict(data[0]), chances, atol=1e-5)
    bases = [name for name in arrays["feature"].tolist() if name.endswith("base")]
    assert bases == ["0:base", "1:base", "2:base"]
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    booster = xgboost.Booster(model_file=bytearray(json.dumps(run.export("xgboost")).encode()))
    whole = xgboost.DMatrix(np.where(data[0].toarray() == 0, np.nan, data[0].toarray()))
    np.testing.assert_allclose(found, booster.predict(whole, pred_contribs=True), atol=1e-5)
