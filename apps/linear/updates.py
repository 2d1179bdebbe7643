"""Updates of a weight by the gradient g of a mini-batch, divided by its size:

    sgd         m = g,                              s = rate / curvature
    adagrad     v += g^2,  m = g,                   s = rate / (sqrt(v) + SMALL)
    rmsprop     v = b2 v + (1 - b2) g^2,  m = g,    s = rate / (sqrt(v) + SMALL)
    adam        v = b2 v + (1 - b2) g^2,  m = b1 m + (1 - b1) g, both divided by 1 - b^t,
                                                    s = rate / (sqrt(v) + SMALL)
    w = prox(w - s m)

`curvature` bounds how fast g changes (`tux.apps.linear.smoothness`). prox(x) =
soft(x, s l1') / (1 + s l2'), l1' and l2' being a feature's shares of the penalties.

AdaGrad: Duchi, Hazan and Singer, JMLR 2011. RMSProp: Tieleman and Hinton, 2012. Adam: Kingma and
Ba, ICLR 2015. In all, b1 belongs to the mean of gradients and b2 to that of their squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

SMALL = 1e-8


def count_moments(p):
    """Return how many numbers a solver keeps of a feature's gradients."""
    return UPDATES[p.solver].moments if p.solver in UPDATES else 0


def sgd(feature, tau, p):
    """Step along the gradient."""
    feature.w = proximal(feature, feature.gathered * tau.portion, tau.rate / tau.curvature, tau)


def adagrad(feature, tau, p):
    """Step along the gradient; each feature's steps fall with its gradients so far."""
    g = feature.gathered * tau.portion
    feature.moments[0] += g * g
    s = tau.rate / (math.sqrt(feature.moments[0]) + SMALL)
    feature.w = proximal(feature, g, s, tau)


def rmsprop(feature, tau, p):
    """Divide the step by the root of a running mean of squared gradients, which forgets old
    ones.
    """
    g = feature.gathered * tau.portion
    feature.moments[0] += (1 - p.beta2) * (g * g - feature.moments[0])
    s = tau.rate / (math.sqrt(feature.moments[0]) + SMALL)
    feature.w = proximal(feature, g, s, tau)


def adam(feature, tau, p):
    """Step as `rmsprop` does, but along a running mean of gradients. The last two moments are 1 -
    b1^t and 1 - b2^t.

    Both quotients and that of prox are one: a division takes longer than all else here.
    """
    g = feature.gathered * tau.portion
    of = feature.moments
    of[0] += (1 - p.beta1) * (g - of[0])
    of[1] += (1 - p.beta2) * (g * g - of[1])
    of[2] += (1 - p.beta1) * (1 - of[2])
    of[3] += (1 - p.beta2) * (1 - of[3])
    q, s = math.sqrt(of[1] * of[3]) + SMALL * of[3], tau.rate * of[3]  # s / q is the step
    if tau.l1 > 0:
        feature.w = proximal(feature, of[0] / of[2], s / q, tau)
    else:
        w = feature.w * q * of[2] - s * of[0]
        feature.w = w / (of[2] * (q + s * tau.l2 * feature.share))


def proximal(feature, m, s, tau):
    """Return the weight after a step s along m and the penalties' part of it."""
    return shrink(feature.w - s * m, s * feature.share, tau)


def shrink(w, share, tau):
    """Return prox of a weight, for a share of the penalties that has been multiplied by the
    step.
    """
    if tau.l1 > 0:
        w = max(w - tau.l1 * share, 0.0) + min(w + tau.l1 * share, 0.0)
    return w / (1 + tau.l2 * share)


def stay(feature, tau, p):
    """Leave a weight to a solver that takes no steps along gradients."""


class Update(NamedTuple):
    """An update of a weight. `rate`: the first step size, `batch`: the share of the samples in a
    mini-batch, where none is given. Adam's means forget old gradients, so small mini-batches keep
    it farther from the optimum; and its steps cost more. `moments`: how many numbers it keeps of a
    feature's gradients. `slows`: its steps become shorter by `decay`.
    """

    update: Callable[..., None] = stay
    rate: float = 1.0
    batch: float = 1.0
    moments: int = 0
    slows: bool = True


UPDATES = {
    "sgd": Update(sgd, 1.0, 0.01),
    "adagrad": Update(adagrad, 0.1, 0.01, 1, slows=False),
    "rmsprop": Update(rmsprop, 0.01, 0.01, 1),
    "adam": Update(adam, 0.05, 0.15, 4),
}
