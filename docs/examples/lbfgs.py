"""Logistic regression with an L2 penalty, by L-BFGS.

    min F(w) = sum_i log(1 + exp(-y_i w.x_i)) + l2/2 |w|^2

Nocedal, "Updating quasi-Newton matrices with limited storage", Mathematics of Computation 35, 1980.
The two loops of the method need only dot products of 2m + 1 vectors: the last m steps s, the m
changes y of the gradient, and the gradient g. So features are visited for these products, and the
loops are ordinary Python on a small matrix (Chen, Wang and Zhou, "Large-scale L-BFGS using
MapReduce", NIPS 2014). The weights w are one more vector here, for the penalty along a line.
Gradients and margins are sums over edges, so both samples and features may be cut.

The file holds samples, each with one of two labels: libsvm, a table or `.npz`. Give the samples a
feature that is always 1 if you want an intercept; it is penalised like the others.

    tux run docs/examples/lbfgs.py train.svm --l2 1 --out run1
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
    Repeat,
    Samples,
    Score,
    Vertex,
    data,
    delta,
    master,
    metric,
    param,
    total,
    value,
)

# A step is accepted if F falls by the share DESCENT of step * slope (Armijo), but for the rounding
# of F, which is a share of F itself.
DESCENT, ROUNDING = 1e-4, 1e-13


def start(sample, tau):
    """All weights are 0."""
    sample.derivative = -0.5 * sample.label
    tau.loss += math.log(2)


def begin(tau):
    tau.F = tau.loss


def differentiate(sample, feature, entry):
    feature.gradient += entry.value * sample.derivative


def remember(feature, tau, p):
    """The newest pair of vectors takes the first places; the oldest is forgotten."""
    m, v = p.memory, feature.vectors
    for i in range(m - 1, 0, -1):
        v[i], v[m + i] = v[i - 1], v[m + i - 1]
    gradient = feature.gradient + p.l2 * feature.w
    v[0] = tau.step * feature.direction
    v[m] = gradient - v[2 * m]
    v[2 * m], v[2 * m + 1] = gradient, feature.w


def multiply(feature, tau):
    for i in range(len(feature.vectors)):
        for j in range(len(feature.vectors)):
            tau.product[i, j] += feature.vectors[i] * feature.vectors[j]


def two_loops(tau, p):
    """The direction -H g, as coefficients of the vectors."""
    m, product = p.memory, np.array(tau.product)
    pairs = [i for i in range(m) if product[i, m + i] > 0]  # the newest first
    direction, alpha = np.zeros(2 * m + 2), np.zeros(m)
    direction[2 * m] = -1
    for i in pairs:
        alpha[i] = product[i] @ direction / product[i, m + i]
        direction[m + i] -= alpha[i]
    if pairs:
        i = pairs[0]
        direction *= product[i, m + i] / product[m + i, m + i]
    for i in reversed(pairs):
        beta = product[m + i] @ direction / product[i, m + i]
        direction[i] += alpha[i] - beta
    tau.direction[:] = direction
    tau.gradient = math.sqrt(product[2 * m, 2 * m])
    tau.slope = product[2 * m] @ direction
    tau.ww, tau.wd = product[2 * m + 1, 2 * m + 1], product[2 * m + 1] @ direction
    tau.dd = direction @ product @ direction
    tau.step, tau.accepted = 1, False


def aim(feature, tau):
    d = 0.0
    for i in range(len(feature.vectors)):
        d += tau.direction[i] * feature.vectors[i]
    feature.direction = d


def project(sample, feature, entry):
    """What a step along the direction adds to the margin of a sample."""
    sample.gathered += entry.value * feature.direction


def follow(sample):
    sample.along = sample.gathered


def attempt(sample, tau):
    margin = sample.margin + tau.step * sample.along
    tau.loss += np.logaddexp(0.0, -sample.label * margin)


def search(tau, p):
    """F after the step; a step that is too long is halved."""
    penalty = p.l2 / 2 * (tau.ww + 2 * tau.step * tau.wd + tau.step**2 * tau.dd)
    F = tau.loss + penalty
    tau.accepted = F <= tau.F * (1 + ROUNDING) + DESCENT * tau.step * tau.slope
    if tau.accepted:
        tau.F = tau.objective = F
    else:
        tau.step /= 2


def accepted(tau):
    return bool(tau.accepted)


def move(feature, tau):
    feature.w += tau.step * feature.direction


def settle(sample, tau):
    sample.margin += tau.step * sample.along
    # 1 / (1 + exp(z)), without an overflow
    sample.derivative = -sample.label * (1 - math.tanh(sample.label * sample.margin / 2)) / 2


def margin(edges):
    z = 0.0
    for edge in edges:
        z += edge.value * edge.feature.w
    return z


def vectors(p):
    """The last steps s, the last changes y of the gradient, the gradient, the weights."""
    return 2 * p.memory + 2


class LBFGS(Program):
    """Logistic regression with an L2 penalty, by L-BFGS."""

    l2: float = param(1.0, "penalty on half the sum of w squared", low=0, dtype="f8")
    memory: int = param(10, "steps that are remembered", low=1)
    tolerance: float = param(
        1e-4, "end when |gradient| is at most this; |w - optimum| <= tolerance / l2", low=0
    )

    sample = Vertex(
        label=data("f4"),
        margin=value("f8"),
        along=value("f8", kept=False),
        derivative=value("f8", kept=False),
        gathered=delta("f8"),
    )
    feature = Vertex(
        w=value("f8"),
        direction=value("f8", kept=False),
        gradient=delta("f8"),
        vectors=master("f8", vectors, kept=False),
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        product=total(lambda p: (vectors(p), vectors(p))),
        direction=value("f8", vectors, kept=False),
        loss=total(),
        F=value("f8"),
        step=value("f8"),
        slope=value("f8"),
        ww=value("f8"),
        wd=value("f8"),
        dd=value("f8"),
        accepted=value("b1"),
        objective=metric(),
        gradient=metric(),
    )
    input = Samples()
    epochs = 1000

    def setup(self):
        return [Apply("sample", start), GlobalSync(begin)]

    def stages(self):
        return [
            Exchange(differentiate),
            Apply("feature", remember),
            GlobalSync(two_loops, aggregate=multiply),
            Apply("feature", aim),
            Exchange(project),
            Apply("sample", follow),
            Repeat(GlobalSync(search, aggregate=attempt), until=accepted),
            Apply("feature", move),
            Apply("sample", settle),
        ]

    def converged(self, metrics):
        return metrics["gradient"] <= self.tolerance

    def predict(self):
        return Score(margin, over="sample", name="margin")
