"""The area under the ROC curve from bins, beside that of all pairs."""

import math
from types import SimpleNamespace as Row

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import tux
from tux.apps.blockpg.ranking import (
    BINS,
    RANKED,
    add_margin,
    add_rank,
    area,
    find_in_bins,
    share_places,
)


def draw(n=2000, seed=0):
    """Draw margins of two classes that overlap, and the classes."""
    rng = np.random.default_rng(seed)
    labels = (rng.uniform(size=n) < 0.2).astype(int)
    return rng.normal(size=n) + labels, labels


def area_of_places(margins, labels):
    """Return the area by the places of margins."""
    tau = Row(**{name: np.zeros(field.shape, field.dtype) for name, field in RANKED.items()})
    for margin in margins.tolist():
        add_margin(margin, tau)
    share_places(tau)
    for margin, label in zip(margins.tolist(), labels.tolist(), strict=True):
        add_rank(margin, label, tau)
    return area(tau.ranks)


def bin_of(margin):
    return int(find_in_bins(margin))


@pytest.mark.parametrize("scale", [1e-15, 1e-6, 1e-3, 1.0, 1e3, 1e5])
def test_the_area_does_not_follow_the_size_of_margins(scale):
    margins, labels = draw()
    assert area_of_places(margins * scale, labels) == pytest.approx(
        roc_auc_score(labels, margins), abs=2e-5
    )


@pytest.mark.parametrize("spread", [0.1, 1e-2, 1e-3, 1e-4])
@pytest.mark.parametrize("groups", [[-3.0], [-3.0, 2.1], [-3.0, 0.0, 1e-9, 5.0]])
def test_margins_far_from_the_intercept_and_near_each_other(groups, spread):
    margins, labels = draw()
    margins = np.resize(groups, len(margins)) + spread * margins
    assert area_of_places(margins, labels) == pytest.approx(
        roc_auc_score(labels, margins), abs=5e-4
    )


def test_equal_margins_count_one_half_and_others_one():
    margins, labels = np.array([5.0, 5.0, 5.0, 5.1, 4.9]), np.array([0, 1, 1, 1, 0])
    assert area_of_places(margins, labels) == pytest.approx(roc_auc_score(labels, margins))
    assert math.isnan(area_of_places(margins, np.ones(5, int)))


def test_bins_are_in_the_order_of_margins():
    sizes = np.geomspace(1e-17, 5e5, 4000)
    margins = np.concatenate([-sizes[::-1], [0.0], sizes])
    bins = np.array([bin_of(margin) for margin in margins.tolist()])
    assert np.all(np.diff(bins) >= 0)
    assert np.unique(bins).size > 5000
    assert np.all(np.diff([find_in_bins(margin) for margin in margins.tolist()]) >= 0)


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


PROGRAMS = {
    "linear": tux.Linear(),
    "softmax": tux.Linear(loss="softmax"),
    "blockpg": tux.BlockPG(),
    "gbdt": tux.GBDT(),
    "gbdt of classes": tux.GBDT(loss="softmax"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_sample_counts_once_however_many_entries_it_has(name):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < rng.uniform(0.1, 1, (300, 1)))
    y = np.where(x.sum(1) + rng.logistic(size=300) > 0, 1, -1)
    data, test = (x[:150], y[:150]), (x[150:], y[150:])
    epochs = 1 if "gbdt" in name else 3  # trees are kept up to the best number
    run = tux.run(PROGRAMS[name], data, test=test, epochs=epochs, progress=False)
    found = run.predict(x[150:])
    expected = roc_auc_score(y[150:], found if found.ndim == 1 else found[:, 1])
    assert run.history["test_auc"][-1] == pytest.approx(expected, abs=1e-3)
