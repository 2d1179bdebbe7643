"""The samples of BlockPG: the quadratic model of a sample's loss, and the margin between passes.

In a pass r_i moves with m_i along its tangent, so steps are coordinate descent on the quadratic
model at the pass's start.

Where labels are numbers, m and the labels are those less the first intercept, the `level`: so
labels far from 0, such as times, keep their digits in sums of losses.

loss_i: see `tux.apps.blockpg.losses`; r_i = d loss_i / d m_i; h_i: its curvature; u_i: that which
steps use
"""

from __future__ import annotations

from tux.apps.blockpg.span import ALL, KEPT
from tux.base.errors import UsageError


def check_positive_weight(program, knows):
    """Raise UsageError for a weight of samples of the second class where the loss of a program has
    none. `knows`: in words, which classes it does not know; "" if it is for two.
    """
    if program.positive_weight != 1 and knows:
        raise UsageError(
            f"positive_weight has no effect with the loss {program.loss}, which knows {knows}",
            do="leave it out",
        )


def check_loss(program, knows):
    """Raise UsageError for parameters that have no effect with the loss of a program. `knows`: see
    `check_positive_weight`.
    """
    check_positive_weight(program, knows)
    if program.loss != "huber" and program.epsilon != program.params["epsilon"].default:
        raise UsageError(
            f"epsilon has no effect with the loss {program.loss}",
            do="leave epsilon out, or choose the loss huber",
        )


def renew_model(sample, tau, p):
    """Compute the model anew from m, and add up the loss."""
    loss, sample.r, sample.h = p.loss.model(sample.label - tau.level, sample.m, sample.c, p.epsilon)
    tau.loss += loss


def set_curvature(sample, tau):
    """Set u: it is h made stiff, has a floor, and is more where many features move."""
    sample.u = (
        max(sample.h, sample.c * tau.floor) * tau.stiff * (1 + tau.crowd * max(0, sample.near - 1))
    )


def weigh_sample(sample, tau, p):
    """Compute the weight of a sample before the first pass, as classes have weights too; add up the
    weights of each class, or labels and weights; find the heaviest sample.
    """
    if p.loss.of_classes:
        sample.c = sample.weight * p.positive_weight if sample.label > 0 else sample.weight
        tau.up += sample.c if sample.label > 0 else 0.0
        tau.down += sample.c if sample.label < 0 else 0.0
    else:
        sample.c = sample.weight
        tau.up += sample.c * sample.label
        tau.down += sample.c
    tau.most = max(tau.most, sample.c)


def measure(sample, tau, p):
    """Add up the loss after a pass, its curvature, without and with its floor, and slopes and
    curvatures along the last displacements of m and along a constant.
    """
    renew_model(sample, tau, p)
    tau.curved += sample.h
    tau.floored += max(sample.h, sample.c * tau.floor)
    sample.moved[tau.at], sample.moved[KEPT] = sample.m - sample.before, p.fit_intercept
    for a in range(ALL):
        tau.slopes[a] += sample.r * sample.moved[a]
        for b in range(a, ALL):
            tau.curves[a, b] += sample.h * sample.moved[a] * sample.moved[b]


def attempt(sample, tau, p):
    """Add up the loss where the search leads, if there is one, and keep the model there."""
    if not tau.searching:
        return
    m = sample.m
    for a in range(ALL):
        m += tau.x[a] * sample.moved[a]
    loss, sample.trial[0], sample.trial[1] = p.loss.model(
        sample.label - tau.level, m, sample.c, p.epsilon
    )
    tau.loss += loss


def follow_weights(sample, tau):
    """Move a sample's m with the weights, or back; where m is made anew, it starts with the
    intercept, less the level of the labels.
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
        sample.m = tau.b - tau.level


def keep_margin(sample, tau, p):
    """Keep m, from which the next pass starts, and its model. A step that was taken is part of the
    last displacement, as m now is.
    """
    if tau.taken and not tau.undone:
        sample.moved[tau.at] = sample.m - sample.before
        sample.r, sample.h = sample.trial[0], sample.trial[1]
    sample.before = sample.m
    if tau.undone or tau.anew:
        renew_model(sample, tau, p)
    if tau.changed:
        set_curvature(sample, tau)


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
