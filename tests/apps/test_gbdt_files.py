"""Boosted trees from files: what is reported, kept, predicted, exported and refused."""

import numpy as np
import pytest
from support.oracles.gbdt_oracle import draw_samples, edges_of, score_samples

import tux
from tux.apps.gbdt.gbdt import GBDT
from tux.cli.main import main
from tux.options.options import RunOptions
from tux.runs.session import run

TREES = ("feature", "cut", "default_left", "weight")


def write(path, x, y):
    """Write a libsvm file, whose features are numbered from 1."""
    rows = []
    for values, label in zip(x, y, strict=True):
        there = np.flatnonzero(~np.isnan(values))
        entries = [f"{k + 1}:{values[k]:.9g}" for k in there]
        rows.append(" ".join([f"{label:.9g}", *entries]))
    path.write_text("\n".join(rows) + "\n")


X, Y = draw_samples(n=300, seed=20)
TEST = draw_samples(n=120, seed=21)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return files to train and to test on, and a run."""
    folder = tmp_path_factory.mktemp("gbdt")
    write(folder / "train.svm", X, Y)
    write(folder / "test.svm", *TEST)
    data = [str(folder / "train.svm"), "--test", str(folder / "test.svm")]
    shape = ["--max-iter", "6", "--max-depth", "3"]
    assert main(["run", "gbdt", *data, *shape, "--out", str(folder / "run")]) == 0
    return folder


def scores(folder, x):
    """Compute scores by the trees of a run, whose features are numbered from 1."""
    found = tux.load(folder)
    of = found.export("trees")
    columns = x[:, of["features"] - 1]
    return score_samples({name: of[name] for name in TREES}, columns, of["base"])


@pytest.mark.slow
def test_xgboost_predicts_the_same(files, tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    out = tmp_path / "model.json"
    assert main(["export", str(files / "run"), "--format", "xgboost", "--out", str(out)]) == 0
    booster = xgboost.Booster(model_file=str(out))
    shifted = np.column_stack([np.full(len(TEST[1]), np.nan), TEST[0]])  # no feature is called 0
    data = xgboost.DMatrix(shifted)
    m = scores(files / "run", TEST[0])
    assert booster.predict(data, output_margin=True) == pytest.approx(m, abs=2e-6)
    assert booster.predict(data) == pytest.approx(1 / (1 + np.exp(-m)), abs=1e-6)
    gains = booster.get_score(importance_type="total_gain")
    of = tux.load(files / "run").export("importance")
    used = of["splits"] > 0
    assert {int(k[1:]): v for k, v in gains.items()} == pytest.approx(
        dict(zip(of["feature"][used].tolist(), of["gain"][used].tolist(), strict=True)), rel=1e-5
    )


def test_xgboost_grows_the_same_trees():
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed")
    edges = edges_of(X, Y)
    records = run(GBDT(max_iter=8), edges, options=RunOptions(epochs=100)).records
    settings = {"max_depth": 6, "eta": 0.3, "objective": "binary:logistic", "nthread": 1}
    data = xgboost.DMatrix(X, Y > 0)
    start = float((Y > 0).mean())
    booster = xgboost.train(settings | {"tree_method": "hist", "base_score": start}, data, 8)
    m = booster.predict(data, output_margin=True)
    loss = np.logaddexp(0, -Y * m.astype("f8")).sum()
    assert records[-1]["objective"] == pytest.approx(loss, rel=1e-3)


@pytest.mark.long
def test_exports_of_numbers_and_of_named_features(tmp_path):
    x, y = draw_samples(n=150, p=5, seed=22, numbers=True)
    names = [f"f{k}" for k in range(5)]
    sample, feature = np.nonzero(~np.isnan(x))
    edges = edges_of(x, y)
    found = tux.run(GBDT(max_iter=2, max_depth=2, loss="squared"), edges)
    document = found.export("xgboost")["learner"]
    assert document["objective"]["name"] == "reg:squarederror"
    assert float(document["learner_model_param"]["base_score"]) == pytest.approx(y.mean(), abs=1e-6)
    assert len(sample) == len(feature) and document["feature_names"] == []
    from tux.apps.gbdt.booster import columns

    assert columns(np.array(names))[1:] == (5, names)
    assert columns(np.array([3, 0, 7]))[1] == 8


@pytest.mark.slow
def test_patience_ends_a_run():
    options = RunOptions(epochs=100, patience=2)
    edges, held = edges_of(X, Y), None
    held = edges_of(*TEST, train=edges)
    noisy = GBDT(max_iter=60, learning_rate=1.0, min_child_weight=0.01)
    result = run(noisy, edges, held, options=options)
    losses = [record["test_logloss"] for record in result.records]
    best = int(np.argmin(losses))
    assert len(losses) == best + 3 < 60


@pytest.mark.slow
def test_a_document_needs_a_json_file(files, tmp_path, capsys):
    out = tmp_path / "model.npz"
    assert main(["export", str(files / "run"), "--format", "xgboost", "--out", str(out)]) == 2
    assert ".json" in capsys.readouterr().err and not out.exists()


def test_numbers_as_labels_name_the_loss_for_them(tmp_path, capsys):
    write(tmp_path / "numbers.svm", *draw_samples(n=20, numbers=True))
    assert main(["run", "gbdt", str(tmp_path / "numbers.svm")]) == 3
    assert "linear, blockpg and gbdt with --loss squared" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "entries"),
    [("zeros.svm", "1 1:0 2:1\n-1 1:2 2:-0\n", 4), ("zeros.csv", "label,a,b\n1,0,1\n-1,2,\n", 2)],
)
def test_zeros_of_text_are_values_and_those_of_tables_are_not(
    name, text, entries, tmp_path, capsys
):
    (tmp_path / name).write_text(text)
    assert main(["run", "gbdt", str(tmp_path / name), "--epochs", "0"]) == 0
    assert f"2 features, {entries} entries" in capsys.readouterr().out


def test_times_in_seconds_keep_their_digits(tmp_path):
    """Of which 32 bits hold each 128th: labels that change each 50 s are learned, and predicted."""
    rng = np.random.default_rng(3)
    time = 1.7e9 + rng.uniform(0, 400, 600)
    label = (time - 1.7e9) % 100 < 50
    lines = [f"{t:.3f},{int(y)}" for t, y in zip(time, label, strict=True)]
    (tmp_path / "times.csv").write_text("\n".join(["time,label", *lines]) + "\n")
    data = str(tmp_path / "times.csv")
    chances = tux.run(GBDT(max_iter=6, max_depth=3), data).predict(data)
    assert np.mean((chances > 0.5) == label) > 0.97
