"""The term that an edge adds to the least squares of its ends: w (t - x.y)^2, of which the sum over
all edges is, but for a constant, the objective's part of edges.

With biases, x has one number more, the vertex's own bias, for which that of y is 1; and t is less
the bias of the other end.
"""

from __future__ import annotations

import numpy as np

from tux import dot


def weigh(value, tau, p):
    """Return an edge's weight w, and w times its target t.

    Ratings: w = 1, t = rating - offset. Implicit feedback (Hu, Koren and Volinsky 2008): a pair has
    the confidence c = 1 + alpha |r| and the preference 1 if r > 0, else 0. All pairs, with edges or
    without, are in the matrix that the vertices of the other end share, with confidence 1 and
    preference 0; so an edge adds w = c - 1 and w t = c times the preference.
    """
    if p.implicit:
        w = p.alpha * abs(value)
        return w, (1 + w if value > 0 else 0.0)
    return 1.0, value - np.float32(tau.offset)


def item_of(edge):
    """Return the far end of a user's edge."""
    return edge.item


def user_of(edge):
    """Return the far end of an item's edge."""
    return edge.user


def pull(edges, far, v, targets, out, tau, p):
    """Compute out += sum of (targets w t - w v.y) y, over a vertex's edges; `far` finds the other
    end of an edge, of which y are the factors. With `targets` 1 this is the right side less the
    matrix times v, with 0 the latter alone.

    Four edges at a time, so that v and out are read once for all of them.
    """
    n, own, ones = len(edges), v[p.rank] if p.biases.width else 0.0, 0.0
    for e in range(0, n - 3, 4):
        v0, v1, v2, v3 = far(edges[e]), far(edges[e + 1]), far(edges[e + 2]), far(edges[e + 3])
        y0, y1, y2, y3 = v0.f, v1.f, v2.f, v3.f
        s0 = s1 = s2 = s3 = own
        for k in range(p.rank):
            s0 += v[k] * y0[k]
            s1 += v[k] * y1[k]
            s2 += v[k] * y2[k]
            s3 += v[k] * y3[k]
        w0, t0 = weigh(edges[e].value - p.biases.of(v0), tau, p)
        w1, t1 = weigh(edges[e + 1].value - p.biases.of(v1), tau, p)
        w2, t2 = weigh(edges[e + 2].value - p.biases.of(v2), tau, p)
        w3, t3 = weigh(edges[e + 3].value - p.biases.of(v3), tau, p)
        c0, c1 = targets * t0 - w0 * s0, targets * t1 - w1 * s1
        c2, c3 = targets * t2 - w2 * s2, targets * t3 - w3 * s3
        ones += c0 + c1 + c2 + c3
        for k in range(p.rank):
            out[k] += c0 * y0[k] + c1 * y1[k] + c2 * y2[k] + c3 * y3[k]
    for e in range(n - n % 4, n):
        end = far(edges[e])
        w, t = weigh(edges[e].value - p.biases.of(end), tau, p)
        c = targets * t - w * (dot(v, end.f, p.rank) + own)
        ones += c
        for k in range(p.rank):
            out[k] += c * end.f[k]
    if p.biases.width:
        out[p.rank] += ones
