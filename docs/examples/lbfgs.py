"""Logistic regression with an L2 penalty, by L-BFGS.

    min F(w) = sum_i log(1 + exp(-y_i w.x_i)) + l2/2 |w|^2

Nocedal and Wright, Numerical Optimization, algorithms 7.4 and 7.5, with steps of 1, 1/2, 1/4, ...
The weights w, the gradient g, the direction d, and the last m steps s and changes y of the gradient
are vectors of features (docs/vectors.md); s and y are fields of m numbers, where the newest pair
takes the place of the oldest. Both are old less new. Gradients and margins are sums over edges, so
both samples and features may be cut.

The file holds samples, each with one of two labels: libsvm, a table or `.npz`. Give the samples a
feature that is always 1 if you want an intercept; it is penalised like the others.

    tux run docs/examples/lbfgs.py train.svm --l2 1 --out run1
    tux predict run1 new.svm --out margins.csv
"""

import math

import numpy as np

from tux import (
    Apply,
    Axpy,
    Context,
    Copy,
    Dot,
    Edge,
    Exchange,
    GlobalSync,
    Mul,
    Norm2,
    Program,
    Repeat,
    Samples,
    Score,
    Sub,
    Vertex,
    data,
    delta,
    master,
    metric,
    param,
    reduction,
    total,
    value,
)

# A step is accepted if F falls by the share DESCENT of step * g.d (Armijo), but for the rounding
# of F, which is a share of F itself.
DESCENT, ROUNDING = 1e-4, 1e-13


def start(sample, tau):
    """Start with all weights 0."""
    sample.derivative = -0.5 * sample.label
    tau.loss += math.log(2)


def begin(tau):
    tau.F = tau.loss


def differentiate(sample, feature, entry):
    feature.gathered += entry.value * sample.derivative


def gradient(feature, p):
    feature.g = feature.gathered + p.l2 * feature.w


def remember(tau):
    """Remember the last pair. One along which the gradient has not grown is left out: its rho is
    0.
    """
    tau.rho[tau.i] = 1 / tau.sy if tau.sy > 0 else 0
    tau.gamma = tau.sy / tau.yy if tau.sy > 0 else tau.gamma
    tau.step = 1


def first_loop(tau):
    tau.alpha[tau.i] = tau.rho[tau.i] * tau.sd


def second_loop(tau):
    tau.excess = tau.alpha[tau.i] - tau.rho[tau.i] * tau.yd


def newer(tau, p):
    tau.i = (tau.i + 1) % p.pairs


def older(tau, p):
    tau.i = (tau.i - 1) % p.pairs


def project(sample, feature, entry):
    """Add up the change of a sample's margin by a step against d."""
    sample.gathered += entry.value * feature.d


def follow(sample):
    sample.along = sample.gathered


def attempt(sample, tau):
    margin = sample.margin - tau.step * sample.along
    tau.loss += np.logaddexp(0.0, -sample.label * margin)


def search(tau, p):
    """Compute F after the step; halve a step that is too long."""
    F = tau.loss + p.l2 / 2 * (tau.ww - 2 * tau.step * tau.wd + tau.step**2 * tau.dd)
    tau.accepted = F <= tau.F * (1 + ROUNDING) - DESCENT * tau.step * tau.gd
    if tau.accepted:
        tau.F = tau.objective = F
    else:
        tau.step /= 2


def is_accepted(tau):
    return bool(tau.accepted)


def settle(sample, tau):
    sample.margin -= tau.step * sample.along
    # 1 / (1 + exp(z)), without an overflow
    sample.derivative = -sample.label * (1 - math.tanh(sample.label * sample.margin / 2)) / 2


def margin(edges):
    z = 0.0
    for edge in edges:
        z += edge.value * edge.feature.w
    return z


class LBFGS(Program):
    """Logistic regression with an L2 penalty, by L-BFGS."""

    l2: float = param(1.0, "penalty on half the sum of w squared", low=0, dtype="f8")
    pairs: int = param(10, "steps that are remembered", low=1)
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
        d=value("f8", kept=False),
        gathered=delta("f8"),
        g=master("f8", kept=False),
        s=master("f8", "pairs", kept=False),
        y=master("f8", "pairs", kept=False),
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        i=value("i8"),
        rho=value("f8", "pairs"),
        alpha=value("f8", "pairs"),
        **{name: reduction() for name in ("sy", "yy", "sd", "yd", "gd", "ww", "wd", "dd")},
        **{name: value("f8", init=1) for name in ("gamma", "excess", "F", "step")},
        accepted=value("b1"),
        loss=total(),
        objective=metric(),
        gradient=reduction(reported=True),
    )
    input = Samples()
    epochs = 1000

    def setup(self):
        return [Apply("sample", start), GlobalSync(begin)]

    def stages(self):
        return [
            Exchange(differentiate),
            Apply("feature", gradient),
            Norm2("feature", "g", into="gradient"),
            # the newest pair
            Sub("feature", "y[i]", "g"),
            Dot("feature", "s[i]", "y[i]", into="sy"),
            Dot("feature", "y[i]", "y[i]", into="yy"),
            GlobalSync(remember),
            # d = H g: from the newest pair to the oldest, and back
            Copy("feature", "d", "g"),
            Repeat(
                Dot("feature", "s[i]", "d", into="sd"),
                GlobalSync(first_loop),
                Axpy("feature", "d", "y[i]", by="-alpha[i]"),
                GlobalSync(older),
                times="pairs",
            ),
            Mul("feature", "d", by="gamma"),
            Repeat(
                GlobalSync(newer),
                Dot("feature", "y[i]", "d", into="yd"),
                GlobalSync(second_loop),
                Axpy("feature", "d", "s[i]", by="excess"),
                times="pairs",
            ),
            # a step along -d
            *[Dot("feature", x, "d", into=f"{x}d") for x in ("g", "w", "d")],
            Dot("feature", "w", "w", into="ww"),
            Exchange(project),
            Apply("sample", follow),
            Repeat(GlobalSync(search, aggregate=attempt), until=is_accepted),
            GlobalSync(newer),
            Copy("feature", "s[i]", "d"),
            Mul("feature", "s[i]", by="step"),
            Copy("feature", "y[i]", "g"),
            Sub("feature", "w", "s[i]"),
            Apply("sample", settle),
        ]

    def converged(self, metrics):
        return metrics["gradient"] <= self.tolerance

    def predict(self):
        return Score(margin, over="sample", name="margin")
