"""Logistic regression by Adam on mini-batches of samples.

    min 1/n sum_i log(1 + exp(-y_i w.x_i)) + l2/2 |w|^2

Kingma and Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1, with the step
size step / sqrt(t) of its section 4. A block of samples is a mini-batch. The features gather its
gradient, and `adam` is called with their vectors (docs/vectors.md), for those without an entry in
the block too, as in the paper. At slack 0 all workers share one mini-batch at a time, so the
weights are the same on any number of workers; with slack, gradients are those of weights of some
steps ago.

The file holds samples, each with one of two labels: libsvm, a table or `.npz`. Give the samples a
feature that is always 1 if you want an intercept; it is penalised like the others.

    tux run docs/examples/adam.py train.svm --test test.svm --out run1
    tux predict run1 new.svm --out margins.csv
"""

import math

import numpy as np

from tux import (
    Context,
    Edge,
    Exchange,
    GlobalSync,
    MiniBatch,
    Program,
    Samples,
    Score,
    Vertex,
    Zip,
    data,
    delta,
    master,
    metric,
    param,
    total,
    value,
)

SMALL = 1e-8  # the epsilon of the paper


def margin(edges):
    z = 0.0
    for edge in edges:
        z += edge.value * edge.feature.w
    return z


def differentiate(sample, edges):
    z = sample.label * margin(edges)
    derivative = -sample.label * (1 - math.tanh(z / 2)) / 2  # 1 / (1 + exp(z)), without overflow
    for edge in edges:
        edge.feature.gradient += edge.value * derivative


def adam(feature, p):
    """Step along the mean gradient of `batch` samples; a smaller last block counts less."""
    g = feature.gradient / p.batch + p.l2 * feature.w
    feature.t += 1
    feature.m = p.beta1 * feature.m + (1 - p.beta1) * g
    feature.v = p.beta2 * feature.v + (1 - p.beta2) * g * g
    m = feature.m / (1 - p.beta1**feature.t)
    v = feature.v / (1 - p.beta2**feature.t)
    feature.w -= p.step / math.sqrt(feature.t) * m / (math.sqrt(v) + SMALL)


def judge(sample, edges, tau):
    z = sample.label * margin(edges)
    tau.loss += np.logaddexp(0.0, -z)
    tau.right += z > 0
    tau.samples += 1


def train(tau):
    tau.train_logloss = tau.loss / tau.samples


def test(tau):
    tau.test_logloss, tau.test_accuracy = tau.loss / tau.samples, tau.right / tau.samples


class Adam(Program):
    """Logistic regression with an L2 penalty, by Adam."""

    step: float = param(0.1, "first step size", low=0, dtype="f8")
    beta1: float = param(0.9, "decay of the mean of gradients", low=0, high=0.999999, dtype="f8")
    beta2: float = param(
        0.999, "decay of the mean of their squares", low=0, high=0.999999, dtype="f8"
    )
    l2: float = param(1e-4, "penalty on half the sum of w squared", low=0, dtype="f8")
    batch: int = param(100, "samples in a mini-batch; not more than the file has", low=1)

    sample = Vertex(whole=True, label=data("f4"))
    feature = Vertex(
        w=value("f8"), gradient=delta("f8"), m=master("f8"), v=master("f8"), t=master("i8")
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        loss=total(),
        right=total(),
        samples=total(),
        train_logloss=metric(),
        test_logloss=metric(),
        test_accuracy=metric(rises=True),
    )
    input = Samples()
    epochs = 20
    monitor = "test_logloss"

    def stages(self):
        gradient = Exchange(differentiate, over="sample")
        return [MiniBatch(gradient, Zip("feature", adam, gather=True), vertices=self.batch)]

    def evaluate(self, cluster):
        judged = [Exchange(judge, over="sample"), GlobalSync(train)]
        if cluster.has_test:
            judged += [Exchange(judge, over="sample", held_out=True), GlobalSync(test)]
        return judged

    def predict(self):
        return Score(margin, over="sample", name="margin")
