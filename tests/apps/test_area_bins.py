"""The area under the ROC curve from bins, beside that of all pairs."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import tux
from tux.apps.blockpg.ranking import BINS, area, bin_of


def draw(n=2000, seed=0):
    """Draw margins of two classes that overlap, and the classes."""
    rng = np.random.default_rng(seed)
    labels = (rng.uniform(size=n) < 0.2).astype(int)
    return rng.normal(size=n) + labels, labels


def area_of_bins(margins, labels):
    """Return the area of the bins."""
    ranks = np.zeros((2, BINS))
    for margin, label in zip(margins.tolist(), labels.tolist(), strict=True):
        ranks[label, bin_of(margin)] += 1
    return area(ranks)


@pytest.mark.parametrize("scale", [1e-15, 1e-6, 1e-3, 1.0, 1e3, 1e5])
def test_the_area_does_not_follow_the_size_of_margins(scale):
    margins, labels = draw()
    assert area_of_bins(margins * scale, labels) == pytest.approx(
        roc_auc_score(labels, margins), abs=5e-4
    )


def test_bins_are_in_the_order_of_margins():
    sizes = np.geomspace(1e-17, 5e5, 4000)
    margins = np.concatenate([-sizes[::-1], [0.0], sizes])
    bins = np.array([bin_of(margin) for margin in margins.tolist()])
    assert np.all(np.diff(bins) >= 0)
    assert np.unique(bins).size > 5000


@pytest.mark.parametrize(
    "margin, bin", [(math.inf, BINS - 1), (-math.inf, 0), (math.nan, 0), (0.0, BINS // 2)]
)
def test_bins_of_numbers_that_are_none(margin, bin):
    assert bin_of(margin) == bin
    assert bin_of(1e300) == BINS - 1
    assert bin_of(-1e300) == 0
    assert bin_of(1e-300) == BINS // 2
    assert bin_of(-1e-300) == BINS // 2 - 1


@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_a_large_penalty_does_not_hide_the_order(loss):
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(3000, 5)), rng.normal(size=5)
    y = np.where(x @ w + rng.logistic(size=3000) > 2, 1, -1)
    program = tux.Linear(loss=loss, l2=1e7, fit_intercept=loss == "logistic", tol=1e-9)
    run = tux.run(program, (x[:1500], y[:1500]), test=(x[1500:], y[1500:]), progress=False)
    slopes = x[:1500].T @ (y[:1500] - y[:1500].mean())  # the direction of the weights
    if loss == "softmax":
        slopes = x[:1500].T @ y[:1500]
    expected = roc_auc_score(y[1500:], x[1500:] @ slopes)
    assert expected > 0.8
    assert run.history["test_auc"][-1] == pytest.approx(expected, abs=2e-3)
