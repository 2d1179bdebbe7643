"""Newton's method for linear models: its steps by the formulas, optima, several workers, paths."""

import numpy as np
import pytest
from support.oracles.linear_oracle import MADE, fit, least_objective, numbers, objective, result_of

import tux
from tux.apps.linear.conjugate import SHARE
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.newton import NARROW
from tux.base.errors import UsageError

SMOOTH = [name for name, loss in LOSSES.items() if loss.smooth and not loss.wide]


def solve(data, w, unit, l2):
    """Return the direction at w of the logistic loss, by conjugate gradients as textbooks have
    them, and the products that it takes.
    """
    x, p = data.x, 1 / (1 + np.exp(-data.y * (data.x @ w)))
    g = x.T @ (-data.c * data.y * (1 - p)) + l2 * w
    H = x.T @ ((data.c * p * (1 - p))[:, None] * x) + l2 * np.eye(len(w))
    d, r, products = np.zeros_like(w), -g, 0
    q = z = unit * r
    goal = SHARE**2 * (r @ z)
    while r @ z > goal:
        length = (r @ z) / (q @ H @ q)
        d, left = d + length * q, r - length * H @ q
        turn = (unit * left) @ left / (r @ z)
        r, z = left, unit * left
        q = z + turn * q
        products += 1
    return g, d, products


def test_directions_are_those_of_conjugate_gradients():
    l2, data = 0.5, MADE
    h = 0.25 * (data.c[:, None] * data.x**2).sum(axis=0) + l2
    teams = [fit(data, solver="newton", l2=l2, epochs=n, tol=0.0, jit=False) for n in (1, 2, 3)]
    w = np.zeros(data.x.shape[1])
    for team in teams:
        g, d, products = solve(data, w, h**-0.25, l2)
        assert team.tau.hessian_products == products > 0
        moved = team.gather("feature", "w") - w
        step = moved @ d / (d @ d)
        assert moved == pytest.approx(step * d, abs=1e-9) and 0.5 < step < 2
        assert objective(data, "logistic", w + moved, l2=l2) < objective(data, "logistic", w, l2=l2)
        w += moved
    assert teams[-1].history("gradient")[0] == 1.0


@pytest.mark.slow(after=2)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SMOOTH)
def test_the_optimum(name, intercept):
    data = MADE if LOSSES[name].of_classes else numbers()
    team = fit(data, solver="newton", loss=name, l2=0.5, fit_intercept=intercept, tol=1e-9)
    said, w, b = result_of(team)
    assert said == pytest.approx(objective(data, name, w, b, l2=0.5), rel=1e-9)
    assert said <= least_objective(data, name, 0.5, intercept=intercept) * (1 + 1e-7)
    assert (np.diff(team.history("objective")) <= 1e-12 * said).all()
    assert len(team.history("objective")) < 60 and (b != 0) is intercept


@pytest.mark.slow(after=1)
@pytest.mark.parametrize(("k", "slack"), [(2, 0), (3, 2)])
def test_several_workers(k, slack):
    how = {"solver": "newton", "l2": 0.5, "fit_intercept": True}
    one, team = fit(MADE, **how), fit(MADE, k=k, slack=slack, delivery=k, **how)
    assert team.history("objective") == pytest.approx(one.history("objective"), rel=1e-9)
    assert np.allclose(team.gather("feature", "w"), one.gather("feature", "w"), atol=1e-7)


@pytest.mark.slow
def test_a_path_of_penalties():
    team = fit(MADE, solver="newton", l2=0.1, path=4, tol=1e-9, fit_intercept=True)
    ends = dict(zip(team.history("penalty_l2"), team.history("objective"), strict=True))
    assert len(ends) == 4
    for penalty, F in ends.items():
        assert F == pytest.approx(least_objective(MADE, "logistic", penalty, intercept=True))


def test_without_a_penalty_where_no_sample_counts():
    """Nothing bends F, and all is at its optimum."""
    data = MADE._replace(c=np.zeros(len(MADE.y)))
    team = fit(data, solver="newton", penalty="none", epochs=3, jit=False)
    assert not team.gather("feature", "w").any() and team.history("objective")[-1] == 0.0


@pytest.mark.slow
def test_it_goes_on_with_new_samples_as_lbfgs_does():
    found = []
    for solver in ("lbfgs", "newton"):
        p = tux.Linear(l2=0.5, tol=1e-9, solver=solver)
        old = tux.run(p, (MADE.x[:60], MADE.y[:60]), jit=False, progress=False)
        new = tux.run(p, (MADE.x[60:], MADE.y[60:]), from_run=old, jit=False, progress=False)
        found.append(new.vertices["feature"]["w"])
    assert found[1] == pytest.approx(found[0], abs=1e-5)


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"loss": "hinge"}, "newton needs a smooth loss, and hinge is none"),
        ({"penalty": "l1"}, "newton needs a smooth penalty, and l1 is none"),
        ({"pairs": 3}, "pairs has no effect with the solver newton"),
    ],
)
def test_what_it_cannot_do(parameters, says):
    with pytest.raises(UsageError, match=says):
        tux.Linear(solver="newton", **parameters)


def test_a_sample_without_a_weight_bends_nothing():
    sample = type("Sample", (), {"c": 0.0, "r": 0.0})()
    tau = type("Tau", (), {"d": 1.0, "of_b": 0.0, "bent": 0.0})()
    NARROW.multiply(sample, [], tau, tux.Linear(solver="newton"))
    assert (tau.of_b, tau.bent) == (0.0, 0.0)
