"""Vectors of users that training has not seen: the steps of training on a user's pairs, of which
the items stay as they are, beginning with 0.

For each pair, in each pass, an item is drawn that the user does not have: for `bpr` each as often
as it has pairs, as in training; for `warp` all are equally likely. The vector of `bpr`, whose steps
stay as large as they are, is the mean over the second half of the passes; that of `warp`, whose
steps fall, is the last.
"""

import numpy as np

from tux import dot
from tux.apps.bpr.losses import weigh
from tux.apps.bpr.pairs import holds

PASSES = 30
"""Passes over the pairs of a user: the epochs of training, unless others are chosen."""

PROPOSED = 1000
"""Items that are proposed for a draw, at most: the last is taken, whatever its number of pairs."""


def items_of(edges):
    """Return the numbers of a user's items, ascending."""
    numbers = np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        numbers[e] = edges[e].item.id
    numbers.sort()
    return numbers


def draw_item(vertices, tau, rng):
    """Draw an item, each as often as it has pairs: of items that are proposed, all equally likely,
    one is taken with a probability in proportion to them.
    """
    item = vertices[rng.below(len(vertices))].item
    for _ in range(PROPOSED):
        if rng.uniform() * tau.most < item.n:
            break
        item = vertices[rng.below(len(vertices))].item
    return item


def find_by_bpr(edges, vertices, out, tau, p, rng):
    """Write the vector of a new user, by the steps of `tux.apps.bpr.losses.bpr`."""
    own, x = items_of(edges), np.zeros(p.rank, np.float32)
    for turn in range(PASSES):
        for edge in edges:
            other = draw_item(vertices, tau, rng)
            if not holds(own, other.id):
                compare_items(x, edge.item, other, p)
        if turn >= PASSES // 2:
            for k in range(p.rank):
                out[k] += x[k] / (PASSES - PASSES // 2)


def compare_items(x, item, other, p):
    """Make the part of `tux.apps.bpr.losses.compare` that is the user's."""
    margin = item.b - other.b
    for k in range(p.rank):
        margin += x[k] * (item.f[k] - other.f[k])
    step, shrink = p.learning_rate / (1 + np.exp(margin)), p.learning_rate * p.reg
    for k in range(p.rank):
        x[k] += step * (item.f[k] - other.f[k]) - shrink * x[k]


def find_by_warp(edges, vertices, out, tau, p, rng):
    """Write the vector of a new user, by the steps of `tux.apps.bpr.losses.warp`."""
    own, sums = items_of(edges), np.ones(p.rank, np.float32)
    for _ in range(PASSES):
        for edge in edges:
            raise_item(out, sums, edge.item, own, vertices, tau, p, rng)


def raise_item(x, sums, item, own, vertices, tau, p, rng):
    """Make the part of `tux.apps.bpr.losses.descend` that is the user's, if of the items that are
    drawn one is ranked too high.
    """
    least = dot(x, item.f) + item.b - 1
    for draw in range(p.max_sampled):
        other = vertices[rng.below(len(vertices))].item
        if dot(x, other.f) + other.b > least and not holds(own, other.id):
            follow_items(x, sums, item, other, weigh(draw + 1, tau), p)
            return


def follow_items(x, sums, item, other, z, p):
    """Move a vector along z times the difference of two items, by the steps of its numbers, whose
    squared slopes are added up in `sums`.
    """
    for k in range(p.rank):
        g = z * (item.f[k] - other.f[k])
        x[k] += p.learning_rate / np.sqrt(sums[k]) * (g - p.reg * x[k])
        sums[k] += g * g


FINDS = {"bpr": find_by_bpr, "warp": find_by_warp}
"""The function that finds a new user's vector, by the loss."""
