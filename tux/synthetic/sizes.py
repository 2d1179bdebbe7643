"""Sizes of a power law: the numbers of entries in the rows or columns of generated data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def power_law_quantiles(n: int, exponent: float) -> NDArray[np.float64]:
    """Return (n,) quantiles of a power law, largest first: P(value > x) = (x + 0.9) ** -exponent;
    the shift makes the body wider.
    """
    return ((np.arange(n) + 0.5) / n) ** (-1 / exponent) - 0.9


def apportion_total(
    shape: NDArray[np.float64], total: int, low: int, high: int
) -> NDArray[np.int64]:
    """Return whole numbers (n,) with the sum `total`, each in low..high. They are about
    ``max(low, 1 / (1 / (c * shape) + 1 / high))``.

    The factor c is found by bisection, and the rest that rounding down leaves goes to the largest
    remainders. It needs n * low <= total <= n * high.
    """
    below, above = 0.0, 4 * high**2 / float(shape.min())
    for _ in range(100):
        factor = (below + above) / 2
        enough = np.maximum(high * factor * shape / (high + factor * shape), low).sum() > total
        below, above = (below, factor) if enough else (factor, above)
    level = np.maximum(high * below * shape / (high + below * shape), low)
    count = level.astype(np.int64)
    room = np.flatnonzero(count < high)
    count[room[np.argsort((count - level)[room], kind="stable")[: total - count.sum()]]] += 1
    return count
