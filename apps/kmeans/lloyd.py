"""The values that all workers learn between the passes of Lloyd's algorithm: sizes of clusters,
where centers are, whether some is empty.
"""

import numpy as np


def place(tau):
    """Set |c|^2 of each center, and -2 / size, by which inner products with sums are multiplied. An
    empty cluster is infinitely far.
    """
    some = tau.size > 0
    size = np.where(some, tau.size, 1.0)
    tau.norm[:] = np.where(some, tau.square / size**2, np.inf)
    tau.share[:] = np.where(some, -2 / size, 0.0)


def keep_members(tau):
    """Count the samples of a model with which the run begins: they stay in their clusters."""
    tau.members[:] = tau.size


def center_drifts(tau):
    """Return how far each center has moved, squared, (clusters,). Of a center c = s / n that
    becomes s' / n' it is |(s' - s) - (n' - n) c|^2 / n'^2, where |s' - s|^2 is `grown` less twice
    `crossed`. So a small move is the sum of small terms, and none of its digits are lost.
    """
    old, new = np.maximum(tau.size, 1), np.maximum(tau.members, 1)
    more = (new - old) / old
    square = tau.grown - 2 * tau.crossed * (1 + more) + tau.square * more**2
    drift = np.maximum(square, 0.0) / new**2
    return np.where(tau.members > 0, np.where(tau.size > 0, drift, np.inf), 0.0)


def shift(tau, drift):
    """Set how far the centers have moved, from the squares of these distances, (clusters,)."""
    tau.shift = drift.sum() / tau.variance if tau.variance > 0 else drift.sum()
    tau.retreat[:] = drift_of_others(np.sqrt(drift))


def drift_of_others(drift):
    """Return for each center how far the others have moved: the largest of their distances."""
    order = np.argsort(drift)
    most = np.full(len(drift), drift[order[-1]])
    most[order[-1]] = drift[order[-2]] if len(drift) > 1 else 0.0
    return np.nextafter(most.astype("f4"), np.inf, dtype="f4")


def judge(tau, p):
    """Set the inertia. One empty cluster at most gets the sample that is farthest from its
    center.
    """
    tau.members[:] += tau.joined
    tau.inertia, tau.moved = tau.squares, tau.changed
    (empty,) = np.nonzero(tau.members == 0)
    sample, cluster = divmod(tau.far.key, p.n_clusters)
    tau.farthest = -1
    if len(empty) and tau.far.value > 0 and tau.members[cluster] > 1:
        tau.farthest, tau.empty = sample, empty[0]
        tau.members[cluster] -= 1
        tau.members[empty[0]] += 1
        tau.moved += 1
    tau.empty_clusters = len(empty)


def judge_anew(tau):
    """Set the inertia, where all samples have looked for their centers anew."""
    tau.inertia, tau.empty_clusters = tau.squares, int((tau.joined == 0).sum())
