"""The learning programs of docs/examples that fit linear models: against scikit-learn and numpy, on
any number of workers.
"""

import sys
from types import SimpleNamespace as Row

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.machines.team import train_team
from support.oracles.blockpg_oracle import draw_samples, objective

from tux.base.errors import TuxError
from tux.program.sources import find
from tux.runs.verify import verify

Adam, Averaging, LBFGS = (
    find(f"docs/examples/{name}.py").program for name in ("adam", "model_averaging", "lbfgs")
)
DATA = draw_samples(n=60, p=12, share=0.4, seed=3)
EDGES = DATA.edges()
BEST = (
    LogisticRegression(C=1.0, fit_intercept=False, solver="newton-cholesky", tol=1e-14)
    .fit(DATA.x, DATA.y)
    .coef_[0]
)
"""The optimum of sum of losses + |w|^2 / 2."""
LEAST = objective(DATA, BEST, 0, 1.0)
WHOLE = [(1, "bicut", 0), (2, "bicut", 0), (3, "bicut", 0), (3, "bicut", 2)]
"""Workers, partitioner, slack; samples are whole."""
ANY = [*WHOLE, (2, "random", 0), (3, "random", 2)]


def weights(team):
    return team.gather("feature", "w")


def gradient(w, x=DATA.x, y=DATA.y):
    return x.T @ (-y / (1 + np.exp(y * (x @ w))))


# ---- L-BFGS


@pytest.mark.long
@pytest.mark.parametrize(("k", "by", "slack"), ANY)
def test_lbfgs_finds_the_optimum(k, by, slack):
    program = LBFGS(pairs=4, tolerance=1e-10)
    team = train_team(program, EDGES, 60, k=k, by=by, slack=slack)
    assert team.history("gradient")[-1] <= 1e-10 and len(team.history("gradient")) < 60
    # l2 = 1, so F is strongly convex: |w - optimum| <= |gradient|, here of scikit-learn too
    np.testing.assert_allclose(weights(team), BEST, atol=1e-9)
    assert team.history("objective")[-1] == pytest.approx(LEAST, rel=1e-9)


def textbook(memory, epochs):
    """Return w and |g| of each epoch by Nocedal and Wright, Numerical Optimization, algorithm 7.4,
    with steps of 1, 1/2, 1/4, ...
    """
    w, pairs, norms, last = np.zeros(DATA.x.shape[1]), [], [], None
    for _ in range(epochs):
        g = gradient(w) + w
        if last is not None:
            pairs = [(w - last[0], g - last[1]), *pairs][:memory]
        last, q, alphas = (w, g), g, []
        norms.append(np.linalg.norm(g))
        for s, y in pairs:
            alphas.append(s @ q / (s @ y))
            q = q - alphas[-1] * y
        if pairs:
            s, y = pairs[0]
            q = q * (s @ y) / (y @ y)
        for (s, y), alpha in zip(pairs[::-1], alphas[::-1], strict=True):
            q = q + s * (alpha - y @ q / (s @ y))
        step, before = 1.0, objective(DATA, w, 0, 1.0)
        while objective(DATA, w - step * q, 0, 1.0) > before - 1e-4 * step * (g @ q):
            step /= 2
        w = w - step * q
    return w, norms


@pytest.mark.slow
def test_lbfgs_takes_the_steps_of_the_textbook():
    w, norms = textbook(3, 8)
    team = train_team(LBFGS(pairs=3), EDGES, 8, k=2, by="random")
    np.testing.assert_allclose(weights(team), w, rtol=1e-9)
    np.testing.assert_allclose(team.history("gradient"), norms, rtol=1e-7)


# ---- Adam


def adam(steps, l2, step, batch):
    """Return the weights after some steps along the full gradient."""
    w = m = v = np.zeros(DATA.x.shape[1])
    for t in range(1, steps + 1):
        g = gradient(w) / batch + l2 * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        w = w - step / t**0.5 * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)) ** 0.5 + 1e-8)
    return w


@pytest.mark.parametrize(("k", "by", "slack"), WHOLE)
def test_adam_with_all_samples_in_a_batch_is_that_of_the_paper(k, by, slack):
    program = Adam(batch=60, l2=0.01, step=0.2)
    team = train_team(program, EDGES, 10, k=k, by=by, slack=slack)
    truth = adam(10, 0.01, 0.2, 60)
    np.testing.assert_allclose(weights(team), truth, rtol=1e-9)
    loss = objective(DATA, truth, 0) / 60
    assert team.history("train_logloss")[-1] == pytest.approx(loss, rel=1e-9)


@pytest.mark.slow
def test_adam_on_mini_batches_is_the_same_on_any_number_of_workers():
    """And near the optimum; with slack only that, as its gradients are older."""
    program = Adam(batch=20, l2=1 / 60, step=0.3)
    one, *teams = (
        train_team(program, EDGES, 60, k=k, by=by, slack=slack, jit=True) for k, by, slack in WHOLE
    )
    for team, (_, _, slack) in zip(teams, WHOLE[1:], strict=True):
        if slack == 0:
            np.testing.assert_allclose(weights(team), weights(one), rtol=1e-9)
    for team in (one, *teams):
        assert team.workers[0].clock == 3 * 60  # blocks and epochs
        # The last steps are 0.3 / sqrt(180) = 0.02 times a mean of gradients over its deviation.
        # Weights that are off by that cost at most 12 * 0.02^2 / 2 times the curvature of the
        # mean loss, which is below 1.
        assert objective(DATA, weights(team), 0, 1.0) / 60 < LEAST / 60 + 12 * 0.02**2 / 2


def test_adam_judges_held_out_samples():
    new = draw_samples(n=20, p=12, share=0.4, seed=4)
    team = train_team(Adam(batch=30), EDGES, 2, new.edges(EDGES), k=2, by="bicut")
    w = weights(team)
    assert team.history("test_logloss")[-1] == pytest.approx(objective(new, w, 0) / 20, rel=1e-9)
    assert team.history("test_accuracy")[-1] == np.mean(new.y * (new.x @ w) > 0)


# ---- model averaging


def averaged_weights(parts, epochs, l2, step, decay):
    """Compute the weights; `parts` are the samples of each worker in the order in which it visits
    them.
    """
    found = (DATA.x != 0).sum(axis=0)
    held = np.array([(DATA.x[samples] != 0).any(axis=0) for samples in parts])
    w = np.zeros(DATA.x.shape[1])
    for epoch in range(epochs):
        rate, copies = step / (1 + decay * epoch), []
        for samples in parts:
            own = w.copy()
            for i in samples:
                x, y = DATA.x[i], DATA.y[i]
                slope = -y * x / (1 + np.exp(y * (x @ own)))
                own -= rate * (slope + np.where(x != 0, l2 * own / found, 0))
            copies.append(own - w)
        w = w + (np.array(copies) * held).sum(axis=0) / held.sum(axis=0)
    return w


def visit_orders(team):
    """Yield the samples of each worker, in the order of its rows."""
    for worker in team.workers:
        held = worker.graph.vertices["sample"]
        yield held.order[: held.n_train]


@pytest.mark.parametrize(("k", "by", "slack"), WHOLE)
def test_models_are_averaged(k, by, slack):
    program = Averaging(l2=0.5, step=0.1, decay=0.5)
    team = train_team(program, EDGES, 3, k=k, by=by, slack=slack)
    truth = averaged_weights([*visit_orders(team)], 3, 0.5, 0.1, 0.5)
    np.testing.assert_allclose(weights(team), truth, rtol=1e-9)
    assert team.history("objective")[-1] == pytest.approx(objective(DATA, truth, 0, 0.5), rel=1e-9)


@pytest.mark.long
def test_averaged_models_approach_one_optimum():
    """On any number of workers: the weights are off by a multiple of the step size, so F by one of
    its square. The step size is 0.2 / 4.9 in epoch 40 and 0.2 / 16.9 in epoch 160.
    """
    for k, by, slack in WHOLE:
        team = train_team(Averaging(step=0.2), EDGES, 160, k=k, by=by, slack=slack, jit=True)
        excess = np.array(team.history("objective")) / LEAST - 1
        assert 0 < excess[159] < 1e-3 and excess[159] < excess[39] / (16.9 / 4.9)


@pytest.mark.long
def test_verify_shows_what_depends_on_the_workers():
    found = verify(Averaging(), EDGES)
    assert found.in_place == ["feature.w", "feature.samples"]
    fields = {each.field for each in found.of(0) if not each.is_rounding}
    assert fields == {"feature.w", "tau.objective"}  # not what is only counted


# ---- several of them


@pytest.mark.parametrize("program", [Adam(), Averaging()])
def test_cut_samples_are_refused(program):
    with pytest.raises(TuxError, match="sample is cut, and .* needs each sample whole"):
        train_team(program, EDGES, 1, by="random")


@pytest.mark.parametrize("label", [-1, 1])
def test_large_margins_do_not_overflow(label):
    edge = Row(value=1e6, feature=Row(w=1.0, gradient=0.0, samples=1))
    sample, tau = Row(label=label), Row(loss=0.0, right=0, samples=0)
    udfs = sys.modules[Adam.__module__]
    udfs.differentiate(sample, [edge])
    udfs.judge(sample, [edge], tau)
    assert edge.feature.gradient == (0 if label > 0 else 1e6)
    assert tau.loss == (0 if label > 0 else 1e6)
