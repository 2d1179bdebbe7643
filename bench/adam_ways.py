"""The programs of bench/ps2.py: Adam for logistic regression, where the update of a feature is made
in one of three places.

    OnDriver    worker 0, to which all gradients go, and from which all workers get the weights: a
                driver, as in Spark's MLlib
    OnWorker    a worker that has the feature in the mini-batch: it gets w, m and v, and sends their
                changes back, as with a server that knows pull and push alone
    OnMasters   the feature's master, where w, m and v lie side by side

All take the same steps, those of `tux.apps.linear.stochastic.adam` without a penalty: only features
with an entry in the mini-batch change, and t counts the mini-batches in which a feature occurs.
Where a feature's gradients add up to 0, but for rounding, nothing of it changes: a driver sees that
the feature occurs from its gradient alone.
"""

import math

import numpy as np

from tux import (
    Context,
    Edge,
    Program,
    Samples,
    Vertex,
    data,
    delta,
    master,
    metric,
    mirror,
    param,
    shared,
    total,
    value,
)
from tux.clock.steps import Step
from tux.program.stage import Stage
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

SMALL = 1e-8
ROUNDING = 1e-12  # a sum of gradients that is less is 0
MOST_WORKERS = 64


def slope(label, m):
    """Return the derivative of log(1 + exp(-label m)) by m."""
    return -label / (1 + math.exp(label * m))


def loss(label, m):
    """Return log(1 + exp(-label m)), without an overflow."""
    z = label * m
    return math.log1p(math.exp(-abs(z))) - min(z, 0.0)


def margin(edges):
    """Return x.w."""
    m = 0.0
    for edge in edges:
        m += edge.value * edge.feature.w
    return m


def differentiate(sample, edges):
    """Add up the gradient of a sample, for the masters of its features."""
    r = slope(sample.label, margin(edges))
    for edge in edges:
        edge.feature.gathered += edge.value * r


def lose(sample, edges, tau):
    """Add up the loss of a sample."""
    tau.lost += loss(sample.label, margin(edges))
    tau.counted += 1


def report(tau):
    """Set the mean loss."""
    tau.loss = tau.lost / tau.counted


def update(feature, p):
    """Update a weight by Adam, where the feature's vectors lie."""
    if abs(feature.gathered) < ROUNDING:
        return
    g = feature.gathered / p.batch
    feature.t += 1
    feature.m += (1 - p.beta1) * (g - feature.m)
    feature.v += (1 - p.beta2) * (g * g - feature.v)
    m = feature.m / (1 - p.beta1**feature.t)
    v = feature.v / (1 - p.beta2**feature.t)
    feature.w -= p.step * m / (math.sqrt(v) + SMALL)


LOSS = {"lost": total(), "counted": total(), "loss": metric()}


class OnMasters(Program):
    """The update on the masters: gradients go up, weights come down."""

    step: float = param(0.03, "step size", low=0, dtype="f8")
    beta1: float = param(0.9, "decay of the mean of gradients", low=0, high=1, dtype="f8")
    beta2: float = param(0.999, "decay of the mean of their squares", low=0, high=1, dtype="f8")
    batch: int = param(100, "samples in a mini-batch", low=1)
    sample = Vertex(whole=True, label=data("f4"))
    feature = Vertex(
        w=value("f8"), gathered=delta("f8"), m=master("f8"), v=master("f8"), t=master("i4")
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(**LOSS)
    input = Samples()

    def stages(self):
        """Return the stages of an epoch: one step a mini-batch."""
        steps = Exchange(differentiate, over="sample"), Apply("feature", update)
        return [MiniBatch(*steps, vertices=self.batch)]

    def evaluate(self):
        """Return the stages that find the mean loss of the samples."""
        return [Exchange(lose, over="sample"), GlobalSync(report)]


# ---- pull and push


class Numbering(Stage, Step):
    """A stage that gives the replicas of each feature different numbers, 0 to the one at its
    master.
    """

    label = "Numbering"

    def prepare(self, worker, batch=None):
        """Return the stage itself as its step; it needs only the worker."""
        self.worker = worker
        return self

    def run(self, block=None):
        """Run the numbering: write a number to each replica."""
        worker = self.worker
        if worker.workers == 1:
            return
        part = worker.part("feature")
        away = part.homes_of_rows != worker.rank
        number = 1 + (worker.rank + part.rows[: part.n_train]) % worker.workers
        worker.tables["feature"].arrays["number"][: part.n_train] = np.where(away, number, 0)


def differentiate_and_offer(sample, edges):
    """Add up the gradient; and offer, as this worker, to update the features of its samples."""
    r = slope(sample.label, margin(edges))
    for edge in edges:
        edge.feature.gathered += edge.value * r
        edge.feature.offered = max(edge.feature.offered, edge.feature.number)


def entrust(feature):
    """Take the gradient, and decide which of the workers makes the update: not the master's, if
    another one has the feature in the mini-batch.
    """
    feature.g = feature.gathered
    if abs(feature.g) >= ROUNDING:
        feature.turn = (feature.turn // MOST_WORKERS + 1) * MOST_WORKERS + feature.offered


def update_there(sample, edges, p):
    """Update by Adam, once for each feature with which this worker is entrusted."""
    for edge in edges:
        feature = edge.feature
        mine = feature.turn % MOST_WORKERS == feature.number
        if mine and feature.done != feature.turn:
            feature.done = feature.turn
            g, t = feature.g / p.batch, feature.turn // MOST_WORKERS
            feature.m += (1 - p.beta1) * (g - feature.m)
            feature.v += (1 - p.beta2) * (g * g - feature.v)
            m, v = feature.m / (1 - p.beta1**t), feature.v / (1 - p.beta2**t)
            feature.w -= p.step * m / (math.sqrt(v) + SMALL)


def keep(feature):
    """Keep nothing more: the master adds the changes by itself."""
    feature.turn += 0


class OnWorker(OnMasters):
    """The update on a worker: w, m and v come down and their changes go up.

    A mirror is kept current by its master. So a change of m and v goes to each worker that has the
    feature, one of which makes the next update, and not only to this one when it asks.
    """

    feature = Vertex(
        w=shared("f8"),
        m=shared("f8"),
        v=shared("f8"),
        gathered=delta("f8"),
        offered=delta("i1", combine="max"),
        g=value("f8"),
        turn=value("i4"),
        number=mirror("i4"),
        done=mirror("i4"),
    )

    def setup(self):
        """Return the stage that gives replicas their numbers."""
        return [Numbering()]

    def stages(self):
        """Return the stages of an epoch: two exchanges a mini-batch."""
        push = Exchange(differentiate_and_offer, over="sample"), Apply("feature", entrust)
        pull = Exchange(update_there, over="sample"), Apply("feature", keep)
        return [MiniBatch(*push, *pull, vertices=self.batch)]


# ---- a driver


def margin_by_driver(edges, tau):
    """Return x.w, the weights being in the context."""
    m = 0.0
    for edge in edges:
        m += edge.value * tau.w[edge.feature.id]
    return m


def differentiate_to_driver(sample, edges, tau):
    """Add up the gradient of a sample, for the driver."""
    r = slope(sample.label, margin_by_driver(edges, tau))
    for edge in edges:
        tau.g[edge.feature.id] += edge.value * r


def lose_by_driver(sample, edges, tau):
    """Add up the loss of a sample."""
    tau.lost += loss(sample.label, margin_by_driver(edges, tau))
    tau.counted += 1


def driving(features):
    """Return a UDF that updates all features, with the vectors that only the driver has."""
    m, v, t = np.zeros(features), np.zeros(features), np.zeros(features, np.int64)

    def drive(tau, p):
        at = np.flatnonzero(np.abs(tau.g) >= ROUNDING)
        g = tau.g[at] / p.batch
        t[at] += 1
        m[at] += (1 - p.beta1) * (g - m[at])
        v[at] += (1 - p.beta2) * (g * g - v[at])
        mean, square = m[at] / (1 - p.beta1 ** t[at]), v[at] / (1 - p.beta2 ** t[at])
        tau.w[at] -= p.step * mean / (np.sqrt(square) + SMALL)

    return drive


class OnDriver(OnMasters):
    """The update on worker 0, which masters the context: all gradients go there, and the weights
    come from there.
    """

    features: int = param(1, "features of the data", low=1)
    feature = Vertex()
    tau = Context(w=value("f8", "features"), g=total("f8", "features"), **LOSS)

    def stages(self):
        """Return the stages of an epoch: one step of the driver a mini-batch."""
        drive = GlobalSync(driving(self.features))
        return [
            MiniBatch(Exchange(differentiate_to_driver, over="sample"), drive, vertices=self.batch)
        ]

    def evaluate(self):
        """Return the stages that find the mean loss of the samples."""
        return [Exchange(lose_by_driver, over="sample"), GlobalSync(report)]
