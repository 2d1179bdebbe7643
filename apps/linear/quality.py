"""The quality of a linear model: its objective, and on held-out samples the mean loss, and what
suits the loss: accuracy and area under the ROC curve, log loss, or root mean square error.
"""

from __future__ import annotations

import math

from tux.apps.blockpg.quality import margin, place
from tux.apps.blockpg.ranking import OF_CLASSES, RANKED, add_margin, area_stages, share_places
from tux.apps.linear import class_quality
from tux.apps.linear.widths import weight_shape
from tux.apps.linear.wolfe import SEARCHING
from tux.program.fields import total
from tux.stages import Exchange, GlobalSync
from tux.stages.computed import metric

MEAN_LOSS = {True: "test_logloss", False: "test_loss"}
"""What the mean loss of held-out samples is called, if it is a likelihood, and else."""
JUDGED = {
    **{name: metric() for name in ("test_loss", "test_logloss", "test_rmse")},
    **OF_CLASSES,
    **{name: total() for name in ("tested", "right", "squares", "abs_sum", "square_sum")},
    "judged": total(),
    **RANKED,
}


def response(sample, edges, tau):
    """Return the prediction for a sample: its margin."""
    return margin(edges, tau)


def lose(sample, edges, tau, p):
    """Add up the losses of samples in training."""
    value, _ = p.loss.f(sample.label, margin(edges, tau), p.epsilon)
    tau.judged += sample.c * value


def add_penalty(feature, tau):
    """Add a feature's part to the sums for the penalties."""
    tau.abs_sum += abs(feature.w)
    tau.square_sum += feature.w * feature.w


def set_objective(tau):
    """Set the objective."""
    tau.objective = tau.judged + tau.l1 * tau.abs_sum + tau.l2 / 2 * tau.square_sum


def judge_class(sample, edges, tau, p):
    """Judge the model by a held-out sample: its loss, and whether its class is found."""
    m = judge_loss(sample, edges, tau, p)
    tau.right += (m > 0) == (sample.label > 0)
    sample.m = m
    add_margin(m - tau.b, tau)


def judge_number(sample, edges, tau, p):
    """Judge the model by a held-out sample: its loss and its error."""
    m = judge_loss(sample, edges, tau, p)
    tau.squares += (m - sample.label) ** 2


def judge_loss(sample, edges, tau, p):
    """Add up the loss of a held-out sample; return its margin."""
    m = margin(edges, tau)
    value, _ = p.loss.f(sample.label, m, p.epsilon)
    tau.judged += value
    tau.tested += 1
    return m


def report(tau, p):
    """Set the means over held-out samples."""
    if tau.tested == 0:
        return
    setattr(tau, MEAN_LOSS[p.loss.likely], tau.judged / tau.tested)
    if p.loss.of_classes:
        tau.test_accuracy = tau.right / tau.tested
        share_places(tau)
    else:
        tau.test_rmse = math.sqrt(tau.squares / tau.tested)


def quality_stages(program, loss, *, held_out):
    """Return the stages that measure all this, with the metrics of held-out samples only if there
    are any. Solvers that search along a line know their objective.
    """
    of, narrow = loss.wide and class_quality, judge_class if loss.of_classes else judge_number
    stages = []
    if program.solver not in SEARCHING:
        lost, penalty = (of.lose, of.add_penalty) if of else (lose, add_penalty)
        stages += [Exchange(lost, over="sample"), GlobalSync(set_objective, aggregate=penalty)]
    if held_out:
        judge = of.judge if of else narrow
        stages += [Exchange(judge, over="sample", held_out=True), GlobalSync(report)]
        if loss.of_classes and weight_shape(program) in ((), (2,)):
            stages += area_stages(of.place if of else place)
    return stages
