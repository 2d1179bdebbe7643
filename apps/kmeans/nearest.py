"""The center nearest to a sample, and bounds by which most samples need not look for it.

All squared distances of a sample come from its inner products with the centers,
|x - c|^2 = |x|^2 - 2 x.c + |c|^2, in 32 bits. Where these cannot tell which center is the nearest,
as far from the origin, those that may be it are measured in 64, as is the nearest one always.
`below` bounds the distance to any other center from below, as in Hamerly, "Making k-means even
faster", SDM 2010: when centers move, it falls by the farthest move of another center. While a
sample's own center is nearer than that, no other center can be the nearest.
"""

import math

import numpy as np

SURE = 1e-5
"""Share of |x|^2 + |c|^2 by which squared distances in 32 bits are surely no more than wrong, where
inner products have few terms."""
TERM = 2.0**-24
"""The same share for each term, where there are many: adding a term loses no more."""
SMALLEST_SQUARE = 2.0**-125
"""What squared distances in 32 bits may be wrong by where numbers are so small that they have fewer
bits."""
DOWN = np.float32(1 - 2**-23)
"""Makes a number in 32 bits less, by more than what is lost where it is rounded."""
KEPT = 1e-6
"""Share of 3 |x|^2 + 2 |x - c|^2 by which `below`, squared, is made less, as 32 bits round it."""


def least(near):
    """Return the place of the least of numbers that are not negative, (n,) float32; of equal ones
    the first. As integers their order is the same, and processors compare several of them at once.
    """
    bits = near.view(np.int32)
    low, at = bits[0], 0
    for k in range(len(bits)):
        low = min(low, bits[k])
    while bits[at] != low:
        at += 1
    return at


def doubt(square, near, terms):
    """Return how far a squared distance `near` in 32 bits may be from the true one, where the inner
    product has so many terms. As |c|^2 is at most 2 |x|^2 + 2 |x - c|^2, the sum |x|^2 + |c|^2 is
    at most 3 `square` + 2 `near`.
    """
    both = 3 * np.float64(square) + 2 * np.float64(near)
    return max(SURE, terms * TERM) * both + SMALLEST_SQUARE


def settle(square, near, terms):
    """Return the nearest center, of which `near` (clusters,) float32 has the squared distances, and
    what the squared distance to any other is at least; -1 if 32 bits cannot tell.
    """
    first = least(near)
    own, near[first] = near[first], np.inf
    second = near[least(near)]
    near[first] = own
    bound = second - doubt(square, second, terms) if second < np.inf else np.inf
    return first if bound > own + doubt(square, own, terms) else -1, bound


def highest_nearest(square, near, terms):
    """Return what the squared distance to the nearest center is at most."""
    own = near[least(near)]
    return own + doubt(square, own, terms)


def keep_bound(sample, bound):
    """Set `below` from a lower bound of its square, of which some bits are lost."""
    lost = KEPT * (3 * sample.square + 2 * bound) if bound < np.inf else 0.0
    sample.below = math.sqrt(max(bound - lost, 0.0))


def may_stay(sample, own, tau):
    """Return whether a sample at the squared distance `own` from its center surely has no nearer
    one, after the centers have moved.
    """
    sample.below = (sample.below - tau.retreat[sample.held]) * DOWN
    return sample.below > SMALLEST_SQUARE and own < np.float64(sample.below) ** 2


def enter_cluster(sample, cluster, own, tau, p):
    """Put the sample into a cluster, at a squared distance from its center."""
    tau.squares += own
    tau.far.add(own, sample.id * np.int64(p.n_clusters) + cluster)
    if cluster != sample.held:
        tau.changed += 1
        tau.joined[cluster] += 1
        if sample.held >= 0:
            tau.joined[sample.held] -= 1
    sample.cluster = cluster
    sample.distance = math.sqrt(own)


def relocate(sample, tau):
    """Move the farthest sample into an empty cluster."""
    if sample.id == tau.farthest:
        sample.cluster, sample.below = tau.empty, 0.0


def forget(sample):
    """Make the sample look for its nearest center anew."""
    sample.cluster = -1
