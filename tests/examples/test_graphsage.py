"""`docs/examples/graphsage.py`: against differences of the loss in numpy, on several workers,
and beside a model that sees no neighbours."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.machines.team import train_team

from tux.arrays.edges import EdgeData
from tux.program.sources import find

GraphSAGE = find("docs/examples/graphsage.py").program

CLASSES, HIDDEN, DIMS = 3, 4, 3
SIZES = {"classes": CLASSES, "hidden": HIDDEN, "dims": DIMS}


def plant_communities(nodes, inside, outside, seed=0):
    """Return a graph with links in both directions, most within communities; features that hint at
    the community; and half of the nodes to learn from. The last node has no link.
    """
    rng = np.random.default_rng(seed)
    label = np.arange(nodes) % CLASSES
    share = np.where(label[:, None] == label, inside, outside)
    linked = np.triu(rng.random((nodes, nodes)) < share, 1)
    linked[:, -1] = False
    x = rng.normal(size=(nodes, DIMS)) + 0.8 * np.eye(CLASSES)[label]
    fields = {"x": x, "label": label, "train": rng.integers(0, 2, nodes)}
    ends = np.nonzero(linked | linked.T)
    every = {"node": range(nodes)}
    return EdgeData.of(("node", "node"), *ends, {}, vertices=every, vertex_fields={"node": fields})


def mean_loss(edges, w1, w2):
    """Return the mean loss of the nodes to learn from."""
    fields = edges.vertex_fields["node"]
    near = np.zeros((len(fields["x"]), len(fields["x"])))
    near[edges.dst, edges.src] = 1
    near /= np.maximum(near.sum(axis=1, keepdims=True), 1)
    h = np.maximum(np.hstack([fields["x"], near @ fields["x"]]) @ w1.T, 0)
    z = np.hstack([h, near @ h]) @ w2.T
    losses = np.log(np.exp(z).sum(axis=1)) - z[range(len(z)), fields["label"]]
    return losses[fields["train"] == 1].mean()


def differences(f, w):
    """Return the gradient of f at w by central differences."""
    gradient = np.zeros_like(w)
    for at in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[at] = 1e-6
        gradient[at] = (f(w + step) - f(w - step)) / 2e-6
    return gradient


WORKERS = pytest.mark.parametrize(
    ("k", "slack", "jit"),
    [(1, 0, False), (2, 0, False), (3, 2, False), pytest.param(1, 0, True, marks=pytest.mark.slow)],
)


@WORKERS
def test_a_step_is_along_the_gradient(k, slack, jit):
    edges = plant_communities(16, 0.5, 0.2)
    program = GraphSAGE(step=0.1, **SIZES)
    start = train_team(program, edges, 0, k=1).tau
    w1, w2 = start.w1.copy(), start.w2.copy()
    team = train_team(program, edges, 1, k=k, slack=slack, jit=jit)
    assert team.history("train_loss") == [pytest.approx(mean_loss(edges, w1, w2), rel=1e-9)]
    g1 = differences(lambda w: mean_loss(edges, w, w2), w1)
    g2 = differences(lambda w: mean_loss(edges, w1, w), w2)
    np.testing.assert_allclose(team.tau.w1, w1 - 0.1 * g1, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(team.tau.w2, w2 - 0.1 * g2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("k", "slack"), [(1, 0), (2, 0), (3, 2)])
def test_planted_communities_are_found(k, slack):
    edges = plant_communities(150, 0.2, 0.02, seed=3)
    program = GraphSAGE(classes=CLASSES, hidden=8, dims=DIMS)
    team = train_team(program, edges, 60, k=k, slack=slack, jit=True)
    fields = edges.vertex_fields["node"]
    right = team.gather("node", "found") == fields["label"]
    x, label, train = fields["x"], fields["label"], fields["train"] == 1
    alone = LogisticRegression().fit(x[train], label[train]).score(x[~train], label[~train])
    assert alone < 0.8 < 0.9 < right[~train].mean()
    assert team.history("test_accuracy")[-1] == right[~train].mean()
    assert team.history("train_loss")[-1] < 0.2 * team.history("train_loss")[0]
