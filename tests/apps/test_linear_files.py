"""Linear models from the command line: what is reported, kept, predicted and refused."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from support.apps.app_samples import draw_clicks

import tux
from tux.apps.blockpg.quality import probability
from tux.apps.linear.linear import Linear
from tux.arrays.arrow import read_parquet
from tux.base.errors import UsageError
from tux.cli.main import main
from tux.inputs.samples import samples_to_edges
from tux.io.bags.hashed import hash_numbers
from tux.options.options import RunOptions
from tux.runs.session import run
from tux.synthetic.clicks import write_clicks


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return libsvm files to train and to test on, and the run of a model."""
    folder = tmp_path_factory.mktemp("linear")
    write_clicks(draw_clicks(), folder / "train.svm", folder / "test.svm")
    data = [str(folder / "train.svm"), "--test", str(folder / "test.svm")]
    argv = ["run", "linear", *data, "--loss", "logistic", "--penalty", "l2", "--l2", "3"]
    assert main([*argv, "--solver", "lbfgs", "--out", str(folder / "run")]) == 0
    return folder


def matrix_of(samples):
    """Return samples as a matrix with a column for each of the 80 features, from 1."""
    edges = samples.edges
    column = edges.ids["feature"].decode(edges.dst).astype(int) - 1
    shape = len(samples.label), 80
    return sp.csr_array((edges.fields["value"], (edges.src, column)), shape=shape)


def test_a_probability_of_a_margin_far_from_0():
    """In plain Python, too, where math.exp raises OverflowError."""
    feature, tau = SimpleNamespace(w=1e3), SimpleNamespace(b=0.0)
    found = [
        probability(None, [SimpleNamespace(value=x, feature=feature)], tau)
        for x in (-9.0, 0.0, 9.0)
    ]
    assert found == pytest.approx([0, 0.5, 1], abs=1e-200)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"loss": "hinge"}, "lbfgs needs a smooth loss, and hinge is none"),
        ({"penalty": "l1"}, "lbfgs needs a smooth penalty, and l1 is none"),
        ({"l1": 3.0}, "l1 3 has no effect with the penalty l2"),
        ({"penalty": "l1", "solver": "adam", "l2": 2.0}, "l2 2 has no effect with the penalty l1"),
        ({"loss": "huber", "positive_weight": 2.0}, "positive_weight has no effect"),
        ({"solver": "adam", "tol": 1e-9}, "tol has no effect with the solver adam"),
        ({"learning_rate": 2.0}, "learning_rate has no effect with the solver lbfgs"),
        ({"solver": "adagrad", "decay": 0.5}, "decay has no effect with the solver adagrad"),
        ({"epsilon": 2.0}, "epsilon has no effect with the loss logistic"),
    ],
)
def test_what_does_not_go_together(given, said):
    with pytest.raises(UsageError, match=said):
        Linear(**given)


@pytest.mark.long
def test_early_stopping_keeps_the_best_epoch():
    train, test = draw_clicks().split()
    known = samples_to_edges(train, Linear())
    options = RunOptions(epochs=60, patience=2)
    program = Linear(solver="adam", penalty="none", batch_size=0.1)
    result = run(program, known, samples_to_edges(test, Linear(), known), options=options)
    losses = [record["test_logloss"] for record in result.records]
    assert len(losses) < 60 and int(np.argmin(losses)) == len(losses) - 3


@pytest.mark.slow
def test_features_that_the_model_does_not_know(files, tmp_path, capsys):
    run, new = str(files / "run"), tmp_path / "new.svm"
    new.write_text("+1 7000:1\n-1 7001:1\n")
    capsys.readouterr()
    assert main(["predict", run, str(new)]) == 3
    said = capsys.readouterr()
    assert not said.out and "the model knows none of the features" in said.err
    assert f"at {new}\n" in said.err
    new.write_text("+1 7000:1\n-1 1:1 7001:1\n")
    assert main(["predict", run, str(new)]) == 0
    assert "2 of 3 entries of new.svm are of features that the model does not know: left out" in (
        capsys.readouterr().err
    )


@pytest.mark.long
def test_hashed_features(files, tmp_path, capsys):
    """Few enough for collisions; the model is that of the matrix that the hashes make."""
    train, test = draw_clicks().split()
    features, signs = hash_numbers(np.arange(1, 81), 5)
    into = sp.csr_array((signs, (np.arange(80), features)), shape=(80, 32))
    x, y = matrix_of(train) @ into, train.label
    fitted = tux.run(tux.Linear(l2=3.0, tol=1e-9), (x, y), progress=False)
    w = np.zeros(32)
    w[fitted.vertices["feature"].ids] = fitted.vertices["feature"]["w"]
    argv = ["run", "linear", str(files / "train.svm"), "--l2", "3", "--tol", "1e-9", "--hash", "5"]
    for out, more in (("run", []), ("two", ["--workers", "2"])):
        out = str(tmp_path / out)
        assert main([*argv, *more, "--test", str(files / "test.svm"), "--out", out]) == 0
        model = read_parquet(f"{out}/model/feature.parquet")
        assert np.allclose(model["w"], w[model["id"]], atol=1e-5) and model["id"].max() < 32
        capsys.readouterr()
        assert main(["predict", out, str(files / "test.svm")]) == 0
        lines = capsys.readouterr().out.splitlines()[1:]
        chances = [float(line.split(",")[1]) for line in lines]
        assert np.allclose(chances, expit(matrix_of(test) @ into @ w), atol=1e-5)


@pytest.mark.slow
def test_a_sample_whose_hashes_are_all_unknown(tmp_path, capsys):
    """Hashed features have no names, so that nobody can call them wrongly."""
    (tmp_path / "train.svm").write_text("1 1:1\n0 2:1\n")
    (tmp_path / "new.svm").write_text("1 7:1\n")
    argv = ["run", "linear", str(tmp_path / "train.svm"), "--no-jit", "--epochs", "1"]
    for name, flags, code in (("hashed", ["--hash", "31"], 0), ("named", [], 3)):
        assert main([*argv, *flags, "--out", str(tmp_path / name)]) == 0
        capsys.readouterr()
        assert main(["predict", str(tmp_path / name), str(tmp_path / "new.svm")]) == code
        out, err = capsys.readouterr()
        assert ("1,0.5\n" in out and "1 of 1 entries" in err) if not code else "none of" in err


@pytest.mark.slow
@pytest.mark.parametrize("app", [tux.Linear, tux.BlockPG])
def test_what_cannot_be_hashed_is_refused(app, tmp_path, files):
    train, _ = draw_clicks().split()
    known = samples_to_edges(train, app())
    for data in (known, None):
        with pytest.raises(UsageError, match="hash 9 has no effect: the features of"):
            run(app(hash=9), data, options=RunOptions(jit=False))
    if app is tux.BlockPG:
        (tmp_path / "groups").write_text("1 a\n")
        grouped = app(hash=9, groups=str(tmp_path / "groups"))
        with pytest.raises(UsageError, match="hashed features have no names"):
            run(grouped, str(files / "train.svm"), options=RunOptions(jit=False))


@pytest.mark.long
def test_margins_and_exports(files, tmp_path, capsys):
    out = str(tmp_path / "run")
    argv = ["run", "linear", str(files / "train.svm"), "--loss", "hinge", "--solver", "adagrad"]
    assert main([*argv, "--epochs", "3", "--out", out]) == 0
    capsys.readouterr()
    assert main(["predict", out, str(files / "test.svm")]) == 0
    assert capsys.readouterr().out.startswith("sample,margin\n")
    assert main(["export", out, "--format", "sklearn", "--out", str(tmp_path / "m.npz")]) == 0
    model = np.load(tmp_path / "m.npz")
    assert model["coef_"].shape == (1, len(model["features"])) and model["coef_"].any()
