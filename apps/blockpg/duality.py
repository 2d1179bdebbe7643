"""The duality gap of a sparse linear model, and its objective, made anew.

The dual point of sample i is t r_i, t being the largest share at which no feature's slope exceeds
l1; with an intercept, slopes of the sign that has more are scaled down first, so that they sum to
0. Gap = F + sum_i conjugate_i(t r_i) + the conjugate of l2, where slopes may exceed l1 (Koh, Kim
and Boyd, JMLR 2007, for the logistic loss). Margins and F are made anew from w, so that the
objective that is reported, and the gap, carry no drift of the margins that training updates.
"""

from __future__ import annotations

import numpy as np

from tux.program.fields import total, value
from tux.stages import Apply, Exchange, ForEach, GlobalSync
from tux.stages.computed import metric

DUAL = {
    "duality_gap": metric(),
    **{name: value("f8") for name in ("share_up", "share_down", "scale")},
    **{name: total() for name in ("up", "down", "dual", "excess")},
    "worst": total(combine="max"),
}


def start(sample, tau):
    """Begin a sample's margin with the intercept; `dual` holds it until the slope takes its
    place.
    """
    sample.dual = tau.b - tau.level


def add(feature, edges):
    """Add a feature's part to the margins."""
    if feature.w != 0:
        for edge in edges:
            edge.sample.dual += edge.value * feature.w


def compute_exact(sample, tau, p):
    """Add up the loss, and compute r in double precision, with its sums by sign."""
    m = sample.dual
    y = sample.label - tau.level
    tau.loss += p.loss.model(y, m, sample.c, p.epsilon)[0]
    sample.dual = p.loss.slope(y, m, sample.c, p.epsilon)
    tau.up += max(sample.dual, 0.0)
    tau.down += max(-sample.dual, 0.0)


def set_shares(tau, p):
    """Set the shares of the slopes of either sign at which they sum to 0, with an intercept."""
    tau.objective, tau.share_up, tau.share_down = tau.loss, 1.0, 1.0
    if p.fit_intercept and tau.up > 0 and tau.down > 0:
        tau.share_up, tau.share_down = min(1.0, tau.down / tau.up), min(1.0, tau.up / tau.down)


def balance_dual(sample, tau):
    """Scale a sample's dual variable by the share of its sign."""
    sample.dual *= tau.share_up if sample.dual > 0 else tau.share_down


def slope(feature, edges):
    """Add up the slope along a feature."""
    for edge in edges:
        feature.g += edge.value * edge.sample.dual


def add_excess(feature, tau, p):
    """Add up by how much slopes exceed l1, and the feature's part of the penalties."""
    tau.absolute += abs(feature.w)
    tau.square += feature.w * feature.w
    tau.worst = max(tau.worst, abs(feature.g))
    tau.excess += max(0.0, abs(feature.g) - tau.l1) ** 2


def set_scale(tau, p):
    """Finish F, and set the share t; with l2 it is 1, as the l2 penalty takes the excess."""
    tau.objective += tau.l1 * tau.absolute + p.l2 / 2 * tau.square
    tau.scale = 1.0 if p.l2 > 0 or tau.worst <= tau.l1 else tau.l1 / tau.worst
    tau.duality_gap = tau.excess / (2 * p.l2) if p.l2 > 0 else 0.0


def add_dual(sample, tau, p):
    """Add a sample's part to the dual objective."""
    if sample.c > 0:
        r = tau.scale * sample.dual
        tau.dual -= p.loss.conjugate(sample.label - tau.level, r, sample.c, p.epsilon)


def set_gap(tau, p):
    """Set the gap, which rounding does not make negative; none is known without a penalty."""
    gap = max(tau.objective - tau.dual + tau.duality_gap, 0.0)
    tau.duality_gap = gap if tau.l1 > 0 or p.l2 > 0 else np.nan


def gap_stages():
    """Return the stages that compute the objective and the gap."""
    return [
        ForEach("sample", start),
        Exchange(add, additive=True),
        ForEach("sample", compute_exact),
        GlobalSync(set_shares),
        ForEach("sample", balance_dual),
        Exchange(slope, additive=True),
        Apply("feature", add_excess),
        GlobalSync(set_scale),
        ForEach("sample", add_dual),
        GlobalSync(set_gap),
    ]
