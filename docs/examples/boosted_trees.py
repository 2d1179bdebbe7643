"""Gradient boosting of trees for two classes: min sum log(1 + exp(-s)) over points of the class
`positive`, plus sum log(1 + exp(s)) over all others, where the score s is a constant and a
sum of trees.

Friedman, "Greedy function approximation: a gradient boosting machine", Annals of Statistics 29,
2001; with the gains and weights of Chen and Guestrin, "XGBoost: a scalable tree boosting system",
KDD 2016, equations 5 and 7. An epoch grows a tree, level by level. With the derivatives g and h of
a point's loss, and their sums G and H over the points of a node:

    fit    = G^2 / (H + l2)                               of a node
    gain   = (fit of left + fit of right - fit) / 2       of a split
    weight = - rate G / (H + l2)                          of a leaf

Splits are between bins: each feature is divided into `bins` intervals of equal width. The table has
a row for each point, with the column `label` and columns of numbers, the features:

    tux run docs/examples/boosted_trees.py points.csv --trees 100

The model has a score for each point, and the trees in the context: node n of tree t is a leaf with
`weight[t, n]` if `feature[t, n]` is -1. Else bins up to `cut[t, n]` of that feature go to node 2 n,
the others to node 2 n + 1. If there is a column `held_out`, rows in which it is 1 get a score too,
but do not train.
"""

import math

import numpy as np

from tux import (
    Apply,
    Barrier,
    Context,
    GlobalSync,
    Points,
    Program,
    Repeat,
    Report,
    Vertex,
    data,
    metric,
    param,
    total,
    value,
)


def look(point, tau, p):
    """Find the range of each feature, and count how many points each class has."""
    if not point.held_out:
        tau.classes[1 if point.label == p.positive else 0] += 1
        for k in range(p.dims):
            tau.least[k] = min(tau.least[k], point.x[k])
            tau.most[k] = max(tau.most[k], point.x[k])


def begin(tau, p):
    if not tau.classes.all():
        raise ValueError(f"all points are of one class; --positive is {p.positive}")
    tau.low[:], tau.width[:] = tau.least, (tau.most - tau.least) / p.bins
    tau.base = math.log(tau.classes[1] / tau.classes[0])


def prepare(point, tau, p):
    """Set the bins of a point, and its first score."""
    for k in range(p.dims):
        if tau.width[k] > 0:
            b = (point.x[k] - tau.low[k]) / tau.width[k]
            point.bin[k] = int(max(0.0, min(p.bins - 1.0, b)))
    point.score = tau.base


def derive(point, p):
    """Compute the first and second derivative of the loss. The point starts at the root, which is
    node 1.
    """
    chance = 1 / (1 + math.exp(-point.score))
    point.g = chance - (point.label == p.positive)
    point.h = chance * (1 - chance)
    point.node = 1


def fill(point, tau, p):
    """Add a point to the histograms of its node."""
    if not point.held_out:
        for k in range(p.dims):
            tau.g[point.node, k, point.bin[k]] += point.g
            tau.h[point.node, k, point.bin[k]] += point.h


def fit(g, h, p):
    return g**2 / (h + p.l2)


def split(tau, p):
    """Split each node where the gain is largest: bins up to `cut` of `feature` go left."""
    g, h = tau.g.cumsum(axis=2), tau.h.cumsum(axis=2)  # (nodes, dims, bins): of the left child
    all_g, all_h = g[:, :, -1:], h[:, :, -1:]
    allowed = (h >= p.least_h) & (all_h - h >= p.least_h)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (fit(g, h, p) + fit(all_g - g, all_h - h, p) - fit(all_g, all_h, p)) / 2
    gain = np.where(allowed, gain, 0)
    for node in np.flatnonzero(gain.max(axis=(1, 2)) > p.least_gain):
        # Gains that differ by rounding alone are equal, so that trees are the same on any number
        # of workers.
        best = np.argmax(gain[node] >= (1 - 1e-9) * gain[node].max())
        k, b = divmod(best, p.bins)
        tau.feature[tau.tree, node], tau.cut[tau.tree, node] = k, b
        tau.importance[k] += gain[node, k, b]


def descend(point, tau):
    """Go to a child of the node, if it has been split."""
    k = tau.feature[tau.tree, point.node]
    if k >= 0:
        point.node = 2 * point.node + (point.bin[k] > tau.cut[tau.tree, point.node])


def gather(point, tau):
    if not point.held_out:
        tau.leaf_g[point.node] += point.g
        tau.leaf_h[point.node] += point.h


def weigh(tau, p):
    leaf = tau.leaf_h > 0
    tau.weight[tau.tree, leaf] = -p.rate * tau.leaf_g[leaf] / (tau.leaf_h[leaf] + p.l2)


def climb(point, tau, p):
    point.score += tau.weight[tau.tree, point.node]
    margin = point.score if point.label == p.positive else -point.score
    part = 1 if point.held_out else 0
    tau.n[part] += 1
    tau.loss[part] += math.log1p(math.exp(-abs(margin))) - min(margin, 0.0)


def finish(tau):
    tau.train_loss = tau.loss[0] / tau.n[0]
    tau.test_loss = tau.loss[1] / tau.n[1] if tau.n[1] else np.nan
    tau.tree += 1
    tau.grown = tau.tree


class Importance(Report):
    """The features, by the sum of the gains of their splits."""

    def tables(self, program, model):
        gain = model.fields["tau"]["importance"].ravel()
        order = np.argsort(-gain, kind="stable")
        names = [f"x[{k}]" for k in order]
        return {"features": {"feature": names, "gain": [f"{gain[k]:.4g}" for k in order]}}


class TwoClassTrees(Program):
    """Gradient boosting of trees, for two classes."""

    trees: int = param(100, "trees, one an epoch", low=1)
    depth: int = param(4, "levels of a tree", low=1, high=12)
    bins: int = param(64, "bins of a feature", low=2, high=256)
    rate: float = param(0.1, "learning rate", low=0)
    l2: float = param(1.0, "penalty on the weights of leaves", low=0)
    least_gain: float = param(1e-6, "the gain that a split must exceed", low=0)
    least_h: float = param(1.0, "smallest sum of h in a leaf", low=1e-9)
    positive: int = param(1, "label of the positive class")
    dims: int = param(0, "features; 0: as many as the table has", low=0)

    point = Vertex(
        x=data("f4", "dims"),
        label=data("i4"),
        held_out=data("u1", default=0),
        score=value("f8"),
        bin=value("u1", "dims", kept=False),
        g=value("f8", kept=False),
        h=value("f8", kept=False),
        node=value("i4", kept=False),
    )
    tau = Context(
        least=total("dims", combine="min"),
        most=total("dims", combine="max"),
        classes=total(2),
        low=value("f8", "dims"),
        width=value("f8", "dims"),
        base=value("f8"),
        g=total(lambda p: (2**p.depth, p.dims, p.bins)),
        h=total(lambda p: (2**p.depth, p.dims, p.bins)),
        leaf_g=total(lambda p: 2 ** (p.depth + 1)),
        leaf_h=total(lambda p: 2 ** (p.depth + 1)),
        feature=value("i4", lambda p: (p.trees, 2 ** (p.depth + 1)), init=-1),
        cut=value("i4", lambda p: (p.trees, 2 ** (p.depth + 1))),
        weight=value("f8", lambda p: (p.trees, 2 ** (p.depth + 1))),
        importance=value("f8", "dims"),
        n=total(2),
        loss=total(2),
        tree=value("i4"),
        grown=metric(),
        train_loss=metric(),
        test_loss=metric(),
    )
    input = Points()
    report = Importance()
    epochs = 10_000  # `converged` ends the run
    monitor = "test_loss"

    def setup(self):
        return [Apply("point", look), GlobalSync(begin), Apply("point", prepare)]

    def stages(self):
        level = [Apply("point", fill), GlobalSync(split), Apply("point", descend)]
        return [
            Barrier(),  # a tree follows from all before it
            Apply("point", derive),
            Repeat(*level, times="depth"),
            Apply("point", gather),
            GlobalSync(weigh),
            Apply("point", climb),
            GlobalSync(finish),
        ]

    def converged(self, metrics):
        return metrics["grown"] == self.trees
