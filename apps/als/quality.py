"""The objective, the error on held-out ratings, and the rating that factors predict."""

from __future__ import annotations

import numpy as np

from tux import axpy, dot
from tux.apps.als.edges import weigh
from tux.stages import Exchange, GlobalSync


def rate(user, item, tau, p):
    """Return the predicted rating, or preference. Where either end has no ratings, vectors add
    nothing: it is the mean, and what biases there are.
    """
    known = user.n > 0 and item.n > 0
    rest = dot(user.f, item.f) + tau.offset if known else tau.mean
    return np.float64(rest) + p.biases.of(user) + p.biases.of(item)


def measure(user, item, rating, tau, p):
    """Add a training edge's part to the objective."""
    s = np.float64(dot(user.f, item.f))
    w, t = weigh(rating.value - p.biases.of(user) - p.biases.of(item), tau, p)
    if p.implicit:
        # (1 + w) (preference - s)^2, less the s^2 that all pairs have
        preference = rating.value > 0
        tau.loss += (1 + w) * (preference - s) ** 2 - s**2
    else:
        tau.loss += (t - s) ** 2
    tau.edges += 1


def norm(v, tau, p):
    """Add a vertex's part to the objective."""
    bias = p.biases.of(v)
    square = dot(v.f, v.f) + bias * bias
    tau.norms += square if p.plain else v.n * square


def square(v, tau, p):
    """Add up the products of factors, of vertices that have edges."""
    if v.n > 0:
        for i in range(p.rank):
            axpy(v.f[i], v.f, tau.products[i])


def keep(tau, p):
    """Keep the products of factors for the vertices of the other end."""
    tau.gram[:] = tau.products


def norm_and_square(v, tau, p):
    """Do the work of `norm` and of `square`."""
    norm(v, tau, p)
    if p.implicit:
        square(v, tau, p)


def report(tau, p):
    """Set the objective. `gram` is that of the users."""
    tau.objective = tau.loss + p.reg * tau.norms
    if p.implicit:
        # sum over all pairs of (x.y)^2 = sum of the products of both matrices' entries
        tau.objective += (tau.gram * tau.products).sum()
    else:
        tau.train_rmse = np.sqrt(tau.loss / tau.edges)


def test(user, item, rating, tau, p):
    """Add up the squared error of a held-out rating."""
    tau.edges += 1
    tau.loss += (rating.value - rate(user, item, tau, p)) ** 2


def report_test(tau):
    """Set the root mean squared error on the held-out ratings."""
    tau.test_rmse = np.sqrt(tau.loss / tau.edges) if tau.edges else np.nan


PLAIN = norm, norm_and_square, test


def quality_stages(program, *, held_out, functions=PLAIN):
    """Return the stages that measure all this, the test error only if there are `held_out`
    ratings; by `functions` in the places of those of `PLAIN`.
    """
    of_users, of_items, of_test = functions
    stages = [
        Exchange(measure, over="item"),
        GlobalSync(aggregate=of_users, over="user"),
        GlobalSync(report, aggregate=of_items, over="item"),
    ]
    if held_out and not program.implicit:
        stages += [Exchange(of_test, held_out=True), GlobalSync(report_test)]
    return stages


def gram_of(program, end):
    """Return the stages that add up the products of an end's factors, which only implicit feedback
    needs.
    """
    return [GlobalSync(keep, aggregate=square, over=end)] if program.implicit else []
