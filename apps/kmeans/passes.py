"""The passes over entries of samples: nearest centers, sums of clusters.

A feature holds its coordinate in each center times the center's samples, `s`. So only features of
samples that have changed their clusters change, and a sample's inner products with all centers are
one pass over its entries.
"""

import numpy as np

from tux import axpy
from tux.apps.kmeans import lloyd
from tux.apps.kmeans.lloyd import place
from tux.apps.kmeans.nearest import (
    doubt,
    enter_cluster,
    highest_nearest,
    keep_bound,
    may_stay,
    settle,
)


def distances(edges, square, tau, p):
    """Return squared distances to all centers, (clusters,) float32."""
    near = np.zeros(p.n_clusters, np.float32)
    for i in range(0, len(edges) - 1, 2):
        one, two = edges[i], edges[i + 1]
        x, a, y, b = one.value, one.feature.s, two.value, two.feature.s
        for k in range(len(near)):
            near[k] += x * a[k] + y * b[k]
    if len(edges) % 2:
        last = edges[len(edges) - 1]
        axpy(last.value, last.feature.s, near)
    whole = np.float32(square)
    for k in range(len(near)):
        near[k] = abs(whole + tau.norm[k] + tau.share[k] * near[k])  # rounding may lead below 0
    return near


def product(x, y):
    """Return x y in double precision, in which it is exact."""
    return np.float64(x) * y


def distance(edges, square, k, tau):
    """Return the squared distance to center k."""
    dot = 0.0
    for edge in edges:
        dot += product(edge.value, edge.feature.s[k])
    return max(square + tau.square[k] / tau.size[k] ** 2 - 2 * dot / tau.size[k], 0.0)


def find_nearest(edges, square, tau, p):
    """Return the nearest center, and what the squared distance to any other is at least."""
    near = distances(edges, square, tau, p)
    first, bound = settle(square, near, len(edges))
    if first < 0:
        first, bound = measure_nearest(edges, square, near, tau)
    return first, bound


def measure_nearest(edges, square, near, tau):
    """Do the work of `find_nearest` by measuring all centers that may be the nearest."""
    first, least_square, bound, most = -1, np.inf, np.inf, highest_nearest(square, near, len(edges))
    for k in range(len(near)):
        if tau.size[k] > 0:  # near may be infinite where 32 bits overflow
            low = near[k] - doubt(square, near[k], len(edges))
            if not low > most:
                low = distance(edges, square, k, tau)
            if first < 0 or low < least_square:
                first, least_square, bound = k, low, least_square
            else:
                bound = min(bound, low)
    return first, bound


def assign(sample, edges, tau, p):
    """Assign the sample to its nearest center."""
    sample.held = sample.cluster
    if sample.held >= 0:
        own = distance(edges, sample.square, sample.held, tau)
        if may_stay(sample, own, tau):
            enter_cluster(sample, sample.held, own, tau, p)
            return
    cluster, bound = find_nearest(edges, sample.square, tau, p)
    keep_bound(sample, bound)
    enter_cluster(sample, cluster, distance(edges, sample.square, cluster, tau), tau, p)


def gather(sample, edges):
    """Move samples that have changed their clusters from the sums of one to those of the other."""
    if sample.held != sample.cluster:
        for edge in edges:
            feature = edge.feature
            feature.touched = max(feature.touched, 1)
            feature.sums[sample.cluster] += edge.value
            if sample.held >= 0:
                feature.sums[sample.held] -= edge.value


def move(feature, tau, p):
    """Set the sums of a feature, and add up the changes of their squares and of their products with
    the old ones.
    """
    if feature.touched:
        for k in range(p.n_clusters):
            old, feature.s[k] = feature.s[k], feature.sums[k]
            new = feature.s[k]
            tau.grown[k] += product(new, new) - product(old, old)
            tau.crossed[k] += product(old, new) - product(old, old)


def centre(tau):
    """Move the centers."""
    lloyd.shift(tau, lloyd.center_drifts(tau))
    tau.square[:] += tau.grown
    tau.size[:] = tau.members
    place(tau)


def square_of(edges):
    """Return the squared length of a sample."""
    square = 0.0
    for edge in edges:
        square += product(edge.value, edge.value)
    return square


def seek(sample, edges, tau, p):
    """Add up the squared distance of a held-out sample to its nearest center."""
    square = square_of(edges)
    cluster, _ = find_nearest(edges, square, tau, p)
    tau.test_squares += distance(edges, square, cluster, tau)


def nearest(sample, edges, tau, p):
    """Return the cluster of a new sample."""
    return find_nearest(edges, square_of(edges), tau, p)[0]
