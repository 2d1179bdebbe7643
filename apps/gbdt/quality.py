"""The quality of boosted trees: the sum of losses in training; on held-out samples the mean loss,
and what suits the labels: accuracy and area under the ROC curve, or root mean square error.
"""

from __future__ import annotations

import math

from tux.apps.blockpg.ranking import OF_CLASSES, RANKED, add_margin, add_rank, share_places
from tux.apps.gbdt.growing import derive
from tux.apps.gbdt.start import check_labels
from tux.program.fields import total
from tux.stages.computed import metric

JUDGED = {
    "objective": metric("loss", loss=total()),
    **{name: metric() for name in ("test_logloss", "test_loss", "test_rmse")},
    **OF_CLASSES,
    **{name: total() for name in ("tested", "test_losses", "right", "squares")},
    **RANKED,
}


def find_entry(edges, feature):
    """Return the place of a feature's entry among those of a sample, -1 if it has none."""
    for i in range(len(edges)):
        if edges[i].feature.id == feature:
            return i
    return -1


def leaf(tree, edges, tau):
    """Return the node of a tree in which a sample ends."""
    node = 1
    while tau.feature[tree, node] >= 0:
        at = find_entry(edges, tau.feature[tree, node])
        if at < 0:
            left = tau.default_left[tree, node]
        else:
            left = edges[at].value < tau.cut[tree, node]
        node = 2 * node + (0 if left else 1)
    return node


def climb_trees(first, score, edges, tau):
    """Return the score of a sample behind the trees from `first` on, by its score before them, in
    the order and precision of training.
    """
    for tree in range(first, tau.tree):
        score += float(tau.weight[tree, leaf(tree, edges, tau)])
    return score


def recall(sample, edges, tau, p):
    """Begin with the score by the trees of the model with which the run begins."""
    derive(sample, climb_trees(0, tau.base, edges, tau), tau, p)


def response(sample, edges, tau, p):
    """Return what the score of a sample predicts: the probability of the second class, or the
    label.
    """
    return p.loss.response(climb_trees(0, tau.base, edges, tau))


def add_loss(sample, tau, p):
    """Add up the losses of samples in training."""
    tau.loss += sample.c * p.loss.value(sample.label, sample.score, p.quantile)


def judge(sample, edges, tau, p):
    """Take a held-out sample through the trees that are new to it, and judge by its score."""
    before = tau.base if sample.climbed == 0 else sample.score
    sample.score = climb_trees(sample.climbed, before, edges, tau)
    sample.climbed = tau.tree
    tau.tested += 1
    tau.small += sample.label < p.loss.low
    tau.test_losses += p.loss.value(sample.label, sample.score, p.quantile)
    if p.loss.of_classes:
        tau.right += (sample.score > 0) == (sample.label > 0)
        add_margin(sample.score - tau.base, tau)
    else:
        tau.squares += (p.loss.response(sample.score) - sample.label) ** 2


def place(sample, edges, tau):
    """Count a held-out sample, which is judged, in the place of its score."""
    add_rank(sample.score - tau.base, sample.label > 0, tau)


def report(tau, p):
    """Set the means over held-out samples."""
    if tau.tested == 0:
        return
    check_labels(tau, p)
    if p.loss.of_classes:
        tau.test_logloss = tau.test_losses / tau.tested
        tau.test_accuracy = tau.right / tau.tested
        share_places(tau)
    else:
        tau.test_loss = tau.test_losses / tau.tested
        tau.test_rmse = math.sqrt(tau.squares / tau.tested)
