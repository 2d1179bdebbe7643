"""Factors of users and items that training has not seen, given those of the other end, q.

With q fixed, the objective's part of a user with n ratings r is least where

    (sum of q q' + reg n I) x = sum of r q,

which is solved by Cholesky's method, in double precision.
"""

import numpy as np

from tux.rows.packed import packed_add, packed_solve


def find_user(user, edges, out, p):
    """Write the best factors of a new user."""
    solve(edges, item_of, out, p)


def find_item(item, edges, out, p):
    """Write the best factors of a new item."""
    solve(edges, user_of, out, p)


def item_of(edge):
    """Return the far end's factors, of a user's rating."""
    return edge.item.f


def user_of(edge):
    """Return the far end's factors, of an item's rating."""
    return edge.user.f


def solve(edges, far, out, p):
    """Write the solution of a vertex with these ratings; zeros without one, or if there is no
    single solution.
    """
    n = len(edges)
    a, b = np.zeros(p.rank * (p.rank + 1) // 2), np.zeros(p.rank)
    rows = np.empty((n + 3 - (n + 3) % 4, p.rank))  # a multiple of 4, as packed_add needs it
    for e in range(n):
        q = far(edges[e])
        for k in range(p.rank):
            rows[e, k] = q[k]
            b[k] += edges[e].value * rows[e, k]
    packed_add(a, rows, rows, n)
    at = -1
    for k in range(p.rank):
        at += k + 1
        a[at] += p.reg * n
    if n > 0 and packed_solve(a, b):
        for k in range(p.rank):
            out[k] = b[k]
