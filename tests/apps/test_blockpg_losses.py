"""BlockPG with losses other than the logistic one: their formulas, and optima beside those of
scikit-learn.
"""

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso
from sklearn.svm import LinearSVC
from support.messages import message
from support.oracles.blockpg_oracle import Data

import tux
from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.blockpg.losses import LOSSES
from tux.cli.main import main

WIDTH, C = 0.7, 2.0
QUIET = {"progress": False, "seed": 1}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("m", [-3.0, -0.2, 0.3, 1.1, 40.0])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_slopes_curvatures_and_conjugates(name, m, y):
    of, step = LOSSES[name], 1e-5
    low, (loss, slope, curve), high = (of.model(y, m + d, C, WIDTH) for d in (-step, 0.0, step))
    assert slope == pytest.approx((high[0] - low[0]) / (2 * step), abs=1e-4)
    assert of.slope(y, m, C, WIDTH) == pytest.approx(slope, rel=1e-12)
    bend = (high[1] - low[1]) / (2 * step)
    assert curve == pytest.approx(bend, abs=1e-4) or name == "huber" and curve > bend
    assert curve <= C * of.bend
    # Fenchel's equality, which holds at the slope of m alone
    assert loss + of.conjugate(y, slope, C, WIDTH) == pytest.approx(slope * m, abs=1e-9)


@pytest.mark.parametrize("m", [-9.0, 0.1, 2.0])
def test_the_quadratic_model_of_huber_is_never_below(m):
    loss, slope, curve = LOSSES["huber"].model(0.5, m, C, WIDTH)
    for d in np.linspace(-12, 12, 49):
        model = loss + slope * d + curve / 2 * d * d
        assert LOSSES["huber"].model(0.5, m + d, C, WIDTH)[0] <= model + 1e-12


def draw(n=200, p=300, true=11, shift=5.0, seed=0):
    """Draw samples whose numbers depend on few of many features. Values are those of single
    precision.
    """
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, p)) < 0.3, rng.normal(size=(n, p)), 0).astype("f4").astype("f8")
    w = np.zeros(p)
    w[rng.choice(p, true, replace=False)] = rng.choice([-1, 1], true) * rng.uniform(1, 3, true)
    y = (x @ w + 0.1 * rng.normal(size=n) + shift).astype("f4").astype("f8")
    return Data(x, y, np.ones(n)), w


def objective_of(data, w, b, l1, l2):
    errors = data.x @ w + b - data.y
    return errors @ errors / 2 + l1 * np.abs(w).sum() + l2 / 2 * w @ w


def model_of(run):
    return run.vertices["feature"]["w"], float(run.context["b"][0])


@pytest.mark.parametrize(
    ("n", "p", "features", "jit"),
    [(50, 20, 3, False), pytest.param(200, 300, 11, True, marks=pytest.mark.slow)],
)
def test_lasso_finds_the_true_features(n, p, features, jit):
    """The weights off 0 are those of scikit-learn, and no others."""
    data, true = draw(n, p, features)
    l1 = 6.0
    peer = Lasso(alpha=l1 / n, tol=1e-12, max_iter=100_000).fit(data.x, data.y)
    best = objective_of(data, peer.coef_, peer.intercept_, l1, 0)
    program = BlockPG(loss="squared", l1=l1, fit_intercept=True)
    run = tux.run(program, data.edges(), jit=jit, **QUIET)
    w, b = model_of(run)
    assert np.flatnonzero(w).tolist() == np.flatnonzero(peer.coef_).tolist()
    assert np.flatnonzero(w).tolist() == np.flatnonzero(true).tolist()
    assert best * (1 - 1e-9) <= objective_of(data, w, b, l1, 0) <= best * (1 + 1e-6)
    last = run.history.records[-1]
    assert last["objective"] == pytest.approx(objective_of(data, w, b, l1, 0), rel=1e-9)
    assert last["objective"] - best <= last["duality_gap"] <= 1e-3 * best
    np.testing.assert_allclose(run.predict(data.x[:5]), data.x[:5] @ w + b, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("path", [1, 5])
def test_elastic_net(intercept, path):
    data, _ = draw(n=100, p=150)
    l1, l2, n = 6.0, 5.0, len(data.y)
    how = {"tol": 1e-12, "max_iter": 100_000, "fit_intercept": intercept}
    peer = ElasticNet(alpha=(l1 + l2) / n, l1_ratio=l1 / (l1 + l2), **how).fit(data.x, data.y)
    best = objective_of(data, peer.coef_, peer.intercept_, l1, l2)
    of = {"loss": "squared", "l1": l1, "l2": l2, "fit_intercept": intercept, "path": path}
    run = tux.run(BlockPG(**of), data.edges(), **QUIET)
    w, b = model_of(run)
    assert objective_of(data, w, b, l1, l2) <= best * (1 + 1e-6)
    assert 0 <= run.history.records[-1]["duality_gap"] <= 1e-4 * best
    if path > 1:
        assert len(run.tables["path"]["penalty_l1"]) == path


@pytest.mark.slow
def test_squared_hinge():
    data, _ = draw(shift=0.0)
    y, l1 = np.where(data.y > 0, 1.0, -1.0), 2.0
    peer = LinearSVC(
        penalty="l1", dual=False, C=1 / l1, fit_intercept=False, tol=1e-10, max_iter=100_000
    ).fit(data.x, y)

    def objective(w):
        return (np.maximum(0, 1 - y * (data.x @ w)) ** 2).sum() + l1 * np.abs(w).sum()

    data = data._replace(y=y)
    held = data.edges(data.edges())
    run = tux.run(BlockPG(loss="squared_hinge", l1=l1), data.edges(), test=held, **QUIET)
    w, _ = model_of(run)
    assert objective(w) <= objective(peer.coef_[0]) * (1 + 1e-6)
    assert np.count_nonzero(w) < len(w) / 2
    last = run.history.records[-1]
    assert 0 <= last["duality_gap"] <= 1e-2 * last["objective"]
    mean = (objective(w) - l1 * np.abs(w).sum()) / len(y)
    assert last["test_loss"] == pytest.approx(mean, rel=1e-6) and last["test_accuracy"] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_huber_ends_at_an_optimum(intercept):
    data, _ = draw(n=100, p=150)
    rng = np.random.default_rng(3)
    y = data.y + np.where(rng.random(100) < 0.1, rng.normal(size=100) * 30, 0)
    data = data._replace(y=y.astype("f4").astype("f8"))
    l1 = 3.0
    of = {"loss": "huber", "l1": l1, "fit_intercept": intercept, "epsilon": 1.0, "tol": 1e-10}
    run = tux.run(BlockPG(**of), data.edges(), **QUIET)
    w, b = model_of(run)
    errors = data.x @ w + b - data.y
    slopes = data.x.T @ np.clip(errors, -1, 1)
    wrong = np.where(w == 0, np.maximum(np.abs(slopes) - l1, 0), np.abs(slopes + l1 * np.sign(w)))
    assert wrong.max() < 1e-2 * l1 and 0 < np.count_nonzero(w) < 150
    far = np.abs(errors)
    loss = np.where(far <= 1, far**2 / 2, far - 0.5).sum()
    last = run.history.records[-1]
    assert last["objective"] == pytest.approx(loss + l1 * np.abs(w).sum(), rel=1e-9)
    assert 0 <= last["duality_gap"] <= 1e-3 * last["objective"]
    rises = np.diff(run.history["objective"])
    assert (rises <= 1e-9 * last["objective"]).all()


def test_numbers_from_a_file(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(60, 4)).round(3), np.array([2.0, 0, -1, 0])
    lines = [f"{v @ w:.6g} " + " ".join(f"{k + 1}:{each:g}" for k, each in enumerate(v)) for v in x]
    (tmp_path / "train.svm").write_text("\n".join(lines[:50]) + "\n")
    (tmp_path / "test.svm").write_text("\n".join(lines[50:]) + "\n")
    flags = "train.svm --test test.svm --loss squared --l1 0.1 --path 3 --no-jit --out run"
    assert main(f"run blockpg {flags}".split()) == 0
    run = tux.load("run")
    last = run.history.records[-1]
    assert last["test_rmse"] == pytest.approx(np.sqrt(2 * last["test_loss"]), rel=1e-9)
    assert last["test_rmse"] < 0.05 and "test_accuracy" not in last
    assert {"test_loss", "test_rmse"} <= {*run.tables["path"].columns}
    assert main("predict run test.svm --out p.csv".split()) == 0
    assert (tmp_path / "p.csv").read_text().startswith("sample,prediction\n")
    arrays = run.export("sklearn")
    assert [*arrays] == ["coef_", "intercept_", "features"] and arrays["coef_"].shape == (4,)
    assert main("run blockpg train.svm --loss squared --positive-weight 2".split()) == 2
    assert "positive_weight" in capsys.readouterr().err.replace("-", "_")


def test_numbers_have_no_weights_of_classes():
    with pytest.raises(tux.UsageError, match=message("positive-weight-has-no-effect")):
        BlockPG(loss="huber", positive_weight=2.0)


def test_a_path_that_would_end_at_0_is_refused():
    """Each penalty is a share of the one before."""
    with pytest.raises(tux.UsageError, match="cannot end at l1 0"):
        BlockPG(path=3, l1=0.0)
    assert BlockPG(l1=0.0).path == 1


def test_a_gap_is_never_negative():
    """With all weights 0, rounding alone tells the objective from the dual one."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 3)), 5 + rng.normal(size=50)
    for intercept in (False, True):
        p = BlockPG(loss="squared", l1=1e6, fit_intercept=intercept)
        run = tux.run(p, (x, y), jit=False, **QUIET)
        assert min(run.history["duality_gap"]) >= 0 and run.history["nonzeros"][-1] == 0
