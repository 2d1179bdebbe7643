"""Losses of a sample of label y at the margin m = x.w + b, each with its slope, d loss / d m.

    logistic        log(1 + exp(-y m))
    hinge           max(0, 1 - y m)
    squared_hinge   max(0, 1 - y m)^2
    squared         (m - y)^2 / 2
    huber           (m - y)^2 / 2 where |m - y| <= width, else width (|m - y| - width / 2)

All are convex. y is -1 or +1 in the first three, and any number in the last two. At the kink of the
hinge the slope is 0. The loss softmax, of a margin for each class, is told in
`tux.apps.linear.softmax`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from tux.apps.linear import classes, softmax
from tux.base.log_one_plus import log_one_plus


def logistic(y, m, width):
    """Return (loss, slope) of the logistic loss, without an overflow."""
    z = y * m
    e = math.exp(-abs(z))
    q = 1 / (1 + e)
    return log_one_plus(e) - min(z, 0.0), -y * (e * q if z > 0 else q)


def logistic_slope(y, m, width):
    """Return the slope of the logistic loss alone, which needs no logarithm."""
    z = y * m
    e = math.exp(-abs(z))
    return -y * ((e if z > 0 else 1.0) / (1 + e))


def hinge(y, m, width):
    """Return (loss, slope) of the hinge loss."""
    z = 1 - y * m
    return max(0.0, z), -y if z > 0 else 0.0


def hinge_slope(y, m, width):
    """Return the slope of the hinge loss alone."""
    return hinge(y, m, width)[1]


def squared_hinge(y, m, width):
    """Return (loss, slope) of the squared hinge loss."""
    z = max(0.0, 1 - y * m)
    return z * z, -2 * y * z


def squared_hinge_slope(y, m, width):
    """Return the slope of the squared hinge loss alone."""
    return squared_hinge(y, m, width)[1]


def squared_loss(y, m, width):
    """Return (loss, slope) of the squared loss."""
    e = m - y
    return e * e / 2, e


def squared_slope(y, m, width):
    """Return the slope of the squared loss alone."""
    return m - y


def huber(y, m, width):
    """Return (loss, slope) of the Huber loss."""
    e = m - y
    if abs(e) <= width:
        return e * e / 2, e
    return width * (abs(e) - width / 2), width if e > 0 else -width


def huber_slope(y, m, width):
    """Return the slope of the Huber loss alone."""
    return huber(y, m, width)[1]


def curvature_of_logistic(slope, width):
    """Return the curvature of `logistic` where it has this slope."""
    return abs(slope) * (1 - abs(slope))


def curvature_of_hinge(slope, width):
    """Return the curvature of `squared_hinge` where it has this slope."""
    return 2.0 if slope != 0 else 0.0


def curvature_of_squared(slope, width):
    """Return the curvature of the squared loss, which is 1 everywhere."""
    return 1.0


def curvature_of_huber(slope, width):
    """Return the curvature of `huber` where it has this slope."""
    return 1.0 if abs(slope) < width else 0.0


class MarginLoss(NamedTuple):
    """A loss: ``f(y, m, width)`` is (loss, slope), ``slope(y, m, width)`` the slope alone.
    `smooth`: the slope is continuous. `of_classes`: labels are classes, and not any numbers.
    `likely`: it is the negative log likelihood. `bend`: its curvature at m = 0. ``curvature(slope,
    width)``: that where it has such a slope; of smooth losses alone. `wide`: a module with the
    functions of samples that have a margin for each class, of which labels are the numbers; then
    ``f(m, y)`` turns margins m into slopes, and returns the loss.
    """

    f: Callable[..., Any]
    slope: Callable[..., Any]
    curvature: Callable[..., float] = curvature_of_squared
    smooth: bool = True
    of_classes: bool = True
    likely: bool = False
    bend: float = 1.0
    wide: ModuleType | None = None


LOSSES = {
    "logistic": MarginLoss(logistic, logistic_slope, curvature_of_logistic, likely=True, bend=0.25),
    "hinge": MarginLoss(hinge, hinge_slope, smooth=False),
    "squared_hinge": MarginLoss(squared_hinge, squared_hinge_slope, curvature_of_hinge, bend=2.0),
    "squared": MarginLoss(squared_loss, squared_slope, of_classes=False),
    "huber": MarginLoss(huber, huber_slope, curvature_of_huber, of_classes=False),
    "softmax": MarginLoss(
        softmax.slopes, softmax.slopes, softmax.curvature, likely=True, bend=0.25, wide=classes
    ),
}
ALIKE = {name: "the label" for name, loss in LOSSES.items() if not loss.of_classes}
"""What a margin stands for, of losses whose models go on with one another's weights."""
