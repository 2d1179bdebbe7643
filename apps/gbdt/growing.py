"""A tree, level by level: derivatives of the loss as whole numbers, sums of nodes, weights of
leaves

    weight = - rate G / (H + l2)

and the samples' new scores.
"""

from __future__ import annotations

import math

import numpy as np

from tux.apps.gbdt.units import set_units

SMALLEST_GAIN = 1e-6  # as XGBoost has it
LEAST_H = 1e-16  # of a sample, as XGBoost has it


def quantise(sample, tau):
    """Set the derivatives in whole units."""
    sample.state[0] = math.floor(sample.g * tau.per_g + 0.5)
    sample.state[1] = math.floor(sample.h * tau.per_h + 0.5)
    sample.state[2] = 0


def leave_out(sample, rng, p):
    """Leave a sample that is not drawn out of the sums; it goes through the tree all the same."""
    if rng.uniform() >= p.subsample:
        sample.state[0] = 0
        sample.state[1] = 0


def draw(feature, tau, rng, p):
    """Make a feature that is not drawn rest."""
    if rng.uniform() >= p.colsample_bytree:
        feature.rests = tau.tree + 1


def gather(sample, tau):
    """Add up the sums of the root."""
    tau.all_g += int(sample.state[0])
    tau.all_h += int(sample.state[1])


def plant_tree(tau, p):
    """Begin a tree of one node."""
    tau.nodes, tau.grown = 1, False
    tau.sums[0, 0], tau.sums[1, 0] = tau.all_g, tau.all_h
    tau.least_h = max(1, math.ceil(p.min_child_weight * tau.per_h))
    tau.least_gain = max(p.min_gain, SMALLEST_GAIN)
    weigh_nodes(tau, p)


def weigh_nodes(tau, p):
    """Compute the weights that the nodes of a new level have as leaves, and which of them may be
    split.
    """
    n, t = tau.nodes, tau.tree
    sums = tau.sums[:, :n]
    g, h = sums[0] * tau.unit_g, sums[1] * tau.unit_h
    steps = g / np.where(sums[1] > 0, h + p.l2, np.inf)
    tau.fit[:n] = g * steps
    bounded = p.rule.bound(steps, tau, p)
    if bounded is not None:
        steps = bounded
        tau.fit[:n] = steps * (2 * g - steps * (h + p.l2))
    tau.open[:n] = sums[1] >= 2 * tau.least_h
    tau.weight[t, n : 2 * n], tau.cover[t, n : 2 * n] = -p.learning_rate * steps, h


def divide(tau, p):
    """Make the splits part of the tree, and their children the nodes of the next level."""
    n = tau.nodes
    split, left = tau.feature_of[:n] >= 0, tau.left[:n]
    tau.cut[tau.tree, n : 2 * n] = np.where(split, cuts_between(tau.low[:n], tau.high[:n]), 0)
    sums, gone = tau.sums, tau.moved[:, :n]
    kept = sums[:, :n] - gone
    sums[:, : 2 * n : 2] = np.where(split, np.where(left, kept, gone), 0)
    sums[:, 1 : 2 * n : 2] = np.where(split, np.where(left, gone, kept), 0)
    tau.nodes = 2 * n
    weigh_nodes(tau, p)
    tau.grown = bool(2 * n == 2**p.max_depth or not split.any())


def cuts_between(low, high):
    """Return the cuts: values below go left. They are numbers of 32 bits, which other programs
    read, where one lies between. Where one side has no values, all that are there go to the other.
    """
    largest = float(np.finfo(np.float32).max)
    low, high = np.maximum(low, -largest), np.minimum(high, largest)
    cut = middle(low.astype(np.float32), high.astype(np.float32)).astype(np.float64)
    cut = np.where((cut > low) & (cut <= high), cut, middle(low, high))
    return np.where(high == largest, largest, np.where(low == -largest, -largest, cut))


def middle(low, high):
    """Return the middle of each two values, or the upper one where it rounds to the lower."""
    half = low / 2 + high / 2
    return np.where(half > low, half, high)


def is_grown(tau):
    """Return whether the tree is whole."""
    return bool(tau.grown)


def follow(sample, tau):
    """Set the place of the sample's node among those of the level; behind the last if it is a leaf
    above.
    """
    if tau.nodes > 1:
        at = sample.node - tau.nodes
        sample.state[2] = at if at >= 0 else tau.nodes


def climb(sample, tau, p):
    """Add the new leaf to a sample's score, and derive the loss there."""
    derive(sample, sample.score + float(tau.weight[tau.tree, sample.node]), tau, p)


def derive(sample, score, tau, p):
    """Set the score of a sample and the derivatives of its loss there."""
    g, h = p.loss.slopes(sample.label, score, p.quantile)
    h *= tau.copies
    sample.score, sample.g, sample.h = score, sample.c * g, sample.c * h
    tau.most_g = max(tau.most_g, sample.c * abs(g))
    tau.most_h = max(tau.most_h, sample.c * h)


def finish(tau, p):
    """Finish the tree."""
    t = tau.tree
    tau.leaves = 1 + np.count_nonzero(tau.feature[t] >= 0)
    tau.tree = tau.trees = t + 1
    set_units(tau)
