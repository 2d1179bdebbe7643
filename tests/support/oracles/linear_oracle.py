"""Linear models by their formulas, in plain numpy, and teams that train them on made samples."""

import numpy as np
from scipy.optimize import minimize
from support.machines.team import Team
from support.oracles.blockpg_oracle import Data, draw_samples

from tux.apps.linear.linear import Linear

MADE = draw_samples()
WIDTH = 1.35


def numbers(seed=0):
    """Return samples whose labels are numbers, some of them far off."""
    rng = np.random.default_rng(seed)
    y = MADE.x @ rng.normal(size=MADE.x.shape[1]) + rng.standard_t(2, size=len(MADE.y))
    return Data(MADE.x, y.astype("f4").astype("f8"), MADE.c)


def losses(name, y, m, width=WIDTH):
    """Return the loss of each sample, (n,)."""
    e = m - y
    return {
        "logistic": np.logaddexp(0, -y * m),
        "hinge": np.maximum(0, 1 - y * m),
        "squared_hinge": np.maximum(0, 1 - y * m) ** 2,
        "squared": e**2 / 2,
        "huber": np.where(abs(e) <= width, e**2 / 2, width * (abs(e) - width / 2)),
    }[name]


def objective(data, name, w, b=0.0, l1=0.0, l2=0.0):
    loss = (data.c * losses(name, data.y, data.x @ w + b)).sum()
    return float(loss + l1 * abs(w).sum() + l2 / 2 * w @ w)


def least_objective(data, name, l2, *, intercept=False):
    """Find the least F of a smooth loss by scipy."""
    p = data.x.shape[1]

    def F(v):
        return objective(data, name, v[:p], v[p] if intercept else 0.0, l2=l2)

    def slopes(v):
        m = data.x @ v[:p] + (v[p] if intercept else 0.0)
        h = 1e-6
        r = data.c * (losses(name, data.y, m + h) - losses(name, data.y, m - h)) / (2 * h)
        return np.append(data.x.T @ r + l2 * v[:p], r.sum() if intercept else 0.0)

    least = minimize(F, np.zeros(p + 1), jac=slopes, options={"maxiter": 5000, "gtol": 1e-7})
    return float(least.fun)


def fit(
    data,
    test=None,
    *,
    epochs=200,
    k=1,
    by="source",
    slack=0,
    seed=0,
    jit=True,
    delivery=0,
    every=1,
    **parameters,
):
    """Return a team that has been trained."""
    edges = data.edges()
    held = None if test is None else test.edges(edges)
    program = Linear(**parameters)
    team = Team(
        program, edges, held, k=k, by=by, slack=slack, seed=seed, jit=jit, delivery=delivery
    )
    return team.train(epochs, every=every)


def result_of(team):
    """Return F of the last record, w and b."""
    return team.history("objective")[-1], team.gather("feature", "w"), float(team.tau.b)
