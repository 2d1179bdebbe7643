"""Linear models beside scipy's optima: losses, penalties, solvers, one worker and several."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.oracles import blockpg_oracle
from support.oracles.linear_oracle import (
    MADE,
    fit,
    least_objective,
    losses,
    numbers,
    objective,
    result_of,
)

from tux.apps.linear.linear import Linear
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.updates import UPDATES, adam
from tux.apps.linear.wolfe import LONGER, fall_of_F, newton, next_trial
from tux.base.errors import UsageError

ONE_MARGIN = [name for name, loss in LOSSES.items() if not loss.wide]
SMOOTH = [name for name in ONE_MARGIN if LOSSES[name].smooth]


def data_of(name):
    return MADE if LOSSES[name].of_classes else numbers()


# Losses.


@pytest.mark.parametrize("name", ONE_MARGIN)
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


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("m", [-3.0, -0.4, 0.0, 0.7, 2.5])
def test_the_curvature_of_a_loss_where_it_has_a_slope(name, m):
    loss, h = LOSSES[name], 1e-5
    for y in (-1.0, 1.0) if loss.of_classes else (-2.2, 0.1):
        near = [loss.slope(y, m + d, 1.35) for d in (-h, h)]
        curvature = loss.curvature(loss.slope(y, m, 1.35), 1.35)
        assert curvature == pytest.approx((near[1] - near[0]) / (2 * h), abs=1e-4)


# L-BFGS.


@pytest.mark.parametrize(
    ("low", "high", "least"),
    [
        ((1.0, 0.0, -2.0), (math.inf, 0.0, 0.0), 2.0),  # the slope is -4 at 0
        ((1.0, 0.0, -4.0), (math.inf, 0.0, 0.0), 10.0),  # and does not change
        ((0.0, 9.0, -6.0), (4.0, 1.0, 2.0), 3.0),  # (t - 3)^2
        ((0.0, 9.0, -6.0), (40.0, 1369.0, 74.0), 4.0),  # a tenth away from the end
    ],
)
def test_the_next_trial_of_a_search(low, high, least):
    assert next_trial(low, high, -4.0) == pytest.approx(least)


def test_the_first_trial_is_that_of_newtons_method():
    assert newton(-6.0, 2.0) == 3.0
    assert newton(-6.0, 1e-9) == LONGER
    assert newton(-6.0, 0.0) == 1.0


def test_where_the_fall_is_less_than_rounding_the_slopes_tell_it():
    assert fall_of_F(2.0, 100.0, 99.0, -1.0, 0.0) == 1.0
    assert fall_of_F(2.0, 100.0, 101.0, -1.0, 0.0) == -1.0
    for F in (100.0, np.nextafter(100.0, 101), np.nextafter(100.0, 99)):
        assert fall_of_F(1.0, 100.0, F, -2e-18, 0.0) == 1e-18


@pytest.mark.slow
def test_lbfgs_ends_where_the_gradient_is_as_short_as_asked():
    team = fit(MADE, l2=0.5, tol=1e-11)
    assert max(team.history(name)[-1] for name in ("gradient", "change")) <= 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("intercept", [False, True])
def test_lbfgs_finds_the_optimum(name, intercept):
    data = data_of(name)
    team = fit(data, loss=name, l2=0.5, fit_intercept=intercept)
    said, w, b = result_of(team)
    assert said == pytest.approx(objective(data, name, w, b, l2=0.5), rel=1e-9)
    assert said <= least_objective(data, name, 0.5, intercept=intercept) * (1 + 1e-7)
    assert (np.diff(team.history("objective")) <= 0).all()
    assert (b != 0) is intercept


@pytest.mark.slow
@pytest.mark.parametrize(("k", "slack"), [(2, 0), (3, 2)])
def test_lbfgs_on_several_workers(k, slack):
    one = fit(MADE, l2=0.5, fit_intercept=True)
    team = fit(MADE, k=k, slack=slack, delivery=k, l2=0.5, fit_intercept=True)
    assert team.history("objective") == pytest.approx(one.history("objective"), rel=1e-9)
    assert np.allclose(team.gather("feature", "w"), one.gather("feature", "w"), atol=1e-7)


# Stochastic gradients.


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("solver", UPDATES)
@pytest.mark.parametrize("l1", [0.0, 1.0])
def test_a_stochastic_solver_comes_near(solver, l1):
    step = 1.0 if solver == "adagrad" else 0.0
    penalty = "elastic" if l1 else "l2"
    team = fit(
        MADE, solver=solver, penalty=penalty, batch_size=0.1, fit_intercept=True, learning_rate=step
    )
    said, w, b = result_of(team)
    assert said == pytest.approx(objective(MADE, "logistic", w, b, l1=l1, l2=1.0), rel=1e-6)
    assert said <= blockpg_oracle.solve(MADE, l1, 1.0, True)[0] * 1.001


@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_steps_of_adam_are_those_of_its_paper(l1):
    p = SimpleNamespace(beta1=0.9, beta2=0.999)
    tau = SimpleNamespace(portion=0.25, rate=0.1, l1=l1, l2=0.5)
    feature = SimpleNamespace(w=0.7, moments=np.zeros(4), share=0.2)
    w = m = v = 0.0
    for t, gathered in enumerate([3.0, -1.0, 0.5], 1):
        feature.gathered, w = gathered, feature.w
        adam(feature, tau, p)
        g = gathered / 4
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        s = 0.1 / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        w -= s * m / (1 - 0.9**t)
        w = math.copysign(max(abs(w) - s * 0.2 * l1, 0.0), w) / (1 + s * 0.2 * 0.5)
        assert feature.w == pytest.approx(w, rel=1e-9)


@pytest.mark.slow
def test_sgd_bounds_the_curvature_along_the_intercept():
    """Of small features, it is almost all there is."""
    data = numbers()
    small = data._replace(x=data.x * 0.01)
    F = fit(
        small, loss="squared", solver="sgd", batch_size=0.1, fit_intercept=True, l2=0.0, epochs=30
    )
    said = F.history("objective")
    start = objective(small, "squared", np.zeros(small.x.shape[1]))
    assert said[-1] <= said[0] and said[-1] < start
    power = float(F.tau.curvature - F.tau.mean_square / F.tau.batch) / 1.1
    design = np.column_stack([small.x, np.ones(len(small.x))])
    bound = np.linalg.eigvalsh(design.T @ (data.c[:, None] * design))[-1] / len(small.x)
    assert power == pytest.approx(bound, rel=1e-3)


@pytest.mark.long
@pytest.mark.parametrize(("batch", "size"), [(1e6, 1), (0.7, 1), (0.4, 1 / 2), (2, 0)])
def test_a_gradient_is_divided_by_the_samples_of_a_mini_batch(batch, size):
    team = fit(MADE, solver="sgd", batch_size=batch, epochs=1)
    assert team.tau.batch == max(size * len(MADE.y), 2)


def test_the_size_of_mini_batches_is_told_and_cannot_be_misread():
    def opening_lines(batch):
        program = Linear(solver="adam", batch_size=batch)
        return program.report.opening(program, {"sample": 1_000})

    assert opening_lines(0.01) == ["mini-batches of 10 of 1,000 samples"]
    assert opening_lines(200) == ["mini-batches of 200 of 1,000 samples"]
    assert opening_lines(1e9) == ["mini-batches of 1,000 of 1,000 samples"]
    whole = Linear()
    assert whole.report.opening(whole, {"sample": 9}) == []
    for wrong, why in ((1, "one sample and as all"), (1.5, "no number of samples")):
        with pytest.raises(UsageError, match=why):
            opening_lines(wrong)


# The intercept.


@pytest.mark.long(after=1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["squared", "huber"])
@pytest.mark.parametrize("solver", ["lbfgs", "adam"])
def test_labels_far_from_zero(name, solver):
    near, far = numbers(), numbers()
    far = far._replace(y=far.y + 4096)  # which 32 bits hold
    fits = [fit(d, loss=name, l2=0.5, fit_intercept=True, solver=solver) for d in (near, far)]
    (F, _, b), (F_far, _, b_far) = (result_of(team) for team in fits)
    assert F_far == pytest.approx(F, rel=1e-3)
    assert b_far - 4096 == pytest.approx(b, abs=0.05)


@pytest.mark.slow
def test_a_constant_model_starts_at_its_optimum():
    data = MADE._replace(x=MADE.x * 0)
    data.x[0, 0] = 1e-6
    team = fit(data, fit_intercept=True, epochs=1)
    up = (data.y > 0).mean()
    assert float(team.tau.b) == pytest.approx(math.log(up / (1 - up)), rel=1e-4)


@pytest.mark.long
def test_a_feature_with_a_mean_far_from_zero():
    data = MADE._replace(x=np.column_stack([MADE.x, MADE.x[:, 0] + 10]).astype("f4").astype("f8"))
    said, _, _ = result_of(fit(data, l2=0.5, fit_intercept=True, tol=1e-8, epochs=1000))
    assert said <= blockpg_oracle.solve(data, 0.0, 0.5, True)[0] * (1 + 1e-5)
