"""Conjugate gradients with warm start (Takacs, Pilaszy and Tikk, RecSys 2011): a few steps towards
the solution x of A x = b, from the x of the last sweep. A is never formed.

    r = b - A x;  d = r
    repeat:  a = r.r / d.A d;  x += a d;  r -= a A d;  d = r + (r.r after / r.r before) d

A user has all its edges, so it takes all steps at once. An item may have edges on several workers:
each gathers its share of A d, of as many numbers as there are dimensions, and the master makes the
step.
"""

from __future__ import annotations

import numpy as np

from tux.apps.als.edges import item_of, pulling, user_of
from tux.program.fields import delta, master, value
from tux.stages import Apply, Barrier, Exchange, Repeat

ENOUGH = 1e-20
"""Of r.r: nothing is left to be done."""


def gathered(p):
    """Numbers that conjugate gradients need of an item."""
    return p.rank if p.steps else 0


ITEM = {
    "got": delta("f4", gathered),
    "d": value("f4", gathered, kept=False),
    "r": master("f4", gathered, kept=False),
    "square": master("f8", kept=False),
    "here": delta("i4"),
}


def penalty(n, p):
    """The penalty on a vertex that has n edges."""
    return p.reg if p.plain else p.reg * np.float32(n)


def shared_part(v, out, tau, p):
    """out -= what all vertices of this end have in common, times v."""
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


def product(x, y):
    """The inner product, in double precision."""
    total = 0.0
    for k in range(len(x)):
        total += np.float64(x[k]) * y[k]
    return total


def begin(x, n, r, d, tau, p):
    """From r = the edges' part of b - A x: all of it, and the first direction. Returns r.r."""
    shared_part(x, r, tau, p)
    for k in range(p.rank):
        r[k] -= penalty(n, p) * x[k]
        d[k] = r[k]
    return product(r, r)


def advance(x, n, r, d, got, square, tau, p):
    """A step, from got = the edges' part of -A d, which is changed. Returns r.r after it."""
    if square <= ENOUGH:
        return square
    shared_part(d, got, tau, p)
    for k in range(p.rank):
        got[k] -= penalty(n, p) * d[k]
    a = -square / product(d, got)
    for k in range(p.rank):
        x[k] += a * d[k]
        r[k] += a * got[k]
    after = product(r, r)
    for k in range(p.rank):
        d[k] = r[k] + after / square * d[k]
    return after


pull_items, pull_users = pulling(item_of), pulling(user_of)


def solve(edges, pull, x, n, tau, p):
    """All steps of a vertex that has all its edges."""
    r, d = np.zeros(p.rank, np.float32), np.zeros(p.rank, np.float32)
    got = np.zeros(p.rank, np.float32)
    pull(edges, x, np.float32(1), r, tau, p)
    square = begin(x, n, r, d, tau, p)
    for _ in range(p.steps):
        for k in range(p.rank):
            got[k] = 0
        pull(edges, d, np.float32(0), got, tau, p)
        square = advance(x, n, r, d, got, square, tau, p)


def solve_user(user, edges, tau, p):
    """The best factors of a user, nearly."""
    solve(edges, pull_items, user.f, user.n, tau, p)


def solve_item(item, edges, tau, p):
    """Those of an item."""
    solve(edges, pull_users, item.f, item.n, tau, p)


def lead(item, edges, tau, p):
    """This worker's part of b - A x."""
    got = np.zeros(p.rank, np.float32)
    pull_users(edges, item.f, np.float32(1), got, tau, p)
    item.got[:] += got
    item.here += 1


def set_out(item, tau, p):
    """The first direction, of an item that is on several workers."""
    item.square = 0
    if not item.here:
        return
    for k in range(p.rank):
        item.r[k] = item.got[k]
    item.square = begin(item.f, item.n, item.r, item.d, tau, p)


def follow(item, edges, tau, p):
    """This worker's part of -A d."""
    got = np.zeros(p.rank, np.float32)
    pull_users(edges, item.d, np.float32(0), got, tau, p)
    item.got[:] += got


def step(item, tau, p):
    """The next direction."""
    got = item.got.copy()
    item.square = advance(item.f, item.n, item.r, item.d, got, item.square, tau, p)


def of_users(cluster):
    """The stages that solve the users."""
    return [Exchange(solve_user)]


def of_items(cluster):
    """The stages that solve the items: those of which one worker has all edges, then the others."""
    alone = Exchange(solve_item, over="item", cut=False)
    if cluster.workers == 1:
        return [alone]
    lead_out = Exchange(lead, over="item", split=True, cut=True), Apply("item", set_out)
    following = Exchange(follow, over="item", split=True, cut=True), Apply("item", step)
    return [alone, *lead_out, Repeat(Barrier(), *following, times="steps")]


STAGES = {"user": of_users, "item": of_items}
"""The stages that solve an end."""
