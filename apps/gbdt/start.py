"""Boosted trees before the first one: weights of samples, and the score at which all begin."""

from __future__ import annotations

import numpy as np

from tux.base.errors import DataError


def count(sample, tau, p):
    """The sums of weights and labels."""
    c = sample.weight * p.positive_weight if sample.label > 0 else sample.weight
    tau.weights += c
    tau.labels += c * sample.label


def beginning(loss):
    """The first score: the constant of least loss, as XGBoost computes it."""

    def begin(tau):
        if not tau.weights > 0:
            raise DataError("the weights of the samples add up to 0", do="give some of them weight")
        mean = tau.labels / tau.weights
        if loss.of_classes and abs(mean) >= 1:
            raise DataError(
                "all samples that have a weight are of one class",
                do="give samples of both; for labels that are numbers, --loss squared",
            )
        tau.base = float(np.float32(loss.start(mean)))

    return begin


def starting(loss):
    """A UDF: all scores are the same."""
    slopes = loss.slopes

    def start(sample, tau, p):
        sample.c = sample.weight
        if p.positive_weight != 1 and sample.label > 0:
            sample.c = sample.weight * p.positive_weight
        sample.score = tau.base
        g, h = slopes(sample.label, tau.base)
        sample.g, sample.h = sample.c * g, sample.c * h
        tau.most_g = max(tau.most_g, sample.c * abs(g))
        tau.most_h = max(tau.most_h, sample.c * h)

    return start
