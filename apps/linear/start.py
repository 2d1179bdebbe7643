"""Linear models before the first epoch: weights of samples, and what parameters mean."""

from __future__ import annotations

import math

from tux.apps.linear import softmax
from tux.apps.linear.batches import samples_in, sizes
from tux.apps.linear.widths import set_fields


def weigh(sample, tau, p):
    """Set the weight of a sample, as classes have weights too; add up weights and labels."""
    tau.samples += 1
    sample.c = sample.weight * p.positive_weight if sample.label > 0 else sample.weight
    sample.along = 0.0
    tau.weights += sample.c
    tau.labels += sample.c * sample.label


def centre(sample, tau):
    """Begin the margin with the intercept."""
    sample.m = tau.b


def first_intercept(loss, labels, weights):
    """Return an intercept that suits samples of these sums of labels and weights, where there are
    no weights of features.
    """
    if loss.wide:
        return softmax.first_intercepts(labels)
    mean = labels / weights
    if loss.likely and abs(mean) < 1:
        return math.log((1 + mean) / (1 - mean))
    return 0.0 if loss.of_classes else mean


def begin(tau, p):
    """Set all that follows from the parameters and the labels."""
    if p.fit_intercept and tau.weights > 0:
        set_fields(tau, b=first_intercept(p.loss, tau.labels, tau.weights))
    set_constants(tau, p)


def set_constants(tau, p):
    """Set what follows from the parameters and the number of samples."""
    tau.size = tau.samples
    tau.l1, tau.l2 = p.l1 * p.penalty.l1, p.l2 * p.penalty.l2
    tau.bend = p.loss.bend
    tau.batch = max(1.0, samples_in(sizes(p.batch_size, p.solver.batch), tau.samples))
    tau.portion = 1 / tau.batch
