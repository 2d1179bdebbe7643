"""The rating that factors predict, and how far it is from held-out ratings."""

import numpy as np


def inner(x, y, n):
    """Return the inner product of the first n entries."""
    total = np.float32(0)
    for k in range(n):
        total += x[k] * y[k]
    return total


def rate(user, item, tau, p):
    """Return the predicted rating; the mean where either end was never rated."""
    return inner(user.f, item.f, p.rank) if user.norm[0] > 0 and item.norm[0] > 0 else tau.mean


def test(user, item, rating, tau, p):
    """Add up the squared error of a held-out rating."""
    tau.n, tau.sse = tau.n + 1, tau.sse + (rating.value - rate(user, item, tau, p)) ** 2


def report(tau):
    """Set the root mean squared error on the held-out ratings."""
    tau.test_rmse = np.sqrt(tau.sse / tau.n) if tau.n else np.nan
