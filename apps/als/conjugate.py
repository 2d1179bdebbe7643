"""The stages of conjugate gradients (`tux.apps.als.steps`).

A user has all its edges, so it takes all steps at once; and so does an item of which one worker has
all edges. Of other items each worker gathers its share of A d, of as many numbers as there are
dimensions, and the master makes the step.
"""

from __future__ import annotations

import numpy as np

from tux.apps.als.edges import item_of, pulling, user_of
from tux.apps.als.steps import advance, begin, solving
from tux.stages import Apply, Barrier, Exchange, Repeat


def gathered(p):
    """Numbers that conjugate gradients need of an item."""
    return p.rank if p.steps else 0


pull_items, pull_users = pulling(item_of), pulling(user_of)
solve_by_items, solve_by_users = solving(pull_items), solving(pull_users)


def solve_user(user, edges, tau, p):
    """The best factors of a user, nearly."""
    solve_by_items(edges, user.f, user.n, tau, p)


def solve_item(item, edges, tau, p):
    """Those of an item."""
    solve_by_users(edges, item.f, item.n, tau, p)


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
