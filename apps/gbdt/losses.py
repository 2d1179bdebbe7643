"""Losses of a sample of label y at the score m, each with its first and second derivative by m.

    logistic    log(1 + exp(-y m)), y being -1 or +1
    squared     (m - y)^2 / 2, y being any number

and the constant score at which boosting begins: the one of least loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

LEAST_H = 1e-16  # as XGBoost has it


def logistic(y, m):
    """Return (g, h) of the logistic loss, without an overflow."""
    e = math.exp(-abs(m))
    q = 1 / (1 + e)
    return (q if m > 0 else e * q) - (1.0 if y > 0 else 0.0), max(e * q * q, LEAST_H)


def logistic_loss(y, m):
    """Return the logistic loss alone."""
    return math.log1p(math.exp(-abs(m))) - min(y * m, 0.0)


def log_odds(mean):
    """Return the log odds of the second class, by the mean of labels."""
    return math.log((1 + mean) / (1 - mean))


def squared_slopes(y, m):
    """Return (g, h) of the squared loss."""
    return m - y, 1.0


def squared_loss(y, m):
    """Return the squared loss alone."""
    return (m - y) * (m - y) / 2


class Loss(NamedTuple):
    """`slopes` gives (g, h), `value` the loss, and `start` the first score by the mean label.
    `objective` is what XGBoost calls it.
    """

    slopes: Callable[..., tuple[float, float]]
    value: Callable[..., float]
    start: Callable[[float], float]
    of_classes: bool
    objective: str


LOSSES = {
    "logistic": Loss(logistic, logistic_loss, log_odds, True, "binary:logistic"),
    "squared": Loss(squared_slopes, squared_loss, float, False, "reg:squarederror"),
}
