"""Linear models beside scipy's optima: losses, penalties, solvers, one worker and several."""

import blockpg_oracle
import numpy as np
import pytest
from linear_oracle import MADE, fit, found, losses, numbers, objective, solved

from tux.apps.linear.losses import LOSSES
from tux.apps.linear.updates import STEPS

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
