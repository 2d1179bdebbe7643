"""`docs/examples/bpr.py`: against numpy, and on several workers."""

import numpy as np
import pytest
from support.machines.team import train_team

from tux.arrays.edges import EdgeData
from tux.program.sources import find

BPR = find("docs/examples/bpr.py").program

USERS, ITEMS = 60, 40


def plant_likes(seed=0):
    """Return likes that follow planted vectors as a matrix (USERS, ITEMS) of training, and one of
    all.
    """
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(USERS, 2)) @ rng.normal(size=(ITEMS, 2)).T
    likes = rng.random((USERS, ITEMS)) < 1 / (1 + np.exp(-4 * (scores - 1)))
    return likes & (rng.random(likes.shape) < 0.7), likes


def edges_of(likes):
    every = {"user": range(USERS), "item": range(ITEMS)}
    return EdgeData.of(("user", "item"), *np.nonzero(likes), {}, vertices=every)


def step_along(program, likes, p, q, drawn):
    """Return vectors after a step along the gradients of all triples with one drawn item."""
    step_p, step_q, losses = np.zeros_like(p), np.zeros_like(q), []
    for u, i in np.argwhere(likes):
        if likes[u, drawn]:
            continue
        x = p[u] @ (q[i] - q[drawn])
        slope = 1 / (1 + np.exp(x))
        step_p[u] += slope * (q[i] - q[drawn]) - program.reg * p[u]
        step_q[i] += slope * p[u] - program.reg * q[i]
        step_q[drawn] -= slope * p[u] + program.reg * q[drawn]
        losses.append(np.log1p(np.exp(-x)))
    return p + program.step * step_p, q + program.step * step_q, np.mean(losses)


@pytest.mark.parametrize(
    ("k", "jit"),
    [(1, False), (2, False), (3, False), pytest.param(1, True, marks=pytest.mark.slow)],
)
def test_a_step_with_one_drawn_item(k, jit):
    likes, _ = plant_likes()
    edges, program = edges_of(likes), BPR(rank=3, slots=1, reg=0.1)
    start = train_team(program, edges, 0, k=1)
    before = [start.gather(end, "f").astype(float) for end in ("user", "item")]
    team = train_team(program, edges, 1, k=k, by="bicut", jit=jit)
    p, q, loss = step_along(program, likes, *before, team.tau.drawn[0])
    np.testing.assert_allclose(team.gather("user", "f"), p, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(team.gather("item", "f"), q, rtol=1e-4, atol=1e-5)
    assert team.history("batch_loss") == [pytest.approx(loss, rel=1e-5)]


@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 2)])
def test_new_items_of_users_are_ranked_before_the_rest(k, slack):
    likes, every = plant_likes()
    program = BPR(rank=4, slots=50, batch=20)
    team = train_team(program, edges_of(likes), 60, k=k, slack=slack, by="bicut", jit=True)
    scores = team.gather("user", "f") @ team.gather("item", "f").T
    aucs = [
        (row[new][:, None] > row[~has]).mean()
        for row, new, has in zip(scores, every & ~likes, every, strict=True)
        if new.any() and not has.all()
    ]
    assert np.mean(aucs) > 0.8


def test_items_are_drawn_anew_in_each_epoch():
    edges = edges_of(plant_likes()[0])
    drawn = [
        train_team(BPR(rank=2, slots=8), edges, epochs, k=1).tau.drawn.tolist() for epochs in (1, 2)
    ]
    assert drawn[0] != drawn[1]
