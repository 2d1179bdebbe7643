"""Conjugate gradients with warm start (Takacs, Pilaszy and Tikk, RecSys 2011): a few steps towards
the solution x of A x = b, from the x of the last sweep. A is never formed.

    r = b - A x;  d = r
    repeat:  a = r.r / d.A d;  x += a d;  r -= a A d;  d = r + (r.r after / r.r before) d

Products are added up in double precision, as small errors of a step grow in the next ones. What is
taken for 0 follows the unit of ratings (`tux.apps.als.counts`).
"""

from __future__ import annotations

import numpy as np

from tux import axpy
from tux.apps.als.edges import pull


def penalty(n, p):
    """Return the penalty on a vertex that has n edges."""
    return p.reg if p.plain else p.reg * n


def shared_part(v, out, tau, p):
    """Compute out -= what all vertices of this end have in common, times v."""
    if p.implicit:
        g, many = tau.gram, p.rank - p.rank % 4
        for i in range(0, many, 4):
            g0, g1, g2, g3 = g[i], g[i + 1], g[i + 2], g[i + 3]
            v0, v1, v2, v3 = v[i], v[i + 1], v[i + 2], v[i + 3]
            for k in range(p.rank):
                out[k] -= v0 * g0[k] + v1 * g1[k] + v2 * g2[k] + v3 * g3[k]
        for i in range(many, p.rank):
            for k in range(p.rank):
                out[k] -= v[i] * g[i, k]


def prior_part(v, old, out, tau):
    """Compute out -= the matrix of old ratings times v (`tux.apps.als.prior`)."""
    if old > 0:
        for i in range(len(v)):
            axpy(-old * v[i], tau.prior[i], out)


def product(x, y):
    """Return the inner product, in double precision."""
    total = np.float64(0)
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


def begin(x, n, old, r, d, tau, p):
    """Complete r, which is b less the edges' part of A x, and set the first direction. Return r.r.
    Of a vertex with `old` ratings, b - A x is 0 without the edges.
    """
    weight = penalty(n, p)
    if old > 0:
        weight -= penalty(old, p)
    else:
        shared_part(x, r, tau, p)
    for k in range(len(r)):
        r[k] -= weight * x[k]
        d[k] = r[k]
    return product(r, r)


def advance(x, n, old, r, d, got, square, tau, p):
    """Make a step, from got = the edges' part of -A d, which is changed. Return r.r after it, 0 if
    there is no further step.
    """
    if square <= tau.enough:
        return square
    shared_part(d, got, tau, p)
    prior_part(d, old, got, tau)
    for k in range(len(got)):
        got[k] -= penalty(n, p) * d[k]
    curvature = -product(d, got)
    if curvature <= tau.flat * product(d, d):
        return 0.0
    a = square / curvature
    for k in range(len(x)):
        x[k] += a * d[k]
        r[k] += a * got[k]
    after = product(r, r)
    for k in range(len(r)):
        d[k] = r[k] + after / square * d[k]
    return after


def solve(edges, far, x, n, old, r, tau, p):
    """Take all steps of a vertex that has all its edges; `far`: as in `pull`. `r`: what b has
    beside the edges, which is changed.
    """
    if n <= old:
        return
    d, got = np.zeros(len(x)), np.zeros(len(x))
    pull(edges, far, x, 1.0, r, tau, p)
    square = begin(x, n, old, r, d, tau, p)
    for _ in range(p.steps):
        for k in range(len(got)):
            got[k] = 0
        pull(edges, far, d, 0.0, got, tau, p)
        square = advance(x, n, old, r, d, got, square, tau, p)
