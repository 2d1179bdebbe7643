"""The stages of conjugate gradients (`tux.apps.als.steps`).

A user has all its edges, so it takes all steps at once; and so does an item of which one worker has
all edges. Of other items each worker gathers its share of A d, of as many numbers as are solved
for, and the master makes the step.
"""

from __future__ import annotations

import numpy as np

from tux.apps.als.edges import item_of, pull, user_of
from tux.apps.als.steps import advance, begin, solve
from tux.apps.als.unknowns import put_unknowns, unknowns_of
from tux.apps.mf.biases import numbers_of_vertex
from tux.stages import Apply, Barrier, Exchange, Repeat


def numbers_per_item(p):
    """Return how many numbers conjugate gradients need of an item."""
    return numbers_of_vertex(p) if p.steps else 0


def solve_user(user, edges, tau, p):
    """Move a user's factors, and its bias, towards the best ones."""
    x = unknowns_of(user, p)
    solve(edges, item_of, x, user.n, user.old, np.zeros(len(x)), tau, p)
    put_unknowns(user, x, p)


def solve_item(item, edges, tau, p):
    """Move the factors and the bias of an item that has all its edges towards the best ones."""
    x = unknowns_of(item, p)
    solve(edges, user_of, x, item.n, item.old, np.zeros(len(x)), tau, p)
    put_unknowns(item, x, p)


def gather_residual(item, edges, tau, p):
    """Add up this worker's part of b - A x."""
    got = np.zeros(len(item.got))
    pull(edges, user_of, unknowns_of(item, p), 1.0, got, tau, p)
    item.got[:] += got
    item.here += 1


def set_direction(item, tau, p):
    """Set the first direction, of an item that is on several workers."""
    item.square = 0
    if not item.here:
        return
    for k in range(len(item.r)):
        item.r[k] = item.got[k]
    item.square = begin(unknowns_of(item, p), item.n, item.old, item.r, item.d, tau, p)


def gather_product(item, edges, tau, p):
    """Add up this worker's part of -A d."""
    got = np.zeros(len(item.got))
    pull(edges, user_of, item.d, 0.0, got, tau, p)
    item.got[:] += got


def step(item, tau, p):
    """Make the step, and set the next direction."""
    got, x = item.got.copy(), unknowns_of(item, p)
    item.square = advance(x, item.n, item.old, item.r, item.d, got, item.square, tau, p)
    put_unknowns(item, x, p)


def cut_item_stages(first=set_direction):
    """Return the stages of items that have edges on several workers; `first` sets the first
    direction.
    """
    beginning = (
        Exchange(gather_residual, over="item", additive=True, cut=True),
        Apply("item", first),
    )
    following = Exchange(gather_product, over="item", additive=True, cut=True), Apply("item", step)
    return [*beginning, Repeat(Barrier(), *following, times="steps")]
