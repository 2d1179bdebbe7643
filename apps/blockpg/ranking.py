"""The area under the ROC curve, from how many samples of each class have margins in each place.

Margins are looked at twice. First they are counted in bins by their distance from the intercept.
Then each bin is divided into the more places the more of all margins it has, and the samples of
each class are counted in these. So most pairs lie in different places, where all margins lie near
each other and far from the intercept, too.
"""

from __future__ import annotations

import math

import numpy as np

from tux.program.fields import total, value
from tux.stages import Exchange, GlobalSync
from tux.stages.computed import metric

STEPS = 64  # bins between two powers of two
LOWEST = -60  # smaller sizes than 2^LOWEST share a bin
BINADES = 80  # powers of two with bins, from the lowest
BINS = 2 * BINADES * STEPS
ROUNDED = 2.0**-20  # by so much of a bin the end of a bin may be wrong
SHARED_PLACES = 16_384  # that bins get beside one each; pairs within a place count one half
OF_CLASSES = {name: metric(rises=True) for name in ("test_accuracy", "test_auc")}
"""Metrics of held-out samples of two classes, of which larger is better."""
RANKED = {
    "margins": total(BINS),
    "places": value("i4", BINS + 1, kept=False),
    "ranks": total(2, BINS + SHARED_PLACES),
}
"""Held-out margins in each bin, the first place of each bin, and the samples of each class in each
place.
"""


def find_in_bins(x):
    """Return how far from the first bin a margin lies, in bins, by its distance from the intercept:
    by its sign and size. So small differences and large ones have bins, as with a large penalty or
    a small rate.
    """
    if not abs(x) < np.inf:
        return BINS - 0.5 if x > 0 else 0.5
    share, power = math.frexp(abs(x))  # the share is at least one half, or 0
    at = (power - LOWEST + max(2 * share - 1, 0.0)) * STEPS if share > 0 else 0.0
    at = min(max(at, 0.0), BINS // 2 - ROUNDED)
    return BINS // 2 + at if x >= 0 else BINS // 2 - ROUNDED - at


def add_margin(x, tau):
    """Count a margin in its bin."""
    tau.margins[int(find_in_bins(x))] += 1


def share_places(tau):
    """Divide the bins into places."""
    number = 1 + tau.margins * SHARED_PLACES // max(tau.margins.sum(), 1)
    tau.places[0], tau.places[1:] = 0, np.cumsum(number)


def add_rank(x, is_second, tau):
    """Count a sample of one of the classes in the place of its margin."""
    at = find_in_bins(x)
    first, end = tau.places[int(at)], tau.places[int(at) + 1]
    tau.ranks[int(is_second), first + int((at - int(at)) * (end - first))] += 1


def area(ranks):
    """Return the share of pairs of either class that are in the right order, by the samples of each
    class in each place, (2, places); NaN if there is but one class.
    """
    low, high = np.array(ranks)
    if not low.sum() or not high.sum():
        return math.nan
    return float(high @ (np.cumsum(low) - low / 2) / (low.sum() * high.sum()))


def set_area(tau):
    """Set the area under the curve."""
    if tau.ranks.any():
        tau.test_auc = area(tau.ranks)


def area_stages(place):
    """Return the stages that compute the area, behind `share_places`; `place` counts a sample."""
    return [Exchange(place, over="sample", held_out=True), GlobalSync(set_area)]
