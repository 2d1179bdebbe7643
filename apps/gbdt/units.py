"""The units, powers of two, in which derivatives of the loss are whole numbers."""

from __future__ import annotations

import math

from tux.base.errors import DataError

BITS = 29  # of g and h: they fit 32 bits with a sign, and sums of 2^33 of them fit 64


def unit(most):
    """Return a power of two, of which `most` is at most 2^BITS. DataError if it is not finite."""
    if not math.isfinite(most):
        raise DataError(
            "labels or weights are too large: the largest derivative of the loss is no number",
            do="divide all of them by one number, or leave the largest out",
        )
    return 2.0 ** (math.ceil(math.log2(most)) - BITS) if most > 0 else 1.0


def set_units(tau):
    """Set the units in which the derivatives at the present scores are counted."""
    tau.unit_g, tau.unit_h = unit(tau.most_g), unit(tau.most_h)
    tau.per_g, tau.per_h = 1 / tau.unit_g, 1 / tau.unit_h
