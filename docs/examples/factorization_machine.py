"""Factorization machine of order 2: the second label has the probability 1 / (1 + exp(-y)),

    y = w0 + sum_j w_j x_j + sum_(i < j) (v_i.v_j) x_i x_j

so each pair of features has a weight, also one that is rarely or never seen. The sum over pairs is
(|s|^2 - sum_j |v_j|^2 x_j^2) / 2 with s = sum_j v_j x_j.

Rendle, "Factorization machines", ICDM 2010, equations 1 and 5, by stochastic gradients with a
step for each number: Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 12, 2011.

    tux run docs/examples/factorization_machine.py train.svm --test test.svm
"""

import math

import numpy as np

from tux import (
    Apply,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    MiniBatch,
    Program,
    Samples,
    Score,
    Vertex,
    axpy,
    data,
    dot,
    metric,
    metrics,
    normal,
    param,
    shared,
    total,
)

SMALL = 1e-8  # where sums of squares begin, so that none is 0


def combine(edges, s, tau):
    """Add the vectors of a sample's features to s, and return y."""
    y = tau.w0
    for edge in edges:
        x, v = edge.value, edge.feature.v
        y += x * edge.feature.w - x * x * dot(v, v) / 2
        axpy(x, v, s)
    return y + dot(s, s) / 2


def predict(edges, tau, p):
    y = combine(edges, np.zeros(p.rank), tau)
    return (1 + math.tanh(y / 2)) / 2  # 1 / (1 + exp(-y)), without overflow


def descend(sample, edges, tau, p):
    s = np.zeros(p.rank)
    z = sample.label * combine(edges, s, tau)
    slope = -sample.label * (1 - math.tanh(z / 2)) / 2
    tau.loss, tau.n = tau.loss + np.logaddexp(0.0, -z), tau.n + 1
    tau.h0 += slope * slope
    tau.w0 -= p.step * slope / math.sqrt(tau.h0)
    for edge in edges:
        x, feature = edge.value, edge.feature
        g = slope * x + p.reg * feature.w
        feature.h += g * g
        feature.w -= p.step * g / math.sqrt(feature.h)
        for k in range(p.rank):
            g = slope * x * (s[k] - x * feature.v[k]) + p.reg * feature.v[k]
            feature.hv[k] += g * g
            feature.v[k] -= p.step * g / math.sqrt(feature.hv[k])


class FactorizationMachine(Program):
    """Two classes by weights of features and of their pairs."""

    rank: int = param(8, "numbers of a feature's vector", low=1)
    step: float = param(0.1, "first step of each number", low=0)
    reg: float = param(1e-4, "L2 penalty on w and v", low=0)

    epochs = 20
    precision = "f4"
    monitor = "test_logloss"
    input = Samples()
    sample = Vertex(whole=True, label=data("f4"))
    feature = Vertex(
        w=shared(),
        h=shared(init=SMALL, kept=False),
        v=shared("rank", init=normal(0, 0.05)),
        hv=shared("rank", init=SMALL, kept=False),
    )
    entry = Edge("sample", "feature", value=data("f4"), held_out="sample")
    tau = Context(
        w0=shared("f8"),
        h0=shared("f8", init=SMALL, kept=False),
        train_logloss=metric("loss / n", loss=total(), n=total()),
        test_logloss=metrics.logloss("label"),
        test_accuracy=metrics.accuracy("label"),
    )

    def stages(self):
        descent = Exchange(descend, over="sample")
        return [MiniBatch(descent, Apply("feature"), GlobalSync(), vertices=100)]

    def predict(self):
        return Score(predict, over="sample", name="probability")
