"""Logistic regression by stochastic gradient descent (SGD) on each worker and averages of the
workers' models.

    min sum_i log(1 + exp(-y_i w.x_i)) + l2/2 |w|^2

Zinkevich, Weimer, Smola and Li, "Parallelized stochastic gradient descent", NIPS 2010; averaged
after each epoch as in Zhang, Jiang, Cui and Zhang, "MLlib*: fast training of GLMs using Spark
MLlib", ICDE 2019. A worker goes over its samples and changes its own copy of the weights. Then each
weight becomes the mean of the copies of the workers that have samples with this feature.

The weights depend on the number of workers, because each worker sees only its own samples between
two averages. The step size decreases, so on any number of workers the weights approach the same
optimum. To first order in the step size, an epoch moves each weight against the gradient of the
whole objective, by the step size divided by the number of copies.

The file holds samples, each with one of two labels: libsvm, a table or `.npz`. Give the samples a
feature that is always 1 if you want an intercept; it is penalised like the others.

    tux run docs/examples/model_averaging.py train.svm --workers 2 --out run1
    tux predict run1 new.svm --out margins.csv
"""

import math

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Samples,
    Score,
    Vertex,
    data,
    metric,
    param,
    shared,
    total,
    value,
)


def count(sample, feature):
    feature.samples += 1


def decrease(tau, p):
    tau.rate = p.step / (1 + p.decay * tau.epoch)
    tau.epoch += 1


def margin(edges):
    z = 0.0
    for edge in edges:
        z += edge.value * edge.feature.w
    return z


def sgd(sample, edges, tau, p):
    """Step along the gradient of one sample; the samples of a feature share its penalty."""
    z = sample.label * margin(edges)
    derivative = -sample.label * (1 - math.tanh(z / 2)) / 2  # 1 / (1 + exp(z)), without overflow
    for edge in edges:
        penalty = p.l2 * edge.feature.w / edge.feature.samples
        edge.feature.w -= tau.rate * (edge.value * derivative + penalty)


def judge(sample, edges, tau):
    tau.loss += np.logaddexp(0.0, -sample.label * margin(edges))


def square(feature, tau):
    tau.squares += feature.w * feature.w


def report(tau, p):
    tau.objective = tau.loss + p.l2 / 2 * tau.squares


class ModelAveraging(Program):
    """Logistic regression with an L2 penalty, by averages of the models of all workers."""

    step: float = param(0.1, "first step size", low=0, dtype="f8")
    decay: float = param(
        0.1, "in epoch t the step size is step / (1 + decay * (t - 1))", low=0, dtype="f8"
    )
    l2: float = param(1.0, "penalty on half the sum of w squared", low=0, dtype="f8")

    sample = Vertex(whole=True, label=data("f4"))
    feature = Vertex(w=shared("f8", combine="replica_mean"), samples=shared("i8"))
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        rate=value("f8"), epoch=value("i8"), loss=total(), squares=total(), objective=metric()
    )
    input = Samples()
    epochs = 50

    def setup(self):
        return [Exchange(count), Apply("feature"), GlobalSync(decrease)]

    def stages(self):
        return [Exchange(sgd, over="sample"), Apply("feature"), GlobalSync(decrease)]

    def evaluate(self):
        return [Exchange(judge, over="sample"), GlobalSync(report, aggregate=square)]

    def predict(self):
        return Score(margin, over="sample", name="margin")
