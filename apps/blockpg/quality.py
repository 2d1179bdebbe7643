"""The quality of a sparse logistic regression: its duality gap, and on held-out samples log loss,
accuracy and area under the ROC curve.

The dual point of sample i is a_i = t |r_i| / c_i, t being the largest share at which no feature's
slope exceeds l1; with an intercept, slopes of the heavier class are scaled down first, so that they
sum to 0. Gap = F + sum_i c_i (a ln a + (1 - a) ln(1 - a)) + the conjugate of l2, where slopes may
exceed l1 (Koh, Kim and Boyd, JMLR 2007). Margins and F are made anew from w, so that the objective
that is reported, and the gap, carry no drift of the margins that training updates.
"""

from __future__ import annotations

import math

import numpy as np

from tux.apps.blockpg.ranking import BINS, area, bin_of
from tux.program.fields import total, value
from tux.stages import Apply, Exchange, ForEach, GlobalSync
from tux.stages.computed import metric

MAX_DUAL = 1 - 1e-16  # of a dual variable, which is below 1
_TESTS = ("test_logloss", "test_accuracy", "test_auc")
JUDGED = {name: metric() for name in ("duality_gap", *_TESTS)} | {
    name: value("f8") for name in ("share_up", "share_down", "scale")
}
JUDGED |= {
    name: total() for name in ("up", "down", "dual", "excess", "test_loss", "right", "tested")
}
JUDGED |= {"worst": total(combine="max"), "ranks": total(2, BINS)}


def start(sample, tau):
    """Begin a sample's margin with the intercept; `dual` holds it until the slope takes its
    place.
    """
    sample.dual = tau.b


def add(feature, edges):
    """Add a feature's part to the margins."""
    if feature.w != 0:
        for edge in edges:
            edge.sample.dual += edge.value * feature.w


def compute_exact(sample, tau):
    """Add up the loss, and compute r in double precision, with its sums by sign."""
    z = sample.label * sample.dual
    tau.loss += sample.c * (math.log1p(math.exp(-abs(z))) - min(z, 0.0))
    sample.dual = -sample.label * sample.c / (1 + math.exp(min(z, 700.0)))
    tau.up += max(sample.dual, 0.0)
    tau.down += max(-sample.dual, 0.0)


def set_shares(tau, p):
    """Set the shares of the slopes of either sign at which they sum to 0, with an intercept."""
    tau.objective, tau.share_up, tau.share_down = tau.loss, 1.0, 1.0
    if p.fit_intercept and tau.up > 0 and tau.down > 0:
        tau.share_up, tau.share_down = min(1.0, tau.down / tau.up), min(1.0, tau.up / tau.down)


def balance_dual(sample, tau):
    """Scale a sample's dual variable by the share of its class."""
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


def add_dual(sample, tau):
    """Add a sample's part to the dual objective."""
    if sample.c > 0:
        a = min(max(tau.scale * abs(sample.dual) / sample.c, 1e-300), MAX_DUAL)
        tau.dual -= sample.c * (a * math.log(a) + (1 - a) * math.log1p(-a))


def set_gap(tau, p):
    """Set the gap; none is known without a penalty."""
    tau.duality_gap = (
        tau.objective - tau.dual + tau.duality_gap if tau.l1 > 0 or p.l2 > 0 else np.nan
    )


def margin(edges, tau):
    """Return x.w + b of a sample that is not in training."""
    m = tau.b
    for edge in edges:
        m += edge.value * edge.feature.w
    return m


def judge(sample, edges, tau):
    """Add up a held-out sample's loss, whether its class is found, and its margin's place."""
    m = margin(edges, tau)
    z = m * sample.label
    tau.test_loss += math.log1p(math.exp(-abs(z))) - min(z, 0.0)
    tau.right += (m > 0) == (sample.label > 0)
    tau.tested += 1
    tau.ranks[int(sample.label > 0), bin_of(m)] += 1


def report(tau):
    """Set the means, and the area: the share of pairs of either class in the right order."""
    if tau.tested == 0:
        return
    tau.test_logloss, tau.test_accuracy = tau.test_loss / tau.tested, tau.right / tau.tested
    tau.test_auc = area(tau.ranks)


def quality_stages(held_out):
    """Return the stages that measure all this; held-out samples only if there are any."""
    held = Exchange(judge, over="sample", held_out=True), GlobalSync(report)
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
        *(held if held_out else ()),
    ]


def probability(sample, edges, tau):
    """Return the probability that a sample is of the second class."""
    return 1 / (1 + math.exp(min(-margin(edges, tau), 700.0)))  # without an overflow
