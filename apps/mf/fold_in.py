"""Factors of users and items that training has not seen, given those of the other end, q.

With q fixed, the objective's part of a user with n ratings r is least where

    (sum of q q' + reg n I) x = sum of r q,

which is solved by Cholesky's method, in double precision. With biases, each q has an entry more,
which is 1, the ratings r are less the mean and the bias of q, and the last entry of x is the user's
bias.
"""

import numpy as np

from tux.apps.mf.biases import mean_of_biased
from tux.rows.packed import packed_add, packed_solve


def find_user(user, edges, out, tau, p):
    """Write the best factors of a new user, and its bias."""
    solve(edges, item_of, out, tau, p)


def find_item(item, edges, out, tau, p):
    """Write the best factors of a new item, and its bias."""
    solve(edges, user_of, out, tau, p)


def item_of(edge):
    """Return the far end of a user's rating."""
    return edge.item


def user_of(edge):
    """Return the far end of an item's rating."""
    return edge.user


def solve(edges, far, out, tau, p):
    """Write the solution of a vertex with these ratings; zeros without one, or if there is no
    single solution.
    """
    n, width = len(edges), len(out)
    a, b = np.zeros(width * (width + 1) // 2, np.float64), np.zeros(width, np.float64)
    most = n + 3 - (n + 3) % 4  # a multiple of 4, as packed_add needs it
    rows = np.ones((most, width), np.float64)
    for e in range(n):
        q = far(edges[e])
        rest = edges[e].value - mean_of_biased(tau, p) - p.biases.of(q)
        for k in range(p.rank):
            rows[e, k] = q.f[k]
        for k in range(width):
            b[k] += rest * rows[e, k]
    packed_add(a, rows, rows, n)
    at = -1
    for k in range(width):
        at += k + 1
        a[at] += p.reg * n
    if n > 0 and packed_solve(a, b):
        for k in range(width):
            out[k] = b[k]
