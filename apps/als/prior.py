"""The part of old ratings, which are not there any more, where a run begins with a model.

Of a vertex with `old` ratings then, A x = b held, so b is known from its x. A is taken as the sum
that it is on average: with C the mean of w y y' over the vertices of the other end, which count as
often as they had ratings, and w the mean of the new ratings' weights,

    A = old C + penalty I (and the matrix that all vertices share).

So with new ratings, whose parts are A' and b', the solution is x + d with

    (A + A') d = b' - A' x.

Each epoch begins with the x of the last, so it counts the new ratings once more.
"""

from __future__ import annotations

import numpy as np

from tux import axpy
from tux.apps.als.counts import set_unit
from tux.apps.mf.biases import numbers_of_vertex
from tux.program.fields import total, value
from tux.stages import GlobalSync


def prior_shape(p):
    """Return the shape of C."""
    return numbers_of_vertex(p), numbers_of_vertex(p)


CONTEXT = {
    "prior": value("f4", prior_shape, kept=False),
    "prior_sum": total("f8", prior_shape),
    "prior_count": total(),
    "weight": value("f8", kept=False),
}


def count_more(user, edges, tau):
    """Count a user's new ratings beside those before, and add up their sizes and squares."""
    user.old = user.n
    user.n += len(edges)
    tau.edges += len(edges)
    for edge in edges:
        tau.loss += abs(edge.value)
        tau.norms += np.float64(edge.value) ** 2


def set_weight(tau, p):
    """Set the mean weight of a new rating, which stands for that of an old one, and the unit."""
    set_unit(tau, p)
    tau.weight = p.alpha * tau.loss / tau.edges if p.implicit else 1.0


def add_count(item):
    """Count an item's new ratings beside those before. A new item's factors begin with 0, so that
    they say nothing to users before they are found.
    """
    item.old = item.n
    item.n += item.seen
    if item.old == 0:
        item.f[:] = 0


def add_products(v, tau, p):
    """Add up the products of factors, with a 1 behind them if there are biases, as often as they
    had ratings.
    """
    if v.old > 0:
        tau.prior_count += v.old
        for i in range(p.rank):
            axpy(v.old * v.f[i], v.f, tau.prior_sum[i])
        if p.biases.width:
            axpy(v.old, v.f, tau.prior_sum[p.rank])
            tau.prior_sum[p.rank, p.rank] += v.old
            for i in range(p.rank):
                tau.prior_sum[i, p.rank] += v.old * v.f[i]


def keep_mean(tau):
    """Keep the mean of the products, times the mean weight of an edge."""
    tau.prior[:] = tau.weight * tau.prior_sum / max(tau.prior_count, 1.0)


def mean_of(end):
    """Return the stages that find C from the factors of an end."""
    return [GlobalSync(keep_mean, aggregate=add_products, over=end)]
