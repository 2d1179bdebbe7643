"""The loss softmax beside scikit-learn: its slopes, optima, solvers, one worker and several."""

from types import SimpleNamespace as Row

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from support.messages import message
from support.oracles.blockpg_oracle import Data
from support.oracles.linear_oracle import fit

from tux.apps.linear import class_quality
from tux.apps.linear import classes as app
from tux.apps.linear import softmax as formulas
from tux.apps.linear.losses import LOSSES
from tux.base.errors import UsageError

TIGHT = {"l2": 0.5, "tol": 1e-10}


def draw_samples(classes, n=120, p=8, seed=0):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, p)) < 0.5, rng.normal(size=(n, p)), 0).astype("f4").astype("f8")
    y = (x @ rng.normal(size=(p, classes)) + rng.gumbel(size=(n, classes))).argmax(axis=1)
    return Data(x, y.astype("f8"), rng.integers(1, 4, n).astype("f8"))


def fit_softmax(data, test=None, **parameters):
    classes = ",".join(str(k) for k in range(int(data.y.max()) + 1))
    return fit(data, test, loss="softmax", classes=classes, **TIGHT | parameters)


def objective(data, w, b=0.0, l1=0.0, l2=0.0):
    logs = log_softmax(data.x @ w + b, axis=1)[np.arange(len(data.y)), data.y.astype(int)]
    return -(data.c * logs).sum() + l1 * abs(w).sum() + l2 / 2 * (w * w).sum()


def sklearn_optimum(data, l2, *, intercept):
    """Return scikit-learn's optimum."""
    model = LogisticRegression(C=1 / l2, fit_intercept=intercept, tol=1e-10, max_iter=5000)
    model.fit(data.x, data.y, data.c)
    return model, objective(data, model.coef_.T, model.intercept_, l2=l2)


def result_of(team):
    return team.history("objective")[-1], team.gather("feature", "w"), np.array(team.tau.b)


# The functions.


@pytest.mark.parametrize("scale", [1.0, 500.0])
def test_a_loss_and_its_slopes(scale):
    rng = np.random.default_rng(1)
    for classes in (2, 3, 5):
        m, y = rng.normal(size=classes) * scale, classes - 1
        slopes = m.copy()
        assert formulas.slopes(slopes, y) == pytest.approx(-log_softmax(m)[y], abs=1e-12, rel=1e-12)
        for k in range(classes):
            near = []
            for d in (-1e-6, 1e-6):
                moved = m.copy()
                moved[k] += d * scale
                near.append(formulas.slopes(moved, y))
            assert slopes[k] == pytest.approx((near[1] - near[0]) / (2e-6 * scale), abs=1e-6)


def row(**fields):
    return Row(**{n: np.array(v, "f8") if isinstance(v, list) else v for n, v in fields.items()})


def test_functions_of_samples_are_plain_python():
    tau = row(b=[0.1, 0.2, 0.3], d=[1.0, 2.0, 3.0], step=0.5, of_b=[0, 0, 0], labels=[0, 0, 0])
    tau.samples = tau.weights = tau.loss = tau.slope = tau.judged = tau.tested = tau.right = 0
    tau.ranks, given = np.zeros((2, 4096)), Row(loss=LOSSES["softmax"])
    feature = row(w=[1.0, -1.0, 0.5], d=[0.5, 0.0, -1.0], gathered=[0, 0, 0])
    sample = row(label=2.0, weight=2.0, c=2.0, m=[0, 0, 0], along=[4, 4, 4], r=[0.2, 0.3, -0.5])
    edges = [row(value=2.0, feature=feature, sample=sample)]
    app.curve(feature, edges)
    assert feature.gathered.tolist() == [8, 8, 8]
    app.gather(feature, edges)
    assert feature.gathered == pytest.approx([8.4, 8.6, 7])
    app.weigh(sample, tau)
    assert (sample.c, tau.samples, tau.weights) == (2, 1, 2)
    assert sample.along.tolist() == [0, 0, 0] and tau.labels.tolist() == [0, 0, 2]
    app.centre(sample, tau)
    assert sample.m.tolist() == [0.1, 0.2, 0.3]
    tau.bent, sample.r = 0, 2 * np.array([0.2, 0.3, -0.5])
    app.project(sample, edges, tau, given)
    assert sample.along == pytest.approx([2, 2, 1])
    assert tau.bent == pytest.approx(2 * (0.2 * 4 + 0.3 * 4 + 0.5 - 1.5**2))
    app.attempt(sample, tau, given)
    p = softmax(sample.m + 0.5 * sample.along)
    assert tau.loss == pytest.approx(-2 * np.log(p[2]))
    assert sample.r == pytest.approx(2 * (p - [0, 0, 1])) and tau.of_b == pytest.approx(sample.r)
    assert tau.slope == pytest.approx(sample.r @ sample.along)
    feature.gathered[:] = tau.of_b[:] = 0
    app.differentiate_all(sample, edges, tau, given)
    shares = softmax(tau.b + 2 * feature.w)
    assert tau.of_b == pytest.approx(2 * (shares - [0, 0, 1]))
    assert feature.gathered == pytest.approx(2 * tau.of_b)
    app.differentiate(sample, edges, tau, given)
    assert feature.gathered == pytest.approx(4 * tau.of_b)
    out = np.zeros(3, "f4")
    class_quality.probabilities(sample, edges, tau, out)
    assert out == pytest.approx(shares, rel=1e-6)
    class_quality.lose(sample, edges, tau)
    assert tau.judged == pytest.approx(-2 * np.log(shares[2]))
    class_quality.judge(sample, edges, tau)
    assert (tau.tested, tau.right) == (1, shares.argmax() == 2)
    tau.abs_sum = tau.square_sum = 0
    class_quality.add_penalty(feature, tau)
    assert (tau.abs_sum, tau.square_sum) == (2.5, 2.25)


def test_the_first_intercepts():
    b = formulas.first_intercepts(np.array([10.0, 20.0, 70.0]))
    assert softmax(b) == pytest.approx([0.1, 0.2, 0.7]) and b.sum() == pytest.approx(0)
    assert np.isfinite(formulas.first_intercepts(np.array([3.0, 0.0]))).all()


# The optimum.


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize(("classes", "intercept"), [(3, False), (5, True)])
def test_lbfgs_finds_the_optimum_of_scikit_learn(classes, intercept):
    data, new = draw_samples(classes), draw_samples(classes, n=60, seed=1)
    team = fit_softmax(data, new, fit_intercept=intercept)
    model, optimum = sklearn_optimum(data, 0.5, intercept=intercept)
    said, w, b = result_of(team)
    assert said == pytest.approx(objective(data, w, b, l2=0.5), rel=1e-9)
    assert said == pytest.approx(optimum, rel=1e-8)
    assert w == pytest.approx(model.coef_.T, abs=1e-4)
    assert b == pytest.approx(model.intercept_, abs=1e-4)
    told = model.predict_proba(new.x)
    right = (told.argmax(axis=1) == new.y).mean()
    logs = np.log(told[np.arange(len(new.y)), new.y.astype(int)])
    assert team.history("test_accuracy")[-1] == pytest.approx(right)
    assert team.history("test_logloss")[-1] == pytest.approx(-logs.mean(), rel=1e-5)
    assert "test_auc" not in team.records[0][-1]


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True])
def test_newton_finds_it_too(intercept):
    data = draw_samples(4)
    team = fit_softmax(data, solver="newton", fit_intercept=intercept)
    model, optimum = sklearn_optimum(data, 0.5, intercept=intercept)
    assert team.history("objective")[-1] == pytest.approx(optimum, rel=1e-8)
    assert team.gather("feature", "w") == pytest.approx(model.coef_.T, abs=1e-4)
    assert np.array(team.tau.b) == pytest.approx(model.intercept_, abs=1e-4)
    assert len(team.history("objective")) < 30


@pytest.mark.slow
def test_two_classes_are_logistic_regression():
    """Softmax of half the penalty is logistic regression, as both of its weights are half."""
    data = draw_samples(2)
    team = fit_softmax(data, data, l2=1.0)
    signs = data._replace(y=2 * data.y - 1)
    other = fit(signs, signs, l2=0.5, tol=1e-10)
    said, w, _ = result_of(team)
    assert said == pytest.approx(other.history("objective")[-1], rel=1e-9)
    assert w[:, 1] - w[:, 0] == pytest.approx(other.gather("feature", "w"), abs=1e-5)
    for name in ("test_auc", "test_accuracy", "test_logloss"):
        assert team.history(name)[-1] == pytest.approx(other.history(name)[-1], rel=1e-6)


@pytest.mark.long
@pytest.mark.parametrize(("k", "slack"), [(2, 0), (4, 2)])
def test_lbfgs_on_several_workers(k, slack):
    data = draw_samples(3)
    one = fit_softmax(data, fit_intercept=True, tol=1e-6)
    team = fit_softmax(data, fit_intercept=True, tol=1e-6, k=k, slack=slack, delivery=k)
    assert team.history("objective") == pytest.approx(one.history("objective"), rel=1e-9)
    assert team.gather("feature", "w") == pytest.approx(one.gather("feature", "w"), abs=1e-7)


SLOW = [pytest.param(solver, marks=pytest.mark.long) for solver in ("adagrad", "rmsprop")]


@pytest.mark.long
@pytest.mark.parametrize("solver", ["adam", *SLOW])
def test_a_stochastic_solver_comes_near(solver):
    data = draw_samples(3)
    step = {"learning_rate": 1.0} if solver == "adagrad" else {}
    how = {"solver": solver, "batch_size": 0.1, "fit_intercept": True, "tol": 1e-5}
    said, w, b = result_of(fit_softmax(data, **how, **step))
    assert said == pytest.approx(objective(data, w, b, l2=0.5), rel=1e-6)
    assert said <= sklearn_optimum(data, 0.5, intercept=True)[1] * 1.001


@pytest.mark.long
def test_a_penalty_on_sums():
    data = draw_samples(3)
    how = {"solver": "adagrad", "penalty": "elastic", "l1": 1.0, "batch_size": 0.1, "tol": 1e-5}
    said, w, _ = result_of(fit_softmax(data, **how, learning_rate=1.0, epochs=500))
    assert said == pytest.approx(objective(data, w, l1=1.0, l2=0.5), rel=1e-6)
    shape = 2, *w.shape  # above 0 and below

    def F(v):
        up, down = v.reshape(shape)
        r = data.c[:, None] * (
            softmax(data.x @ (up - down), axis=1) - np.eye(3)[data.y.astype(int)]
        )
        slope = data.x.T @ r + 0.5 * (up - down)
        value = objective(data, up - down, l2=0.5) + (up + down).sum()
        return value, np.concatenate([(1 + slope).ravel(), (1 - slope).ravel()])

    least = minimize(F, np.zeros(2 * w.size), jac=True, bounds=[(0, None)] * (2 * w.size))
    assert said <= least.fun * 1.001


@pytest.mark.parametrize("solver", ["sgd", "averaging"])
def test_solvers_of_one_margin_are_refused(solver):
    with pytest.raises(UsageError, match=f"{solver} is for losses of one margin") as told:
        fit_softmax(draw_samples(3), solver=solver, tol=1e-5)
    assert told.value.do == "--solver lbfgs, or adam, adagrad or rmsprop"
    with pytest.raises(
        UsageError, match=message("positive-weight-has-no-effect", "no second class")
    ):
        fit_softmax(draw_samples(3), positive_weight=2.0)
