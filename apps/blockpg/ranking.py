"""The area under the ROC curve, from how many samples of each class have margins in each bin."""

from __future__ import annotations

import math

import numpy as np

from tux.stages.computed import metric

BINS = 4096  # pairs within a bin count one half
OF_CLASSES = {name: metric(rises=True) for name in ("test_accuracy", "test_auc")}
"""Metrics of held-out samples of two classes, of which larger is better."""


def bin_of(m):
    """Return the bin of a margin m, squashed to m / (1 + |m|)."""
    return min(int((m / (1 + abs(m)) + 1) * (BINS // 2)), BINS - 1)


def area(ranks):
    """Return the share of pairs of either class that are in the right order, by the samples of each
    class in each bin, (2, BINS); NaN if there is but one class.
    """
    low, high = np.array(ranks)
    if not low.sum() or not high.sum():
        return math.nan
    return float(high @ (np.cumsum(low) - low / 2) / (low.sum() * high.sum()))
