"""The UDFs of samples that have a score for each class: the loss softmax. An epoch grows a tree for
each class, one after the other, all by the derivatives at the scores before the first of them, as
XGBoost's multi:softprob has it. Trees of the classes take turns: tree t is of class t modulo K.

    loss = -log p_y,    p_k = exp(m_k) / sum_j exp(m_j)

Its second derivative by m_k counts twice, as in XGBoost: p_k (1 - p_k) is the diagonal of a matrix,
and 2 p_k (1 - p_k) bounds how the loss bends where all scores change.

The functions have the names of those in `start.py`, `growing.py` and `quality.py`, which are for
samples with one score.
"""

from __future__ import annotations

import math

import numpy as np

from tux.apps.blockpg.ranking import add_margin, add_rank
from tux.apps.gbdt.growing import LEAST_H
from tux.apps.gbdt.quality import leaf
from tux.apps.gbdt.units import set_units
from tux.apps.linear.softmax import shares


def slopes(own, chance, alpha):
    """Return (g, h) of the loss softmax by the score of a class, by its probability and whether it
    is the sample's own.
    """
    return chance - (1.0 if own else 0.0), max(2 * chance * (1 - chance), LEAST_H)


def loss(y, m, alpha):
    """Return the loss softmax at the scores m (K,), without an overflow."""
    top, both = m[0], 0.0
    for k in range(1, len(m)):
        top = max(top, m[k])
    for k in range(len(m)):
        both += math.exp(m[k] - top)
    return top - m[int(y)] + math.log(both)


def level(mean):
    """Return the score with which all classes begin."""
    return 0.0


def begin_score(sample, tau, p):
    """Set the scores of a sample to the first one, and derive the loss there."""
    for k in range(len(sample.score)):
        sample.score[k] = tau.base
    derive(sample, tau, p)


def climb_trees(first, score, edges, tau):
    """Add to the scores of a sample before the trees from `first` on the leaves of these trees, in
    the order and precision of training.
    """
    for tree in range(first, tau.tree):
        score[tree % len(score)] += float(tau.weight[tree, leaf(tree, edges, tau)])


def recall(sample, edges, tau, p):
    """Begin with the scores by the trees of the model with which the run begins."""
    for k in range(len(sample.score)):
        sample.score[k] = tau.base
    climb_trees(0, sample.score, edges, tau)
    derive(sample, tau, p)


def derive(sample, tau, p):
    """Set the derivatives of a sample's loss at its scores."""
    y = int(sample.label)
    for k in range(len(sample.g)):
        sample.g[k] = sample.score[k]
    shares(sample.g)
    for k in range(len(sample.g)):
        g, h = p.loss.slopes(k == y, sample.g[k], p.quantile)
        h *= tau.copies
        sample.g[k], sample.h[k] = sample.c * g, sample.c * h
        tau.most_g = max(tau.most_g, sample.c * abs(g))
        tau.most_h = max(tau.most_h, sample.c * h)


def quantise(sample, tau):
    """Set the derivatives of the class whose turn it is in whole units."""
    sample.state[0] = math.floor(sample.g[tau.turn] * tau.per_g + 0.5)
    sample.state[1] = math.floor(sample.h[tau.turn] * tau.per_h + 0.5)
    sample.state[2] = 0


def climb(sample, tau):
    """Add the new leaf to a sample's score of the class."""
    sample.score[tau.turn] += float(tau.weight[tau.tree, sample.node])


def take_turns(tau):
    """Finish a tree; the next one is of the next class."""
    tau.tree += 1
    tau.turn += 1


def finish(tau, p):
    """Finish the trees of an epoch."""
    new = tau.feature[tau.tree - tau.turn : tau.tree]
    tau.leaves, tau.trees = tau.turn + np.count_nonzero(new >= 0), tau.tree
    tau.turn = 0
    set_units(tau)


def judge(sample, edges, tau, p):
    """Take a held-out sample through the trees that are new to it, and judge by its scores: its
    loss, and whether its class is found.
    """
    y, best = int(sample.label), 0
    if sample.climbed == 0:
        for k in range(len(sample.score)):
            sample.score[k] = tau.base
    climb_trees(sample.climbed, sample.score, edges, tau)
    sample.climbed = tau.tree
    for k in range(1, len(sample.score)):
        if sample.score[k] > sample.score[best]:
            best = k
    tau.tested += 1
    tau.test_losses += p.loss.value(sample.label, sample.score, p.quantile)
    tau.right += best == y
    if len(sample.score) == 2:
        add_margin(sample.score[1] - sample.score[0], tau)


def place(sample, edges, tau):
    """Count a held-out sample of two classes, which is judged, in the place of the difference of
    its scores.
    """
    add_rank(sample.score[1] - sample.score[0], sample.label, tau)


def probabilities(sample, edges, tau, out):
    """Write the probabilities of the classes into `out`, by scores in single precision and in
    XGBoost's order.
    """
    m = np.full(len(out), tau.base, np.float32)
    for tree in range(tau.tree):
        m[tree % len(m)] += tau.weight[tree, leaf(tree, edges, tau)]
    shares(m)
    for k in range(len(out)):
        out[k] = m[k]
