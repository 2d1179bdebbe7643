"""Mini-batches of samples (Sculley, "Web-scale k-means clustering", WWW 2010): each center moves to
the mean of all samples that have joined it so far.
"""

from tux.apps.kmeans.lloyd import place
from tux.apps.kmeans.passes import find_nearest


def start_sums(feature, p):
    """Set the sums to those of the first centers, as if each were a sample of its own."""
    for k in range(p.n_clusters):
        feature.sums[k] = feature.s[k]


def join(sample, edges, tau, p):
    """Find the nearest center of a sample of a mini-batch."""
    sample.cluster, _ = find_nearest(edges, sample.square, tau, p)
    tau.joined[sample.cluster] += 1


def add(sample, edges):
    """Add a sample to the sums of its cluster."""
    for edge in edges:
        edge.feature.touched = max(edge.feature.touched, 1)
        edge.feature.sums[sample.cluster] += edge.value


def grow_clusters(tau):
    """Add the changes of a mini-batch: sums and sizes are then those of all samples so far."""
    tau.square[:] += tau.grown
    tau.size[:] += tau.joined
    place(tau)
