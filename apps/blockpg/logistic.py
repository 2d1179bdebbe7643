"""The logistic loss of samples: a sample's quadratic model, and what BlockPG asks of samples
between passes.

In a pass r_i moves with m_i along its tangent, so steps are coordinate descent on the quadratic
model at the pass's start.

loss_i = c_i log(1 + exp(-y_i m_i)),   r_i = d loss_i / d m_i, h_i = d2 loss_i / d m_i^2, u_i: the
                                       curvature that steps use
"""

from __future__ import annotations

import math

from tux.apps.blockpg.span import ALL, KEPT


def renew_model(sample, tau):
    """Compute the model anew from m. u is h made stiff, has a floor, and is more where many
    features move.
    """
    z = sample.label * sample.m
    e = math.exp(-abs(z))
    q = 1 / (1 + e)
    curve = sample.c * e * q * q
    sample.r, sample.h = -sample.label * sample.c * (e * q if z > 0 else q), curve
    sample.u = (
        max(curve, sample.c * tau.floor) * tau.stiff * (1 + tau.crowd * max(0, sample.near - 1))
    )
    tau.loss += sample.c * (math.log1p(e) - min(z, 0.0))


def weigh_sample(sample, tau, p):
    """Compute the weight of a sample before the first pass, as classes have weights too; add up the
    weights of each class; find the heaviest sample.
    """
    sample.c = sample.weight * p.positive_weight if sample.label > 0 else sample.weight
    tau.up += sample.c if sample.label > 0 else 0.0
    tau.down += sample.c if sample.label < 0 else 0.0
    tau.most = max(tau.most, sample.c)


def measure(sample, tau, p):
    """Add up the loss after a pass, and its slopes and curvatures along the last displacements of m
    and along a constant.
    """
    renew_model(sample, tau)
    sample.moved[tau.at], sample.moved[KEPT] = sample.m - sample.before, p.fit_intercept
    for a in range(ALL):
        tau.slopes[a] += sample.r * sample.moved[a]
        for b in range(a, ALL):
            tau.curves[a, b] += sample.h * sample.moved[a] * sample.moved[b]


def attempt(sample, tau):
    """Add up the loss where the search leads."""
    m = sample.m
    for a in range(ALL):
        m += tau.x[a] * sample.moved[a]
    z = sample.label * m
    tau.loss += sample.c * (math.log1p(math.exp(-abs(z))) - min(z, 0.0))


def follow_weights(sample, tau):
    """Move a sample's m with the weights, or back; where m is made anew, it starts with the
    intercept.
    """
    sample.near = 0
    if tau.undone:
        sample.m = sample.before
        for a in range(KEPT):
            sample.moved[a] = 0
    elif tau.taken:
        for a in range(ALL):
            sample.m += tau.x[a] * sample.moved[a]
    if tau.anew:
        sample.m = tau.b


def keep_margin(sample, tau):
    """Keep m, from which the next pass starts. A step that was taken is part of the last
    displacement, as m now is.
    """
    if tau.taken and not tau.undone:
        sample.moved[tau.at] = sample.m - sample.before
    sample.before = sample.m
    if tau.changed:
        renew_model(sample, tau)


def pass_on(feature, edges, tau):
    """Use the masters' weights, and pass them on to samples."""
    feature.used = feature.w
    add_to_margins(feature, edges, tau)


def add_to_margins(feature, edges, tau):
    """Add the feature's part to the margins m of its samples where these are made anew, and count
    in `near` how many features of a sample will move.
    """
    if tau.anew and feature.w != 0:
        for edge in edges:
            edge.sample.m += edge.value * feature.w
    if tau.crowd > 0 and feature.active:
        for edge in edges:
            edge.sample.near += 1


def wake(feature, tau):
    """Find, before the first pass, the features that will move first, and the penalty from which on
    none does.
    """
    feature.active = abs(feature.g) > tau.l1
    tau.steepest = max(tau.steepest, abs(feature.g))
