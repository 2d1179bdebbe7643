"""Averages of the workers' linear models: one epoch by its formulas, and the optimum."""

import math

import numpy as np
import pytest
from support.machines.team import Team
from support.oracles import blockpg_oracle
from support.oracles.blockpg_oracle import Data
from support.oracles.linear_oracle import MADE, fit, objective, result_of

from tux.apps.linear.copies import RULES
from tux.apps.linear.linear import Linear
from tux.base.errors import UsageError

# samples:  0 on worker 0;  1 and 2, which are alike, on worker 1
#
#            f0   f1   f2      f0 has one entry on worker 0 and two on worker 1,
#       0    1    2    .       f1 is on worker 0 alone, f2 on worker 1
#     1, 2   3    .    1
FEW = Data(np.array([[1.0, 2, 0], [3, 0, 1], [3, 0, 1]]), np.array([1.0, -1, -1]), np.ones(3))
SHARES = [[0], [1, 2]]
HOMES = [0, 0, 1, 1, 1, 1]
DECAY, L1, L2 = 0.5, 0.02, 0.3


def epoch(w, b, t, rule):
    """Compute one epoch by the formulas. Return (w, b) after it; `t` are the samples of a worker
    before it.
    """
    x, entries = FEW.x, FEW.x != 0
    own = np.array([entries[share].sum(0) for share in SHARES])
    rate = math.sqrt(2) / (0.25 * ((x**2).sum(1).mean() + 1))
    changes, of_b = np.zeros((2, 3)), np.zeros(2)
    for worker, share in enumerate(SHARES):
        longer = np.ones(3)
        if rule == "entries":
            longer = entries.sum(0) / (own > 0).sum(0) / np.maximum(own[worker], 1)
        v, a = w.copy(), b
        for number, i in enumerate(share):
            s = rate / math.sqrt(1 + DECAY * (t + number))
            s = min(s, 1 / (0.25 * ((x[i] ** 2 * longer).sum() + 1)))
            d = -FEW.y[i] / (1 + math.exp(FEW.y[i] * (x[i] @ v + a)))
            size = s * longer * entries[i]
            part = size / entries.sum(0)
            v = v - size * d * x[i]
            v = np.sign(v) * np.maximum(abs(v) - L1 * part, 0) / (1 + L2 * part)
            a -= s * d
        changes[worker], of_b[worker] = v - w, a - b
    weights = own if rule == "entries" else own > 0
    return w + (weights * changes).sum(0) / weights.sum(0), b + of_b.mean()


@pytest.mark.parametrize("rule", RULES)
def test_epochs_by_their_formulas(rule):
    program = Linear(
        solver="averaging", average=rule, penalty="elastic", l1=L1, l2=L2, decay=DECAY,
        fit_intercept=True,
    )  # fmt: skip
    team = Team(program, FEW.edges(), k=2, by=HOMES).train(2)
    w, b = epoch(np.zeros(3), math.log(0.5), 0.0, rule)  # the odds of the classes
    w, b = epoch(w, b, 1.5, rule)  # three samples of two workers
    np.testing.assert_allclose(team.gather("feature", "w"), w, rtol=1e-9)
    assert float(team.tau.b) == pytest.approx(b, rel=1e-9)
    assert team.agrees("feature", "w")


def test_a_feature_of_one_worker_is_not_averaged():
    """Its weight is that of training on its samples alone, of the same step size."""
    both = Team(Linear(solver="averaging", l2=0.0), FEW.edges(), k=2, by=HOMES).train(1)
    x, mean = FEW.x[0], (FEW.x**2).sum(1).mean()
    s = min(math.sqrt(2) / (0.25 * mean), 1 / (0.25 * (x**2).sum()))
    w = both.gather("feature", "w")
    np.testing.assert_allclose(w[1], s * x[1] / 2, rtol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "rule"),
    [
        (4, "workers"),
        *(
            pytest.param(k, rule, marks=pytest.mark.long)
            for k, rule in ((1, "workers"), (2, "workers"), (2, "entries"), (4, "entries"))
        ),
    ],
)
def test_the_optimum_on_any_number_of_workers(k, rule):
    team = fit(MADE, k=k, solver="averaging", average=rule, l2=0.5, fit_intercept=True)
    said, w, b = result_of(team)
    assert said == pytest.approx(objective(MADE, "logistic", w, b, l2=0.5), rel=1e-9)
    assert said <= blockpg_oracle.solve(MADE, 0, 0.5, True)[0] * 1.001


@pytest.mark.long
def test_the_optimum_with_both_penalties():
    team = fit(MADE, solver="averaging", penalty="elastic", decay=0.2)
    assert result_of(team)[0] <= blockpg_oracle.solve(MADE, 1.0, 1.0)[0] * 1.001


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_a_large_sample_does_not_overshoot(loss):
    """Its own step is shorter: no margin goes beyond what its label asks for."""
    x = np.array([[1.0], [1.0], [1.0], [40.0]])
    data = Data(x, np.array([1.0, 1, 1, 1]), np.ones(4))
    team = fit(data, epochs=5, solver="averaging", loss=loss, penalty="none", jit=False)
    assert (np.array(team.history("objective")) <= 4).all()


@pytest.mark.parametrize("average", ["sum", "median"])
def test_other_averages_are_refused(average):
    with pytest.raises(UsageError, match=f"average = '{average}' is not known"):
        Linear(solver="averaging", average=average)


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({}, False),
        ({"solver": "averaging"}, False),
        ({"solver": "averaging", "average": "entries"}, True),
    ],
)
def test_numbers_of_entries_travel_where_they_count(parameters, wanted):
    team = Team(Linear(**parameters), FEW.edges(), k=2, by=HOMES)
    assert all(worker.server.needs_weights("feature") is wanted for worker in team.workers)


def test_copies_are_no_part_of_the_model():
    fields = Linear.vertices["feature"].fields
    assert [name for name, field in fields.items() if field.in_model] == ["w", "stiffness"]
