"""The passes over points: nearest centers, sums of clusters.

Inner products are those of points and centers less the mean of all points, so that 32 bits suffice
far from the origin, too. `across` holds the centers by features, so that one turn of a loop goes on
with several centers.
"""

import numpy as np

from tux.apps.kmeans.lloyd import judge, keep_members, shift
from tux.apps.kmeans.nearest import enter_cluster, least, may_stay, settle


def center(x, m, j):
    """Return feature j of a point, less its mean."""
    return np.float32(x[j] - m[j])


def center_four(x, m, j):
    """Return four features from j on, less their means."""
    return center(x, m, j), center(x, m, j + 1), center(x, m, j + 2), center(x, m, j + 3)


def distances(x, square, tau, p):
    """Return squared distances to all centers, (clusters,) float32; eight features at a time."""
    near, mean, c = np.full(p.n_clusters, square, np.float32), tau.middle, tau.across
    for k in range(len(near)):
        near[k] += tau.norm[k]
    j = 0
    while j + 8 <= p.dims:
        a0, a1, a2, a3 = center_four(x, mean, j)
        a4, a5, a6, a7 = center_four(x, mean, j + 4)
        for k in range(len(near)):
            near[k] += (a0 * c[j, k] + a1 * c[j + 1, k] + a2 * c[j + 2, k] + a3 * c[j + 3, k]) + (
                a4 * c[j + 4, k] + a5 * c[j + 5, k] + a6 * c[j + 6, k] + a7 * c[j + 7, k]
            )
        j += 8
    while j < p.dims:
        a0 = center(x, mean, j)
        for k in range(len(near)):
            near[k] += a0 * c[j, k]
        j += 1
    for k in range(len(near)):
        near[k] = abs(near[k])  # rounding may lead below 0
    return near


def distance(x, center, p):
    """Return the squared distance of a point to a center."""
    square = 0.0
    for j in range(p.dims):
        square += (x[j] - center[j]) ** 2
    return square


def assign(sample, tau, p):
    """Assign the sample to its nearest center."""
    sample.held = sample.cluster
    if sample.held >= 0:
        own = distance(sample.x, tau.center[sample.held], p)
        if may_stay(sample, own, tau):
            enter_cluster(sample, sample.held, own, tau, p)
            return
    near = distances(sample.x, sample.square, tau, p)
    cluster = settle(sample, near, tau)
    enter_cluster(sample, cluster, distance(sample.x, tau.center[cluster], p), tau, p)
    transfer(sample, tau, p)


def transfer(sample, tau, p):
    """Move a sample that has changed its cluster from the sum of one to that of the other."""
    if sample.held != sample.cluster:
        for j in range(p.dims):
            tau.gained[sample.cluster, j] += sample.x[j]
        if sample.held >= 0:
            for j in range(p.dims):
                tau.gained[sample.held, j] -= sample.x[j]


def relocate(sample, tau, p):
    """Move the farthest sample into an empty cluster."""
    if sample.id == tau.farthest:
        sample.held, sample.cluster = sample.cluster, tau.empty
        transfer(sample, tau, p)


def centre(tau):
    """Move the centers to the means of their samples."""
    tau.sums[:] += tau.gained
    there, before = tau.members > 0, tau.center.copy()
    tau.center[there] = (tau.sums / np.maximum(tau.members, 1)[:, None])[there]
    drift = ((tau.center - before) ** 2).sum(axis=1)
    shift(tau, np.where(there, np.where(tau.size > 0, drift, np.inf), 0.0))
    tau.size[:] = tau.members
    set_across(tau)


def set_across(tau):
    """Set the centers in the form that inner products read."""
    away = (tau.center - tau.middle) * (tau.size > 0)[:, None]
    tau.across[:] = -2 * away.T
    tau.norm[:] = np.where(tau.size > 0, (away**2).sum(axis=1), np.inf)


def end_pass(tau, p):
    """Add the changes of a pass to the sums of clusters, and set the inertia."""
    tau.sums[:] += tau.gained
    judge(tau, p)


def start_sums(tau):
    """Set the sums to those of the first centers, as if each were a sample of its own."""
    tau.sums[:] = tau.center


def keep_sums(tau):
    """Set the sums to those of the samples of a model with which the run begins, which stay in
    their clusters.
    """
    tau.sums[:] = tau.center * tau.size[:, None]
    keep_members(tau)
    set_across(tau)


def join(sample, tau, p):
    """Find the nearest center of a sample of a mini-batch, and add the sample to its sum."""
    sample.held, sample.cluster = -1, least(distances(sample.x, sample.square, tau, p))
    tau.joined[sample.cluster] += 1
    transfer(sample, tau, p)


def grow_clusters(tau):
    """Move the centers by a mini-batch: to the means of all samples so far."""
    tau.sums[:] += tau.gained
    tau.size[:] += tau.joined
    tau.center[:] = tau.sums / np.maximum(tau.size, 1)[:, None]
    set_across(tau)


def nearest(src, edges, tau, p):
    """Return the cluster of a new sample."""
    square = distance(src.x, tau.middle, p)
    return least(distances(src.x, square, tau, p))
