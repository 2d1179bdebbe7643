"""Stochastic gradients: for each mini-batch of samples, with its gradient divided by its size as g,

    sgd         m = g,                              s = rate / curvature
    adagrad     v += g^2,  m = g,                   s = rate / (sqrt(v) + SMALL)
    rmsprop     v = b2 v + (1 - b2) g^2,  m = g,    s = rate / (sqrt(v) + SMALL)
    adam        v = b2 v + (1 - b2) g^2,  m = b1 m + (1 - b1) g, both divided by 1 - b^t,
                                                    s = rate / (sqrt(v) + SMALL)
    w = prox(w - s m)

`curvature` is a bound of the mean loss's along a sample, the mean of c |x|^2 times the loss's own.

AdaGrad: Duchi, Hazan and Singer, JMLR 2011. RMSProp: Tieleman and Hinton, 2012. Adam: Kingma and
Ba, ICLR 2015. In all, b1 belongs to the mean of gradients and b2 to that of their squares.

Only features with an entry in the mini-batch change. So the penalty of a feature is divided among
the mini-batches in which it occurs, whose members are the same in each epoch, and t counts these.
The penalty's step is exact, as in proximal methods: prox(x) = soft(x, s l1') / (1 + s l2'), l1' and
l2' being the penalties divided by the size of a batch and the number of these mini-batches.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

from tux.program.fields import total, value
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Zip

SMALL = 1e-8
MOMENTS = {"adagrad": 1, "rmsprop": 1, "adam": 4}
STEPS = {"sgd": 1.0, "adagrad": 0.1, "rmsprop": 0.01, "adam": 0.03}
"""First step sizes where none is given."""


def moments(p):
    """How many numbers a solver keeps of a feature's gradients."""
    return MOMENTS.get(p.solver, 0)


CONTEXT = {
    "norms": total(),
    "curvature": value("f8"),
    "batch": value("f8"),
    "rate": value("f8"),
    "passes": value("f8"),
    "moments_of_b": value("f8", moments),
}


def measure(sample, edges, tau):
    """A sample of the mini-batch, and its curvature but for a factor."""
    for edge in edges:
        tau.norms += sample.c * edge.value * edge.value


def bound(tau):
    """The bound of the curvature."""
    tau.curvature = max(tau.bend * tau.norms / max(tau.size, 1.0), 1e-300)


def visit(feature):
    """Count a mini-batch in which the feature occurs."""
    feature.share += 1


def divide(feature, tau):
    """A feature's share of the penalty in each of these, divided by the size of a mini-batch."""
    feature.share = 1 / (tau.batch * feature.share) if feature.share > 0 else 0.0


def sgd(feature, tau, p):
    """A step along the gradient."""
    feature.w = proximal(feature, feature.gathered / tau.batch, tau.rate / tau.curvature, tau)


def adagrad(feature, tau, p):
    """Each feature's steps fall with its gradients so far."""
    g = feature.gathered / tau.batch
    feature.moments[0] += g * g
    s = tau.rate / (math.sqrt(feature.moments[0]) + SMALL)
    feature.w = proximal(feature, g, s, tau)


def rmsprop(feature, tau, p):
    """The same with gradients that are forgotten."""
    g = feature.gathered / tau.batch
    feature.moments[0] += (1 - p.beta2) * (g * g - feature.moments[0])
    s = tau.rate / (math.sqrt(feature.moments[0]) + SMALL)
    feature.w = proximal(feature, g, s, tau)


def adam(feature, tau, p):
    """The same along the mean of gradients. The last two moments are 1 - b1^t and 1 - b2^t."""
    g = feature.gathered / tau.batch
    of = feature.moments
    of[0] += (1 - p.beta1) * (g - of[0])
    of[1] += (1 - p.beta2) * (g * g - of[1])
    of[2] += (1 - p.beta1) * (1 - of[2])
    of[3] += (1 - p.beta2) * (1 - of[3])
    s = tau.rate / (math.sqrt(of[1] / of[3]) + SMALL)
    feature.w = proximal(feature, of[0] / of[2], s, tau)


def proximal(feature, m, s, tau):
    """The weight after a step s along m and the penalties' part of it."""
    w, share = feature.w - s * m, s * feature.share
    if tau.l1 > 0:
        w = max(w - tau.l1 * share, 0.0) + min(w + tau.l1 * share, 0.0)
    return w / (1 + tau.l2 * share)


UPDATES = {"sgd": sgd, "adagrad": adagrad, "rmsprop": rmsprop, "adam": adam}


def differentiating(slope, *, intercept):
    """A UDF that adds a sample's gradient to its features, and to the intercept if there is one."""

    def differentiate(sample, edges, tau, p):
        scatter(sample, edges, tau, p)

    def differentiate_all(sample, edges, tau, p):
        tau.of_b += scatter(sample, edges, tau, p)

    def scatter(sample, edges, tau, p):
        m = tau.b
        for edge in edges:
            m += edge.value * edge.feature.w
        r = sample.c * slope(sample.label, m, p.width)
        if r != 0:
            for edge in edges:
                edge.feature.gathered += edge.value * r
        return r

    return differentiate_all if intercept else differentiate


def shifting(update):
    """The step of the intercept, which is not penalised, as that of a feature."""

    def shift(tau, p):
        row = SimpleNamespace(w=tau.b, gathered=tau.of_b, moments=tau.moments_of_b, share=0.0)
        update(row, tau, p)
        tau.b = row.w

    return shift


def slowing(first, decay):
    """The rate of an epoch, from `first`."""

    def slow(tau):
        tau.rate = first / (1 + decay * tau.passes)
        tau.passes += 1

    return slow


def sizes(batch):
    """The size of mini-batches as MiniBatch takes it: a share of the samples below 1, a number of
    them else.
    """
    return {"blocks": max(1, round(1 / batch))} if batch < 1 else {"vertices": round(batch)}


def prepared(program):
    """The stages before the first epoch: in how many mini-batches a feature occurs."""
    touch = Exchange(measure, over="sample")
    visits = MiniBatch(touch, Apply("feature", visit), **sizes(program.batch))
    return [visits, GlobalSync(bound), Zip("feature", divide)]


def epoch(program, loss):
    """The stages of an epoch."""
    update, intercept = UPDATES[program.solver], program.intercept
    steps = [
        Exchange(differentiating(loss.slope, intercept=intercept), over="sample"),
        Apply("feature", update),
        *([GlobalSync(shifting(update))] if intercept else []),
    ]
    # adagrad's steps fall by themselves
    decay = 0.0 if program.solver == "adagrad" else program.decay
    slow = GlobalSync(slowing(program.step or STEPS[program.solver], decay))
    return [slow, MiniBatch(*steps, **sizes(program.batch))]
