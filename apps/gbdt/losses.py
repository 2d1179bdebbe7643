"""Losses of a sample of label y at the score m, each with its first and second derivative by m.

    logistic    log(1 + exp(-y m)), y being -1 or +1
    squared     (m - y)^2 / 2, y being any number
    softmax     -log p_y, y being the number of a class of K, of which each has a score:
                p_k = exp(m_k) / sum_j exp(m_j)

and the constant score at which boosting begins: the one of least loss; of softmax 0 for all
classes. The second derivative of softmax by m_k counts twice, as XGBoost has it: p_k (1 - p_k) is
the diagonal of a matrix, and 2 p_k (1 - p_k) bounds how the loss bends where all scores change.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tux.base.errors import DataError

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
    """Return the log odds of the second class, by the mean of labels. DataError if all are of one
    class.
    """
    if abs(mean) >= 1:
        raise DataError(
            "the samples of one class have all the weight",
            do="give samples of both; for labels that are numbers, --loss squared",
        )
    return math.log((1 + mean) / (1 - mean))


def logistic_chance(m):
    """Return the probability of the second class, without an overflow."""
    return 1 / (1 + math.exp(min(-m, 700.0)))


def squared_slopes(y, m):
    """Return (g, h) of the squared loss."""
    return m - y, 1.0


def squared_loss(y, m):
    """Return the squared loss alone."""
    return (m - y) * (m - y) / 2


def same(m):
    """Return the score itself."""
    return m


def softmax(own, chance):
    """Return (g, h) of the loss softmax by the score of a class, by its probability and whether it
    is the sample's own.
    """
    return chance - (1.0 if own else 0.0), max(2 * chance * (1 - chance), LEAST_H)


def softmax_loss(y, m):
    """Return the loss softmax at the scores m (K,), without an overflow."""
    top, both = m[0], 0.0
    for k in range(1, len(m)):
        top = max(top, m[k])
    for k in range(len(m)):
        both += math.exp(m[k] - top)
    return top - m[int(y)] + math.log(both)


def level(mean):
    """Return the score with which all classes begin."""
    return 0.0


class Loss(NamedTuple):
    """`slopes` gives (g, h), `value` the loss, `start` the first score by the mean label, and
    `response` what a score predicts. `objective` is what XGBoost calls the loss. `wide`: samples
    have a score for each class; then labels are the numbers of classes, and `slopes` is asked for
    each class.
    """

    slopes: Callable[..., tuple[float, float]]
    value: Callable[..., Any]
    start: Callable[[float], float]
    response: Callable[[float], float]
    of_classes: bool
    objective: str
    wide: bool = False


LOSSES = {
    "logistic": Loss(logistic, logistic_loss, log_odds, logistic_chance, True, "binary:logistic"),
    "squared": Loss(squared_slopes, squared_loss, float, same, False, "reg:squarederror"),
    "softmax": Loss(softmax, softmax_loss, level, same, True, "multi:softprob", wide=True),
}
