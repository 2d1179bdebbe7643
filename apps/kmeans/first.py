"""The first centers, of samples with entries: what candidates show their features."""

import numpy as np

from tux.apps.kmeans.lloyd import place
from tux.apps.kmeans.passes import product, square_of
from tux.apps.kmeans.start import choose, is_candidate, note_candidate


def measure(sample, edges, tau):
    """Compute the square of a sample, and add its part to the sums of features."""
    for edge in edges:
        edge.feature.shown[0] += edge.value
    square = square_of(edges)
    sample.square += square
    tau.spread += square


def set_count(tau):
    """Set the number of samples."""
    tau.n, tau.variance, tau.farthest = tau.samples, tau.spread, -1


def mean(feature, tau):
    """Add the squared mean of a feature to the sum over features."""
    tau.mean_square += (feature.shown[0] / tau.n) ** 2
    tau.features += 1


def set_variance(tau):
    """Set the mean variance of a feature."""
    tau.variance = (tau.variance / tau.n - tau.mean_square) / tau.features


def show(sample, edges, tau):
    """Write a candidate's entries to its features."""
    if is_candidate(sample, tau):
        for edge in edges:
            edge.feature.shown[sample.group] += edge.value


def take_coordinates(feature, tau):
    """Copy the coordinate of the last center from the best of its candidates; then take over those
    of the new candidates.
    """
    if tau.chosen > 0:
        adopt(feature, tau)
    for t in range(len(feature.trial)):
        feature.trial[t] = feature.shown[t]
        tau.shown_square[t] += feature.shown[t] ** 2


def adopt(feature, tau):
    """Copy the coordinate of the best candidate to the center."""
    feature.s[tau.at] = feature.trial[tau.best] * tau.found


def set_candidate_squares(tau):
    """Copy the squares of the candidates from the total."""
    tau.trial_square[:] = tau.shown_square


def weigh(sample, edges, tau):
    """Compute the squared distances of a sample to the candidates."""
    dots = np.zeros(len(sample.tried))
    for edge in edges:
        for t in range(len(dots)):
            dots[t] += product(edge.value, edge.feature.trial[t])
    for t in range(len(dots)):
        note_candidate(sample, t, sample.square + tau.trial_square[t] - 2 * dots[t], tau)


def add_center(tau):
    """Make the best candidate the next center, and set its square."""
    choose(tau)
    tau.square[tau.at] = tau.trial_square[tau.best] if tau.found else 0.0
    tau.size[tau.at] = tau.found
    place(tau)


def show_all(sample, edges, tau):
    """Write a candidate's entries to its features, where there is a candidate for each center."""
    if is_candidate(sample, tau):
        for edge in edges:
            edge.feature.sums[sample.group] += edge.value


def adopt_all(feature, tau, p):
    """Make the coordinates of all candidates those of the centers."""
    for k in range(p.n_clusters):
        tau.grown[k] += feature.sums[k] ** 2
        feature.s[k], feature.sums[k] = feature.sums[k], 0.0


def set_random_centers(tau):
    """Set the squares of random centers; each is a cluster of one sample."""
    tau.square[:], tau.size[:] = tau.grown, np.isfinite(tau.lowest[: len(tau.size)])
    place(tau)
