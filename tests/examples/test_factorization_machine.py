"""`docs/examples/factorization_machine.py`: against numpy, on several workers, and beside a
linear model.
"""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.machines.team import train_team
from support.oracles.blockpg_oracle import Data, draw_samples

from tux.program.sources import find

FactorizationMachine = find("docs/examples/factorization_machine.py").program

KINDS, SMALL = 6, 1e-8


def plant_pairs(n, seed):
    """Return samples of two features each, one of either half; the label is the product of their
    signs, so that neither half alone tells it.
    """
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, KINDS, (2, n))
    x = np.zeros((n, 2 * KINDS))
    x[np.arange(n), a] = x[np.arange(n), KINDS + b] = 1
    return Data(x, np.where((a + b) % 2, 1.0, -1.0), np.ones(n))


def scores(x, w0, w, v):
    pairs = np.triu(v @ v.T, 1)
    return w0 + x @ w + np.einsum("ni,ij,nj->n", x, pairs, x)


def follow_samples(program, data, order, w0, w, v):
    """Take one step for each sample, by the definition of y and its derivatives."""
    h0, h, hv = SMALL, np.full_like(w, SMALL), np.full_like(v, SMALL)
    for i in order:
        x, label = data.x[i], data.y[i]
        slope = -label / (1 + np.exp(label * scores(x[None], w0, w, v)[0]))
        here = x != 0
        g = np.where(here, slope * x + program.reg * w, 0)
        others = (1 - np.eye(len(x))) @ (x[:, None] * v)
        gv = np.where(here[:, None], slope * x[:, None] * others + program.reg * v, 0)
        h0, h, hv = h0 + slope**2, h + g**2, hv + gv**2
        w0 = w0 - program.step * slope / np.sqrt(h0)
        w = w - program.step * g / np.sqrt(h)
        v = v - program.step * gv / np.sqrt(hv)
    return w0, w, v


@pytest.mark.parametrize("jit", [pytest.param(True, marks=pytest.mark.slow), False])
def test_one_step_for_each_sample(jit):
    data = draw_samples(n=30, p=8, share=0.4, seed=2)
    program = FactorizationMachine(rank=3, reg=0.01)
    start = train_team(program, data.edges(), 0, k=1)
    team = train_team(program, data.edges(), 1, data.edges(data.edges()), k=1, jit=jit)
    order = team.workers[0].graph.vertices["sample"].order[:30]
    v = start.gather("feature", "v").astype(float)
    w0, w, v = follow_samples(program, data, order, 0.0, np.zeros(8), v)
    assert team.tau.w0 == pytest.approx(w0, rel=1e-4)
    np.testing.assert_allclose(team.gather("feature", "w"), w, rtol=1e-3, atol=1e-5)
    np.testing.assert_allclose(team.gather("feature", "v"), v, rtol=1e-3, atol=1e-5)
    z = data.y * scores(data.x, w0, w, v)
    loss = np.logaddexp(0, -z).mean()
    assert team.history("test_logloss")[-1] == pytest.approx(loss, rel=1e-4)
    assert team.history("test_accuracy")[-1] == np.mean(z > 0)


@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 2)])
def test_pairs_are_found_that_no_linear_model_sees(k, slack):
    data, new = plant_pairs(600, 1), plant_pairs(200, 2)
    edges, program = data.edges(), FactorizationMachine(rank=4, step=0.2)
    held = new.edges(edges)
    team = train_team(program, edges, 15, held, k=k, slack=slack, by="bicut", jit=True)
    linear = LogisticRegression().fit(data.x, data.y).decision_function(new.x)
    assert team.history("test_logloss")[-1] < 0.1
    assert np.logaddexp(0, -new.y * linear).mean() > 0.6
