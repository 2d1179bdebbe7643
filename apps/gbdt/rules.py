"""The rules of what a split gains, and of the weights that leaves may have: a rule for trees whose
features are free, and one for trees of which some features are monotone, as XGBoost has it.

The step of a node, G / (H + l2), is its weight before the learning rate, with the other sign. Steps
have bounds, which the children of a node inherit. A feature with the direction 1 is split only
where the right child, that of the larger values, has no larger step than the left one. Then the
middle of both steps bounds those of all leaves below: it is the least on the left, and the most on
the right. So whatever other features are split there, no leaf on the left has the larger weight.
With the direction -1 it is the other way round.

Samples with an entry of a feature and those without one are in no order. A split that parts these
may go either way, and the bounds follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tux.apps.gbdt.bins import find_bin


class SplitRule(NamedTuple):
    """A rule of splits. `direction` says in which direction the sides of a feature's splits must
    be: 1, -1, or 0 for any. `fit` is that of both sides of a split, each a slope and a curvature,
    l2 included; -infinity for sides in the other one. `bound` keeps the steps of the nodes of a new
    level within their bounds; it returns None where there are none.
    """

    direction: Callable[..., int]
    fit: Callable[..., float]
    bound: Callable[..., Any]


def no_direction(feature, tau):
    """Return 0: a feature is free."""
    return 0


def free_fit(left, right, node, direction, tau, p):
    """Return the fit of both sides of a split of a free feature."""
    most = p.loss.max_step
    if most > 0:
        of_left, of_right = bounded_step(left, -most, most), bounded_step(right, -most, most)
        return bounded_fit(left, of_left) + bounded_fit(right, of_right)
    (g, h), (other_g, other_h) = left, right
    return (g * g * other_h + other_g * other_g * h) / (h * other_h)


def bounded_step(side, least, most):
    """Return the step of a side of a split within its bounds."""
    return min(max(side[0] / side[1], least), most)


def bounded_fit(side, step):
    """Return the fit of a side whose step is bounded."""
    return step * (2 * side[0] - step * side[1])


def free_bound(steps, tau, p):
    """Return the steps within those that the loss allows."""
    most = p.loss.max_step
    return np.clip(steps, -most, most) if most else None


def find_direction(feature, tau):
    """Return the direction of a feature."""
    at = find_bin(tau.monotone, feature)
    if at < len(tau.monotone) and tau.monotone[at] == feature:
        return int(tau.direction[at])
    return 0


def monotone_fit(left, right, node, direction, tau, p):
    """Return the fit of both sides of a split, whose steps have the bounds of the node."""
    least, most = tau.least_step[node], tau.most_step[node]
    of_left, of_right = bounded_step(left, least, most), bounded_step(right, least, most)
    if direction * (of_right - of_left) > 0:
        return -np.inf
    return bounded_fit(left, of_left) + bounded_fit(right, of_right)


def monotone_bound(steps, tau, p):
    """Return the steps of the nodes of a level within the bounds of their parents, and set their
    own ones.
    """
    n, most = tau.nodes, p.loss.max_step or np.inf
    least, most = np.full(n, -most), np.full(n, most)
    if n > 1:
        least, most = (np.repeat(each[: n // 2], 2) for each in (tau.least_step, tau.most_step))
    steps = np.where(tau.sums[1, :n] > 0, np.clip(steps, least, most), 0)
    if n > 1:
        left, right = steps[::2], steps[1::2]
        direction, middle = find_split_directions(right - left, tau), left / 2 + right / 2
        least[::2] = np.where(direction > 0, middle, least[::2])
        most[1::2] = np.where(direction > 0, middle, most[1::2])
        most[::2] = np.where(direction < 0, middle, most[::2])
        least[1::2] = np.where(direction < 0, middle, least[1::2])
    tau.least_step[:n], tau.most_step[:n] = least, most
    return steps


def find_split_directions(rise, tau):
    """Return the direction in which the children of each node above the present level are: that of
    the feature by which it is split. Where no sample with an entry goes right, it may be the other
    one, if steps `rise` (n,) from left to right.
    """
    feature = tau.feature_of[: len(rise)]
    at = np.minimum(np.searchsorted(tau.monotone, feature), len(tau.monotone) - 1)
    direction = np.where(tau.monotone[at] == feature, tau.direction[at], 0)
    against = np.isinf(tau.high[: len(rise)]) & (direction * rise > 0)
    return np.where(against, -direction, direction)


RULES = {
    "free": SplitRule(no_direction, free_fit, free_bound),
    "monotone": SplitRule(find_direction, monotone_fit, monotone_bound),
}
