"""BlockPG reports the objective of its weights: margins that are updated stay near Xw + b, on
processors of all kinds.
"""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace as Row

import cpus
import numpy as np
import pytest
from support.machines.blockpg_team import MADE, fit, result_of, unbalanced_samples
from support.machines.team import Team
from support.oracles import blockpg_oracle as oracle
from support.oracles.blockpg_oracle import Data, draw_samples

from tux.apps.blockpg import rounding
from tux.apps.blockpg.blockpg import BlockPG
from tux.engine.training import Training

SELF = Path(__file__)


def flat_samples():
    """Return columns that add up to the intercept's. Along them the loss is flat and the penalty is
    not, so searches go far.
    """
    rng = np.random.default_rng(1)
    colour, size = rng.integers(0, 3, 300), rng.normal(size=300)
    y = np.where(size + (colour == 0) + rng.normal(size=300) > 0.5, 1.0, -1.0)
    x = np.column_stack([*(colour == each for each in range(3)), size])
    return Data(x.astype("f4").astype("f8"), y, np.ones(300))


def correlated_samples():
    shift = 3 * np.random.default_rng(5).normal(size=(150, 1))
    return MADE._replace(x=(MADE.x + shift).astype("f4").astype("f8"))


CASES = {
    "flat": (flat_samples(), {"fit_intercept": True, "tol": 1e-12}),
    "flat, to no change": (flat_samples(), {"fit_intercept": True, "tol": 0.0}),
    "correlated": (correlated_samples(), {"fit_intercept": True}),
    "large values": (draw_samples(scale=1e3), {"l1": 1.0}),
    "elastic net": (MADE, {"l2": 0.5}),
    "unbalanced": (unbalanced_samples(), {"fit_intercept": True}),
}


@pytest.mark.long(after=3)
@pytest.mark.slow
@pytest.mark.parametrize("every", [1, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CASES)
def test_the_objective_is_that_of_the_weights_after_every_pass(name, every):
    data, parameters = CASES[name]
    parameters = {"l1": 1.0, "l2": 0.0, "tol": 1e-13} | parameters
    team = Team(BlockPG(**parameters), data.edges(), k=1, by="source", jit=True)
    lasso, ridge = parameters["l1"], parameters["l2"]
    for record in Training(team.workers[0]).steps(120, every=every):
        if record is None:
            continue
        w, b, m = team.gather("feature", "w"), float(team.tau.b), team.gather("sample", "m")
        F = oracle.objective(data, w, lasso, ridge, b)
        assert record["objective"] == pytest.approx(F, rel=1e-12)
        assert record.get("duality_gap", 0.0) >= -1e-13 * F
        size = (np.abs(data.x) @ np.abs(w) + abs(b)).max()
        bound = (data.x.shape[1] + 2) * rounding.EPSILON * float(team.tau.error) * size
        assert np.abs(m - data.x @ w - b).max() <= bound and team.tau.error <= rounding.LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_run_ends_below_the_minimum(k):
    data, parameters = CASES["flat"]
    team = fit(data, k=k, every=1, blocks=8 if k > 1 else 0, **parameters)
    best, _, _ = oracle.solve(data, 1.0, intercept=True)
    said, w, b = result_of(team)
    assert said == pytest.approx(oracle.objective(data, w, 1.0, b=b), rel=1e-13)
    assert best * (1 - 1e-12) <= said <= best * (1 + 1e-3)
    assert min(team.history("duality_gap")) >= -1e-13 * best


@pytest.mark.long
@pytest.mark.parametrize("level", cpus.LEVELS)
def test_on_processors_with_fewer_instructions(level):
    if not cpus.runs(level):
        pytest.skip(f"this processor does not run {level}")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "-m",
        "not long",
        "-k",
        "weights_after or below_the_minimum",
        str(SELF),
    ]
    done = subprocess.run(
        command, env=cpus.environment(level), cwd=SELF.parent.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


# The time when m is made anew.


def context(**changed):
    tau = Row(
        error=5.0,
        last_error=0.0,
        errors=np.array([1.0, 2.0, 4.0]),
        at=1,
        x=np.array([0.5, -10.0, 0.0, 7.0]),
        F=100.0,
    )
    tau.taken, tau.undone, tau.change = True, False, np.nan
    vars(tau).update(changed)
    return tau


def test_errors_of_a_pass_and_a_search():
    tau = context()
    rounding.after_pass(tau)
    assert (tau.last_error, tau.error, tau.errors.tolist()) == (5, 6, [1, 1, 4])
    assert rounding.search_error(tau) == 10.5  # a constant is exact
    rounding.after_search(tau, Row(tol=0.0))
    assert (tau.error, tau.errors.tolist(), tau.anew) == (16.5, [1, 11.5, 4], False)


def test_errors_of_a_pass_that_is_undone():
    tau = context(undone=True, last_error=3.0)
    rounding.after_search(tau, Row(tol=0.0))
    assert (tau.error, tau.errors.tolist(), tau.anew) == (3, [0, 0, 0], False)


@pytest.mark.parametrize(("taken", "of_the_last"), [(True, 4.0), (False, 2.0)])
def test_margins_are_made_anew_where_they_may_have_drifted_and_at_the_end(taken, of_the_last):
    for cause in ({"error": rounding.LIMIT + 1}, {"change": 1e-9}):
        tau = context(taken=taken, last_error=3.0, **cause)
        rounding.after_search(tau, Row(tol=1e-8))
        assert (tau.error, tau.errors.tolist(), tau.anew) == (1, [1, of_the_last, 4], True)


def test_a_search_that_gains_no_more_than_rounding_is_refused():
    tau = context(x=np.array([10.0, 0, 0, 0]), errors=np.array([1e5, 0, 0]))
    assert not rounding.is_lower(100 * (1 - 1e-10), tau) and rounding.is_lower(
        100 * (1 - 1e-9), tau
    )


def test_a_gap_of_zero_ends_no_run_unless_asked_for():
    reached = {"penalty_l1": 1.0, "objective": 5.0, "duality_gap": -1e-15}
    assert not BlockPG().converged(reached) and BlockPG(gap=1e-3).converged(reached)
