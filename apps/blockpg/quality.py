"""The quality of a sparse linear model: its duality gap, and on held-out samples the mean loss, and
what suits the labels: accuracy and area under the ROC curve, or root mean square error.
"""

from __future__ import annotations

import math

from tux.apps.blockpg.duality import DUAL, gap_stages
from tux.apps.blockpg.ranking import (
    OF_CLASSES,
    RANKED,
    add_margin,
    add_rank,
    area_stages,
    share_places,
)
from tux.program.fields import total
from tux.stages import Exchange, GlobalSync
from tux.stages.computed import metric

_LOSSES = ("test_logloss", "test_loss", "test_rmse")
TESTS = (*_LOSSES, *OF_CLASSES)
JUDGED = {
    **DUAL,
    **{name: metric() for name in _LOSSES},
    **OF_CLASSES,
    **{name: total() for name in ("losses", "right", "square_errors", "tested")},
    **RANKED,
}


def margin(edges, tau):
    """Return x.w + b of a sample that is not in training."""
    m = tau.b
    for edge in edges:
        m += edge.value * edge.feature.w
    return m


def judge(sample, edges, tau, p):
    """Add up a held-out sample's loss, and its error; of classes, whether its class is found."""
    m = margin(edges, tau)
    sample.m = m
    tau.losses += p.loss.model(sample.label, m, 1.0, p.epsilon)[0]
    tau.tested += 1
    if p.loss.of_classes:
        tau.right += (m > 0) == (sample.label > 0)
        add_margin(m - tau.b, tau)
    else:
        tau.square_errors += (m - sample.label) ** 2


def place(sample, edges, tau):
    """Count a held-out sample, which is judged, in the place of its margin."""
    add_rank(sample.m - tau.b, sample.label > 0, tau)


def report(tau, p):
    """Set the means; of classes, make places for margins."""
    if tau.tested == 0:
        return
    setattr(tau, p.loss.mean, tau.losses / tau.tested)
    if p.loss.of_classes:
        tau.test_accuracy = tau.right / tau.tested
        share_places(tau)
    else:
        tau.test_rmse = math.sqrt(tau.square_errors / tau.tested)


def quality_stages(loss, *, held_out):
    """Return the stages that measure all this; held-out samples only if there are any."""
    held = Exchange(judge, over="sample", held_out=True), GlobalSync(report)
    ranked = area_stages(place) if loss.of_classes else ()
    return [*gap_stages(), *((*held, *ranked) if held_out else ())]


def probability(sample, edges, tau):
    """Return the probability that a sample is of the second class."""
    return 1 / (1 + math.exp(min(-margin(edges, tau), 700.0)))  # without an overflow


def response(sample, edges, tau):
    """Return the margin of a sample: the predicted number, or how far it is on which side."""
    return margin(edges, tau)
