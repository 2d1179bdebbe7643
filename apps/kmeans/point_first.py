"""The first centers, of points: candidates show where they are in the context."""

import numpy as np

from tux.apps.kmeans.point_passes import distance, turn
from tux.apps.kmeans.start import choose, gain, stands


def measure(sample, tau, p):
    """The mean of the samples."""
    for j in range(p.dims):
        tau.whole[j] += sample.x[j]


def counted(tau):
    """The mean of the samples."""
    tau.middle[:], tau.n, tau.farthest = tau.whole / tau.samples, tau.samples, -1


def spread(sample, tau, p):
    """The square of a sample, less the mean."""
    sample.square = distance(sample.x, tau.middle, p)
    tau.spread += sample.square


def varied(tau, p):
    """The mean variance of a feature."""
    tau.variance = tau.spread / (tau.n * p.dims)


def show(sample, tau, p):
    """A candidate shows where it is."""
    if stands(sample, tau):
        for j in range(p.dims):
            tau.shown[sample.group, j] += sample.x[j]


def shown(tau):
    """The candidates are known."""
    tau.trial[:] = tau.shown


def weigh(sample, tau, p):
    """The squared distances to the candidates."""
    for t in range(len(sample.tried)):
        gain(sample, t, distance(sample.x, tau.trial[t], p), tau)


def chosen(tau, p):
    """The next center is known."""
    choose(tau)
    tau.center[tau.at], tau.size[tau.at] = tau.trial[tau.best], tau.found
    if tau.chosen == p.n_clusters:
        turn(tau)


def placed(tau):
    """Random centers are known."""
    tau.lowest[: len(tau.lots)] = tau.lots


def show_all(sample, tau, p):
    """The same, where there is a candidate for each center."""
    if stands(sample, tau):
        for j in range(p.dims):
            tau.gained[sample.group, j] += sample.x[j]


def taken(tau):
    """The candidates of a random start are the centers."""
    tau.center[:], tau.size[:] = tau.gained, np.isfinite(tau.lowest[: len(tau.size)])
    turn(tau)
