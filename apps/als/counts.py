"""Numbers of ratings, their mean and their unit, before the first epoch.

Where all ratings, and with them the penalty, are multiplied by s, the best factors are multiplied
by the root of s. First factors, and what is taken for 0, follow the unit of ratings, a power of ten
near their size. So predictions are the same but for s, if s is a power of ten. With biases no
penalty has this effect, as these are multiplied by s itself.
"""

from __future__ import annotations

import math

import numpy as np

from tux.program.fields import value

EXPONENT_SHIFT = 0.05
"""Of the logarithm of the size: sizes from 0.89 to 8.9, as of stars and of marks up to 10, have the
unit 1."""

ENOUGH = 1e-20
"""Of r.r, where the unit is 1: nothing is left to be done (`tux.apps.als.steps`)."""

FLAT = 1e-6
"""Of d.A d / d.d, where the unit is 1: along such a d nothing is to be gained, as without a penalty
where a vertex has fewer edges than dimensions. What 32 bits leave of it is rounding.
"""

UNITS = {name: value("f8", kept=False) for name in ("first_size", "enough", "flat")}
"""The fields of the context: by what first factors are multiplied, and what is taken for 0."""


def count(user, edges, tau):
    """Add a user's ratings to their number, their sum and that of their squares."""
    user.n = len(edges)
    tau.edges += len(edges)
    for edge in edges:
        tau.loss += edge.value
        tau.norms += np.float64(edge.value) ** 2


def count_ratings(item, edges):
    """Count an item's ratings on this worker."""
    item.seen += len(edges)


def copy_count(item, tau):
    """Copy the number of an item's ratings on all workers, and give its factors their size. Without
    a rating they are 0.
    """
    item.n = item.seen
    size = tau.first_size if item.n > 0 else 0.0
    for k in range(len(item.f)):
        item.f[k] *= size


def set_offset(tau, p):
    """Set the constant that is subtracted from ratings: their mean, also with biases, or 0; and
    their unit.
    """
    set_unit(tau, p)
    tau.mean = 0.0 if p.implicit else tau.loss / tau.edges
    tau.offset = tau.mean if p.center or p.biases.width else 0.0


def set_unit(tau, p):
    """Set what follows the unit of ratings. Implicit feedback has the unit 1, as preferences
    have.
    """
    size = 0.0 if p.implicit else math.sqrt(tau.norms / max(tau.edges, 1))
    unit = 10.0 ** math.floor(math.log10(size) + EXPONENT_SHIFT) if size > 0 else 1.0
    least = min(unit, 1.0) if p.biases.width else unit
    tau.enough, tau.flat = ENOUGH * least**3, FLAT * least
    tau.first_size = 1.0 if p.biases.width else math.sqrt(unit)
