"""The area under the ROC curve, from how many samples of each class have margins in each bin."""

from __future__ import annotations

import math

import numpy as np

from tux.stages.computed import metric

STEPS = 64  # bins between two powers of two
LOWEST = -60  # smaller sizes than 2^LOWEST share a bin
BINADES = 80  # powers of two with bins, from the lowest
BINS = 2 * BINADES * STEPS  # pairs within a bin count one half
OF_CLASSES = {name: metric(rises=True) for name in ("test_accuracy", "test_auc")}
"""Metrics of held-out samples of two classes, of which larger is better."""


def bin_of(x):
    """Return the bin of how far a margin lies from the intercept: by its sign and size, within a
    64th. So small differences and large ones have bins, as with a large penalty or a small rate.
    """
    if not abs(x) < np.inf:
        return BINS - 1 if x > 0 else 0
    share, power = math.frexp(abs(x))  # the share is at least one half, or 0
    at = (power - LOWEST) * STEPS + int(max(2 * share - 1, 0.0) * STEPS)
    at = min(max(at, 0), BINS // 2 - 1) if share > 0 else 0
    return BINS // 2 + at if x >= 0 else BINS // 2 - 1 - at


def area(ranks):
    """Return the share of pairs of either class that are in the right order, by the samples of each
    class in each bin, (2, BINS); NaN if there is but one class.
    """
    low, high = np.array(ranks)
    if not low.sum() or not high.sum():
        return math.nan
    return float(high @ (np.cumsum(low) - low / 2) / (low.sum() * high.sum()))
