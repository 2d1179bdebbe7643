"""The passes over points: clusters of samples, and sums of clusters."""

import numpy as np

from tux.apps.kmeans.lloyd import judge, keep_members, shift
from tux.apps.kmeans.nearest import enter_cluster, keep_bound, may_stay
from tux.apps.kmeans.point_nearest import distance, find_nearest


def assign(sample, tau, p):
    """Assign the sample to its nearest center."""
    sample.held = sample.cluster
    if sample.held >= 0:
        own = distance(sample.x, tau.center[sample.held], p)
        if may_stay(sample, own, tau):
            enter_cluster(sample, sample.held, own, tau, p)
            return
    cluster, bound = find_nearest(sample.x, sample.square, tau, p)
    keep_bound(sample, bound)
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
        sample.held, sample.cluster, sample.below = sample.cluster, tau.empty, 0.0
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
    sample.held = -1
    sample.cluster, _ = find_nearest(sample.x, sample.square, tau, p)
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
    return find_nearest(src.x, distance(src.x, tau.middle, p), tau, p)[0]
