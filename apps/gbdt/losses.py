"""Losses of a sample of label y at the score m, each with its first and second derivative by m.

    logistic    log(1 + exp(-y m)), y being -1 or +1
    squared     (m - y)^2 / 2, y being any number
    poisson     exp(m) - y m + log y!, y being a count, or any number from 0 on

and the constant score at which boosting begins: the one of least loss. The loss softmax, of a score
for each class, is told in `classes.py`, quantile in `quantiles.py`, and lambdarank, which compares
samples, in `ranking.py`: its function is that of a pair whose scores differ by m.

The second derivative of poisson, exp(m), is taken where the score has grown by `MAX_STEP`, and no
tree lets a score grow or fall by more before its learning rate: both are XGBoost's
`max_delta_step`, whose default it is for counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tux.apps.gbdt import classes, quantiles, ranking
from tux.apps.gbdt.growing import LEAST_H
from tux.base.errors import DataError
from tux.base.log_one_plus import log_one_plus

MAX_STEP = 0.7
MAX_EXPONENT = 700.0  # of a number in double precision


def logistic(y, m, alpha):
    """Return (g, h) of the logistic loss, without an overflow."""
    e = math.exp(-abs(m))
    q = 1 / (1 + e)
    return (q if m > 0 else e * q) - (1.0 if y > 0 else 0.0), max(e * q * q, LEAST_H)


def logistic_loss(y, m, alpha):
    """Return the logistic loss alone."""
    return log_one_plus(math.exp(-abs(m))) - min(y * m, 0.0)


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
    return 1 / (1 + exponential(-m))


def squared_slopes(y, m, alpha):
    """Return (g, h) of the squared loss."""
    return m - y, 1.0


def squared_loss(y, m, alpha):
    """Return the squared loss alone."""
    return (m - y) * (m - y) / 2


def exponential(m):
    """Return exp(m), without an overflow."""
    return math.exp(min(m, MAX_EXPONENT))


def poisson(y, m, alpha):
    """Return (g, h) of the Poisson loss."""
    return exponential(m) - y, exponential(m + MAX_STEP)


def poisson_loss(y, m, alpha):
    """Return the Poisson loss, the negative log likelihood, alone."""
    return exponential(m) - y * m + math.lgamma(max(y, 0.0) + 1.0)


def log_mean(mean):
    """Return the logarithm of the mean of labels. DataError if all are 0."""
    if not mean > 0:
        raise DataError("all labels are 0", do="give samples with other labels too")
    return math.log(mean)


def same(m):
    """Return the score itself."""
    return m


class Loss(NamedTuple):
    """`slopes` gives (g, h), `value` the loss, `start` the first score by the mean label, and
    `response` what a score predicts. `objective` is what XGBoost calls the loss, and `judged` the
    metric of held-out samples by which a model is chosen. Labels are `low` or more. `max_step`
    bounds the weight of a leaf before the learning rate, if it is not 0. `renews`: weights of
    leaves become quantiles, of the share alpha, which only such a loss reads. `wide`: the
    module with the functions of samples that have a score for each class; then labels are the
    numbers of classes, and `slopes` is asked for each class. `ranks`: samples belong to queries,
    and those of a query are compared.
    """

    slopes: Callable[..., tuple[float, float]]
    value: Callable[..., Any]
    start: Callable[[float], float]
    response: Callable[[float], float]
    of_classes: bool
    objective: str
    judged: str = "test_logloss"
    low: float = -math.inf
    max_step: float = 0.0
    renews: bool = False
    wide: ModuleType | None = None
    ranks: bool = False


LOSSES = {
    "logistic": Loss(logistic, logistic_loss, log_odds, logistic_chance, True, "binary:logistic"),
    "squared": Loss(
        squared_slopes, squared_loss, float, same, False, "reg:squarederror", "test_rmse"
    ),
    "softmax": Loss(
        classes.slopes, classes.loss, classes.level, same, True, "multi:softprob", wide=classes
    ),
    "poisson": Loss(
        *(poisson, poisson_loss, log_mean, exponential, False, "count:poisson", "test_loss"),
        low=0.0,
        max_step=MAX_STEP,
    ),
    "quantile": Loss(
        *(quantiles.slopes, quantiles.loss, quantiles.no_score, same, False),
        *("reg:quantileerror", "test_loss"),
        renews=True,
    ),
    "lambdarank": Loss(
        *(logistic, logistic_loss, ranking.no_score, same, False, "rank:ndcg", "test_ndcg"),
        low=0.0,
        ranks=True,
    ),
}
