"""The center nearest to a sample, and bounds by which most samples need not look for it.

All squared distances of a sample come from its inner products with the centers,
|x - c|^2 = |x|^2 - 2 x.c + |c|^2, in 32 bits. Of the nearest center it is computed anew, in 64.
`below` bounds the distance to any other center from below, as in Hamerly, "Making k-means even
faster", SDM 2010: when centers move, it falls by the farthest move of another center. While a
sample's own center is nearer than that, no other center can be the nearest.
"""

import math

import numpy as np

SURE = 1e-5
"""Share of |x|^2 + |c|^2 by which squared distances in 32 bits are surely no more than wrong."""


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


def settle(sample, near, tau):
    """Return the nearest center, of which `near` (clusters,) float32 has the squared distances;
    `near` is changed. The sample gets a new `below`.
    """
    first = least(near)
    near[first] = np.inf
    second = least(near)
    doubt = SURE * (sample.square + tau.norm[second])
    sample.below = math.sqrt(max(near[second] - doubt, 0.0)) if near[second] < np.inf else np.inf
    return first


def may_stay(sample, own, tau):
    """Return whether a sample at the squared distance `own` from its center surely has no nearer
    one, after the centers have moved.
    """
    sample.below -= tau.retreat[sample.held]
    return sample.below > 0 and own < sample.below * sample.below


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
        sample.cluster = tau.empty


def forget(sample):
    """Make the sample look for its nearest center anew."""
    sample.cluster = -1
