"""The first centers, of points: candidates show where they are in the context."""

import numpy as np

from tux.apps.kmeans.point_nearest import distance
from tux.apps.kmeans.point_passes import set_across
from tux.apps.kmeans.start import choose, is_candidate, note_candidate


def measure(sample, tau, p):
    """Add a sample to the sum of all."""
    for j in range(p.dims):
        tau.whole[j] += sample.x[j]


def set_mean(tau):
    """Set the mean and the number of the samples."""
    tau.middle[:], tau.n, tau.farthest = tau.whole / tau.samples, tau.samples, -1


def add_square(sample, tau, p):
    """Compute the squared distance of a sample from the mean, and add it up."""
    sample.square = distance(sample.x, tau.middle, p)
    tau.spread += sample.square


def set_variance(tau, p):
    """Set the mean variance of a feature."""
    tau.variance = tau.spread / (tau.n * p.dims)


def show(sample, tau, p):
    """Write a candidate's coordinates to the context."""
    if is_candidate(sample, tau):
        for j in range(p.dims):
            tau.shown[sample.group, j] += sample.x[j]


def set_candidates(tau):
    """Copy the coordinates of the candidates from the total."""
    tau.trial[:] = tau.shown


def weigh(sample, tau, p):
    """Compute the squared distances of a sample to the candidates."""
    for t in range(len(sample.tried)):
        note_candidate(sample, t, distance(sample.x, tau.trial[t], p), tau)


def add_center(tau, p):
    """Make the best candidate the next center; behind the last one, prepare inner products."""
    choose(tau)
    tau.center[tau.at], tau.size[tau.at] = tau.trial[tau.best], tau.found
    if tau.chosen == p.n_clusters:
        set_across(tau)


def show_all(sample, tau, p):
    """Write a candidate's coordinates to the context, where there is a candidate for each
    center.
    """
    if is_candidate(sample, tau):
        for j in range(p.dims):
            tau.gained[sample.group, j] += sample.x[j]


def set_random_centers(tau):
    """Make the candidates of a random start the centers."""
    tau.center[:], tau.size[:] = tau.gained, np.isfinite(tau.lowest[: len(tau.size)])
    set_across(tau)
