"""Numbers of ratings, and their mean, before the first epoch."""

from __future__ import annotations


def count(user, edges, tau):
    """Number and sum of a user's ratings."""
    user.n = len(edges)
    tau.edges += len(edges)
    for edge in edges:
        tau.loss += edge.value


def count_ratings(item, edges):
    """Count an item's ratings on this worker."""
    item.seen += len(edges)


def copy_count(item):
    """Copy the number of an item's ratings on all workers. Without one its factors are 0."""
    item.n = item.seen
    if item.n == 0:
        item.f[:] = 0


def set_offset(tau, p):
    """Set the constant that is subtracted from ratings: their mean, also with biases, or 0."""
    tau.mean = 0.0 if p.implicit else tau.loss / tau.edges
    tau.offset = tau.mean if p.center or p.biases.width else 0.0
