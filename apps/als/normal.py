"""Exact solutions (Zhou, Wilkinson, Schreiber and Pan, AAIM 2008): for each vertex, A x = b by
Cholesky's method, in double precision.

    A = what the vertices of its end share + sum of w y y' + penalty I,  b = sum of w t y

The sums are over its edges, and y are the factors of the other ends. A user has all its edges, so
it is solved where it is. An item may have edges on several workers: each gathers A and b, of A the
lower triangle, and the master solves.
"""

from __future__ import annotations

import numpy as np

from tux.apps.als.edges import item_of, user_of, weigh
from tux.apps.als.steps import penalty
from tux.apps.als.unknowns import put_unknowns, unknowns_of
from tux.apps.mf.biases import numbers_of_vertex
from tux.rows.packed import packed_add, packed_solve
from tux.stages import Apply, Exchange

BLOCK = 32
"""Edges that are added to A at a time."""


def matrix_entries(p):
    """Return the number of entries of A that an item gathers."""
    n = numbers_of_vertex(p)
    return 0 if p.steps else n * (n + 1) // 2


def side_entries(p):
    """Return the number of entries of b that an item gathers."""
    return 0 if p.steps else numbers_of_vertex(p)


def add(edges, far, a, b, tau, p):
    """Add the edges' parts of A and b; `far` finds the other end of an edge, of which y are the
    factors, and a 1 behind them if there are biases.
    """
    rows = np.ones((BLOCK, len(b)), np.float64)
    weighted = np.empty((BLOCK, len(b)), np.float64)
    count = 0
    for edge in edges:
        y = far(edge)
        w, t = weigh(edge.value - p.biases.of(y), tau, p)
        for k in range(p.rank):
            rows[count, k] = y.f[k]
        for k in range(len(b)):
            weighted[count, k] = w * rows[count, k]
            b[k] += t * rows[count, k]
        count += 1
        if count == BLOCK:
            packed_add(a, weighted, rows, count)
            count = 0
    packed_add(a, weighted, rows, count)


def solve(a, b, n, old, x, tau, p):
    """Write the solution into x; `a` and `b` are changed. Of a vertex with `old` ratings, x moves
    by the solution of what these leave (`tux.apps.als.prior`).
    """
    if n <= old:
        return
    if old > 0:
        subtract_product(a, x, b)
        for k in range(len(b)):
            b[k] -= (penalty(n, p) - penalty(old, p)) * x[k]
    at = 0
    for i in range(len(b)):
        for j in range(i + 1):
            if p.implicit:
                a[at + j] += tau.gram[i, j]
            if old > 0:
                a[at + j] += old * tau.prior[i, j]
        at += i + 1
        a[at - 1] += penalty(n, p)
    if packed_solve(a, b):
        for k in range(len(b)):
            x[k] = b[k] + (x[k] if old > 0 else 0.0)


def subtract_product(a, x, b):
    """Compute b -= A x, of A the lower triangle."""
    at = 0
    for i in range(len(b)):
        for j in range(i):
            b[i] -= a[at + j] * x[j]
            b[j] -= a[at + j] * x[i]
        b[i] -= a[at + i] * x[i]
        at += i + 1


def solve_own(edges, far, x, n, old, b, tau, p):
    """Set x to the solution of a vertex that has all its edges. `b`: its part beside the edges,
    (len(x),) float64, which is changed.
    """
    a = np.zeros(len(x) * (len(x) + 1) // 2, np.float64)
    add(edges, far, a, b, tau, p)
    solve(a, b, n, old, x, tau, p)


def solve_user(user, edges, tau, p):
    """Find the best factors and the best bias of a user."""
    x = unknowns_of(user, p)
    solve_own(edges, item_of, x, user.n, user.old, np.zeros(len(x)), tau, p)
    put_unknowns(user, x, p)


def solve_item(item, edges, tau, p):
    """Find the best factors and the best bias of an item that has all its edges."""
    x = unknowns_of(item, p)
    solve_own(edges, user_of, x, item.n, item.old, np.zeros(len(x)), tau, p)
    put_unknowns(item, x, p)


def find_user(user, edges, out, tau, p):
    """Write the best factors of a new user, and its bias."""
    solve_own(edges, item_of, out, len(edges), 0, np.zeros(len(out)), tau, p)


def find_item(item, edges, out, tau, p):
    """Write the best factors of a new item, and its bias."""
    solve_own(edges, user_of, out, len(edges), 0, np.zeros(len(out)), tau, p)


def gather(item, edges, tau, p):
    """Add up this worker's part of A and b."""
    a = np.zeros(len(item.a), np.float64)
    b = np.zeros(len(item.b), np.float64)
    add(edges, user_of, a, b, tau, p)
    for k in range(len(a)):
        item.a[k] += a[k]
    for k in range(len(b)):
        item.b[k] += b[k]
    item.here += 1


def solve_gathered(item, tau, p):
    """Find the best factors and the best bias of an item that is on several workers."""
    if item.here:
        x = unknowns_of(item, p)
        solve(item.a.copy(), item.b.copy(), item.n, item.old, x, tau, p)
        put_unknowns(item, x, p)


def cut_item_stages(solved=solve_gathered):
    """Return the stages of items that have edges on several workers; `solved` solves for one."""
    return [Exchange(gather, over="item", additive=True, cut=True), Apply("item", solved)]
