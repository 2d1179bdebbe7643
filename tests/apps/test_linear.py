"""Linear models beside scipy's optima: losses, penalties, solvers, one worker and several."""

import math

import blockpg_oracle
import numpy as np
import pytest
from linear_oracle import MADE, fit, found, losses, numbers, objective, solved

from tux.apps.linear.linear import Linear
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.updates import STEPS
from tux.base.errors import UsageError

SMOOTH = [name for name, loss in LOSSES.items() if loss.smooth]


def data_of(name):
    return MADE if LOSSES[name].of_classes else numbers()


# Losses.


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("m", [-3.0, -0.4, 0.0, 0.7, 2.5, 40.0, -800.0])
def test_a_loss_and_its_slope(name, m):
    for y in (-1.0, 1.0) if LOSSES[name].of_classes else (-2.2, 0.1):
        value, slope = LOSSES[name].f(y, m, 1.35)
        assert value == pytest.approx(losses(name, np.array(y), np.array(m)), abs=1e-12)
        h = 1e-5
        near = [LOSSES[name].f(y, m + d, 1.35)[0] for d in (-h, h)]
        assert slope == pytest.approx((near[1] - near[0]) / (2 * h), abs=1e-4, rel=1e-6)


def test_the_slope_of_the_hinge_at_its_kink():
    assert LOSSES["hinge"].f(1.0, 1.0, 0.0) == (0.0, 0.0)


# L-BFGS.


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("intercept", [False, True])
def test_lbfgs_finds_the_optimum(name, intercept):
    data = data_of(name)
    team = fit(data, loss=name, l2=0.5, intercept=intercept)
    said, w, b = found(team)
    assert said == pytest.approx(objective(data, name, w, b, l2=0.5), rel=1e-9)
    assert said <= solved(data, name, 0.5, intercept=intercept) * (1 + 1e-7)
    assert (np.diff(team.history("objective")) <= 0).all()
    assert (b != 0) is intercept


@pytest.mark.parametrize(("k", "slack"), [(2, 0), (3, 2)])
def test_lbfgs_on_several_workers(k, slack):
    one = fit(MADE, l2=0.5, intercept=True)
    team = fit(MADE, k=k, slack=slack, delivery=k, l2=0.5, intercept=True)
    assert team.history("objective") == pytest.approx(one.history("objective"), rel=1e-9)
    assert np.allclose(team.gather("feature", "w"), one.gather("feature", "w"), atol=1e-7)


# Stochastic gradients.


@pytest.mark.parametrize("solver", STEPS)
@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_a_stochastic_solver_comes_near(solver, l1):
    step = 1.0 if solver == "adagrad" else 0.0
    penalty = "elastic" if l1 else "l2"
    team = fit(MADE, solver=solver, penalty=penalty, batch=0.1, intercept=True, step=step)
    said, w, b = found(team)
    assert said == pytest.approx(objective(MADE, "logistic", w, b, l1=l1, l2=1.0), rel=1e-6)
    assert said <= blockpg_oracle.solve(MADE, l1, 1.0, True)[0] * 1.001


def test_sgd_bounds_the_curvature_along_the_intercept():
    """Of small features, it is almost all there is."""
    data = numbers()
    small = data._replace(x=data.x * 0.01)
    F = fit(small, loss="squared", solver="sgd", batch=0.1, intercept=True, l2=0.0, epochs=30)
    said = F.history("objective")
    start = objective(small, "squared", np.zeros(small.x.shape[1]))
    assert said[-1] <= said[0] and said[-1] < start
    power = float(F.tau.curvature - F.tau.mean_square / F.tau.batch) / 1.1
    design = np.column_stack([small.x, np.ones(len(small.x))])
    bound = np.linalg.eigvalsh(design.T @ (data.c[:, None] * design))[-1] / len(small.x)
    assert power == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize(("batch", "size"), [(1e6, 1), (0.7, 1), (0.4, 1 / 2), (2, 0)])
def test_a_gradient_is_divided_by_the_samples_of_a_mini_batch(batch, size):
    team = fit(MADE, solver="sgd", batch=batch, epochs=1)
    assert team.tau.batch == max(size * len(MADE.y), 2)


def test_the_size_of_mini_batches_is_told_and_cannot_be_misread():
    def told(batch):
        program = Linear(solver="adam", batch=batch)
        return program.report.opening(program, {"sample": 1_000})

    assert told(0.01) == ["mini-batches of 10 of 1,000 samples"]
    assert told(200) == ["mini-batches of 200 of 1,000 samples"]
    assert told(1e9) == ["mini-batches of 1,000 of 1,000 samples"]
    whole = Linear()
    assert whole.report.opening(whole, {"sample": 9}) == []
    for wrong, why in ((1, "one sample and as all"), (1.5, "no number of samples")):
        with pytest.raises(UsageError, match=why):
            told(wrong)


# The intercept.


@pytest.mark.parametrize("name", ["squared", "huber"])
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_labels_far_from_zero(name, solver):
    near, far = numbers(), numbers()
    far = far._replace(y=far.y + 4096)  # which 32 bits hold
    fits = [fit(d, loss=name, l2=0.5, intercept=True, solver=solver) for d in (near, far)]
    (F, _, b), (F_far, _, b_far) = (found(team) for team in fits)
    assert F_far == pytest.approx(F, rel=1e-3)
    assert b_far - 4096 == pytest.approx(b, abs=0.05)


def test_a_constant_model_starts_at_its_optimum():
    data = MADE._replace(x=MADE.x * 0)
    data.x[0, 0] = 1e-6
    team = fit(data, intercept=True, epochs=1)
    up = (data.y > 0).mean()
    assert float(team.tau.b) == pytest.approx(math.log(up / (1 - up)), rel=1e-4)


def test_a_feature_with_a_mean_far_from_zero():
    data = MADE._replace(x=np.column_stack([MADE.x, MADE.x[:, 0] + 10]).astype("f4").astype("f8"))
    said, _, _ = found(fit(data, l2=0.5, intercept=True, tol=1e-8, epochs=1000))
    assert said <= blockpg_oracle.solve(data, 0.0, 0.5, True)[0] * (1 + 1e-5)
