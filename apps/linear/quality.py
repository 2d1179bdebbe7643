"""The quality of a linear model: its objective, and on held-out samples the mean loss, and what
suits the loss: accuracy and area under the ROC curve, log loss, or root mean square error.
"""

from __future__ import annotations

import math

from tux.apps.blockpg.quality import margin
from tux.apps.blockpg.ranking import BINS, area, bin_of
from tux.apps.linear import class_quality
from tux.program.fields import total
from tux.stages import Exchange, GlobalSync
from tux.stages.computed import metric

MEAN_LOSS = {True: "test_logloss", False: "test_loss"}
"""What the mean loss of held-out samples is called, if it is logistic, and else."""
LIKELIHOODS = ("logistic", "softmax")
_OF_CLASSES = ("test_accuracy", "test_auc")
JUDGED = {
    **{name: metric() for name in ("test_loss", "test_logloss", "test_rmse", *_OF_CLASSES)},
    **{name: total() for name in ("tested", "right", "squares", "abs_sum", "square_sum")},
    "judged": total(),
    "ranks": total(2, BINS),
}


def response(sample, edges, tau):
    """Return the prediction for a sample: its margin."""
    return margin(edges, tau)


def losing(loss):
    """Return a UDF that adds up the losses of samples in training."""

    def lose(sample, edges, tau, p):
        value, _ = loss(sample.label, margin(edges, tau), p.epsilon)
        tau.judged += sample.c * value

    return lose


def add_penalty(feature, tau):
    """Add a feature's part to the sums for the penalties."""
    tau.abs_sum += abs(feature.w)
    tau.square_sum += feature.w * feature.w


def set_objective(tau):
    """Set the objective."""
    tau.objective = tau.judged + tau.l1 * tau.abs_sum + tau.l2 / 2 * tau.square_sum


def judging(loss, *, of_classes):
    """Return a UDF that judges the model by a held-out sample: its loss; whether its class is
    found, and its place among all margins; or its error.
    """

    def judge_class(sample, edges, tau, p):
        m = margin(edges, tau)
        value, _ = loss(sample.label, m, p.epsilon)
        tau.judged += value
        tau.tested += 1
        tau.right += (m > 0) == (sample.label > 0)
        tau.ranks[int(sample.label > 0), bin_of(m)] += 1

    def judge_number(sample, edges, tau, p):
        m = margin(edges, tau)
        value, _ = loss(sample.label, m, p.epsilon)
        tau.judged += value
        tau.tested += 1
        tau.squares += (m - sample.label) ** 2

    return judge_class if of_classes else judge_number


def reporting(name, *, of_classes):
    """Return a UDF that sets the means over held-out samples, of the loss called `name`."""

    def report(tau):
        if tau.tested == 0:
            return
        setattr(tau, MEAN_LOSS[name in LIKELIHOODS], tau.judged / tau.tested)
        if not of_classes:
            tau.test_rmse = math.sqrt(tau.squares / tau.tested)
            return
        tau.test_accuracy, tau.test_auc = tau.right / tau.tested, area(tau.ranks)

    return report


def quality_stages(program, loss, *, held_out):
    """Return the stages that measure all this, with the metrics of held-out samples only if there
    are any. L-BFGS knows its objective itself.
    """
    stages = []
    if program.solver != "lbfgs":
        lose, penalty = (
            (class_quality.lose, class_quality.add_penalty)
            if loss.wide
            else (losing(loss.f), add_penalty)
        )
        stages += [Exchange(lose, over="sample"), GlobalSync(set_objective, aggregate=penalty)]
    if held_out:
        narrow = judging(loss.f, of_classes=loss.of_classes)
        judge = class_quality.judge if loss.wide else narrow
        report = reporting(program.loss, of_classes=loss.of_classes)
        stages += [Exchange(judge, over="sample", held_out=True), GlobalSync(report)]
    return stages
