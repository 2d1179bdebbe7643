"""The first centers: k-means++ as Arthur and Vassilvitskii have it (SODA 2007), greedy: of a few
candidates, that one becomes a center by which the inertia falls most. Or samples at random.

A candidate t is drawn among the samples of a group with a probability proportional to the squared
distance d of each to its nearest center: the least of -log(u) / d, u uniform, decides (Efraimidis
and Spirakis, IPL 2006).
"""

import math

import numpy as np


def trials(p):
    """Return the number of candidates for a center, as many as in scikit-learn."""
    return 2 + int(math.log(p.n_clusters))


def groups(p):
    """Return the number of groups of samples, each of which has a candidate, at most."""
    return max(p.n_clusters, trials(p))


def count(sample, tau):
    """Count the samples."""
    tau.samples += 1


def draw(sample, tau, p, rng):
    """Take the last center into account; draw a number, by which candidates are chosen."""
    if tau.chosen > 0:
        sample.least = min(sample.least, sample.tried[tau.best])
    sample.group = rng.below(len(sample.tried))
    sample.number = -math.log1p(-rng.uniform())
    if tau.chosen > 0:
        sample.number = sample.number / sample.least if sample.least > 0 else np.inf
    tau.drawn[sample.group] = min(tau.drawn[sample.group], sample.number)


def draw_alike(sample, tau, p, rng):
    """All samples have the same chance: one of each `n_clusters` groups becomes a center."""
    sample.group = sample.id % p.n_clusters
    sample.number = rng.uniform()
    tau.drawn[sample.group] = min(tau.drawn[sample.group], sample.number)


def is_candidate(sample, tau):
    """Return whether a sample is a candidate."""
    return sample.number == tau.lowest[sample.group] and sample.number < np.inf


def set_lowest(tau):
    """Copy the lowest number of each group from the total: the sample that drew it is the
    candidate.
    """
    tau.lowest[:] = tau.drawn


def note_candidate(sample, t, square, tau):
    """Set a candidate's squared distance; add up the inertia if it were a center."""
    sample.tried[t] = max(square, 0.0)
    tau.left[t] += min(sample.least, sample.tried[t])


def choose(tau):
    """Choose the candidate that leaves the least inertia as the next center. Without any, as all
    samples lie on centers, the cluster is empty.
    """
    there = np.isfinite(tau.lowest[: len(tau.left)])
    tau.best = int(np.argmin(np.where(there, tau.left, np.inf)))
    tau.at = tau.chosen
    tau.found = float(there.any())
    tau.chosen += 1
