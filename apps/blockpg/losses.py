"""Losses of a sample of label y and weight c at the margin m = x.w + b, each with its slope r and a
curvature h along m, by which steps are made.

    logistic        c log(1 + exp(-y m))                                           h <= c / 4
    squared_hinge   c max(0, 1 - y m)^2                                            h <= 2 c
    squared         c (m - y)^2 / 2                                                h = c
    huber           c (m - y)^2 / 2 where |m - y| <= width, else
                    c width (|m - y| - width / 2)                                  h <= c

y is -1 or +1 in the first two, and any number in the others. h is the second derivative; of huber,
where it is 0, c width / |m - y|, with which the quadratic model is never below the loss (Huber,
Robust Statistics, 1981). The conjugate of a loss at a slope r is the most of r m - loss over all m.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tux.base.log_one_plus import log_one_plus

MAX_DUAL = 1 - 1e-16  # of a dual variable of the logistic loss, which is below 1


def logistic_model(y, m, c, width):
    """Return (loss, slope, curvature) of the logistic loss, without an overflow."""
    z = y * m
    e = math.exp(-abs(z))
    q = 1 / (1 + e)
    slope = -y * c * (e * q if z > 0 else q)
    return c * (log_one_plus(e) - min(z, 0.0)), slope, c * e * q * q


def logistic_slope(y, m, c, width):
    """Return the slope of the logistic loss alone."""
    return -y * c / (1 + math.exp(min(y * m, 700.0)))


def logistic_conjugate(y, r, c, width):
    """Return the conjugate of the logistic loss at a slope between 0 and -c y."""
    a = min(max(abs(r) / c, 1e-300), MAX_DUAL)
    return c * (a * math.log(a) + (1 - a) * math.log1p(-a))


def hinge_model(y, m, c, width):
    """Return (loss, slope, curvature) of the squared hinge loss."""
    z = max(0.0, 1 - y * m)
    return c * z * z, -2 * y * c * z, 2 * c if z > 0 else 0.0


def hinge_slope(y, m, c, width):
    """Return the slope of the squared hinge loss alone."""
    return -2 * y * c * max(0.0, 1 - y * m)


def hinge_conjugate(y, r, c, width):
    """Return the conjugate of the squared hinge loss at a slope of the sign of -y."""
    return r * r / (4 * c) - abs(r)


def squared_model(y, m, c, width):
    """Return (loss, slope, curvature) of the squared loss."""
    e = m - y
    return c * e * e / 2, c * e, c


def squared_slope(y, m, c, width):
    """Return the slope of the squared loss alone."""
    return c * (m - y)


def squared_conjugate(y, r, c, width):
    """Return the conjugate of the squared loss; of huber too, whose slopes are bounded by c
    width.
    """
    return r * r / (2 * c) + r * y


def huber_model(y, m, c, width):
    """Return (loss, slope, curvature) of the Huber loss."""
    e = m - y
    far = max(1.0, abs(e) / width)
    loss = c * e * e / 2 if far == 1 else c * width * (abs(e) - width / 2)
    return loss, c * e / far, c / far


def huber_slope(y, m, c, width):
    """Return the slope of the Huber loss alone."""
    return c * min(max(m - y, -width), width)


def log_odds(up, down):
    """Return the logarithm of the odds of the classes, by their weights; 0 if there is but one."""
    return np.log(up / down) if up > 0 and down > 0 else 0.0


def mean_label(total, weight):
    """Return the mean label, by the sum of labels and that of the weights."""
    return total / weight if weight > 0 else 0.0


def mean_class(up, down):
    """Return the mean class, -1 or +1, by their weights: the best constant of squared_hinge."""
    return (up - down) / (up + down) if up + down > 0 else 0.0


class SparseLoss(NamedTuple):
    """A loss: ``model(y, m, c, width)`` is (loss, slope, curvature), and ``slope(y, m, c, width)``
    the slope alone; ``conjugate(y, r, c, width)`` is as above. `start`: the intercept at w = 0, by
    the weights of both classes, or by the sums of labels and of weights. `bend`: the most curvature
    of a sample that weighs 1. `of_classes`: labels are classes, and not any numbers. `mean`: what
    the mean loss of held-out samples is called.
    """

    model: Callable[..., tuple[float, float, float]]
    slope: Callable[..., float]
    conjugate: Callable[..., float]
    start: Callable[[float, float], float]
    bend: float
    of_classes: bool
    mean: str = "test_loss"


LOSSES = {
    "logistic": SparseLoss(
        logistic_model,
        logistic_slope,
        logistic_conjugate,
        log_odds,
        0.25,
        of_classes=True,
        mean="test_logloss",
    ),
    "squared": SparseLoss(squared_model, squared_slope, squared_conjugate, mean_label, 1.0, False),
    "huber": SparseLoss(huber_model, huber_slope, squared_conjugate, mean_label, 1.0, False),
    "squared_hinge": SparseLoss(hinge_model, hinge_slope, hinge_conjugate, mean_class, 2.0, True),
}
