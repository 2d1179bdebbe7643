"""The stages of conjugate gradients (`tux.apps.als.steps`).

A user has all its edges, so it takes all steps at once; and so does an item of which one worker has
all edges. Of other items each worker gathers its share of A d, of as many numbers as there are
dimensions, and the master makes the step.
"""

from __future__ import annotations

import numpy as np

from tux.apps.als.edges import item_of, pull, user_of
from tux.apps.als.steps import advance, begin, solve
from tux.stages import Apply, Barrier, Exchange, Repeat


def numbers_per_item(p):
    """Return how many numbers conjugate gradients need of an item."""
    return p.rank if p.steps else 0


def solve_user(user, edges, tau, p):
    """Move a user's factors towards the best ones."""
    solve(edges, item_of, user, tau, p)


def solve_item(item, edges, tau, p):
    """Move the factors of an item that has all its edges towards the best ones."""
    solve(edges, user_of, item, tau, p)


def gather_residual(item, edges, tau, p):
    """Add up this worker's part of b - A x."""
    got = np.zeros(p.rank)
    pull(edges, user_of, item.f, 1.0, got, tau, p)
    item.got[:] += got
    item.here += 1


def set_direction(item, tau, p):
    """Set the first direction, of an item that is on several workers."""
    item.square = 0
    if not item.here:
        return
    for k in range(p.rank):
        item.r[k] = item.got[k]
    item.square = begin(item.f, item.n, item.old, item.r, item.d, tau, p)


def gather_product(item, edges, tau, p):
    """Add up this worker's part of -A d."""
    got = np.zeros(p.rank)
    pull(edges, user_of, item.d, 0.0, got, tau, p)
    item.got[:] += got


def step(item, tau, p):
    """Make the step, and set the next direction."""
    got = item.got.copy()
    item.square = advance(item.f, item.n, item.old, item.r, item.d, got, item.square, tau, p)


def cut_item_stages():
    """Return the stages of items that have edges on several workers."""
    beginning = (
        Exchange(gather_residual, over="item", additive=True, cut=True),
        Apply("item", set_direction),
    )
    following = Exchange(gather_product, over="item", additive=True, cut=True), Apply("item", step)
    return [*beginning, Repeat(Barrier(), *following, times="steps")]
