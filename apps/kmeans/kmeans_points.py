"""K-means of points: min sum |x - c|^2 over points x and their nearest centers c.

The same algorithm as `tux.apps.kmeans.kmeans`, where every sample has a number for every feature.
Samples have no edges, and the centers are in the context. Inner products are those of samples and
centers less the mean of all samples, so that 32 bits suffice far from the origin, too.
"""

from __future__ import annotations

import numpy as np

from tux.apps.kmeans import lloyd, start
from tux.apps.kmeans.clusters import CONTEXT, Clusters, of_sample
from tux.apps.kmeans.lloyd import judge, judge_anew, shift
from tux.apps.kmeans.nearest import enter, forget, least, may_stay, settle
from tux.apps.kmeans.start import gain, stands
from tux.program.fields import data, total, value
from tux.program.input import Points
from tux.program.params import param
from tux.program.types import Context, Vertex
from tux.stages import Apply, GlobalSync, MiniBatch, Repeat, Score


def four(x, mean, j):
    """Four features from j on, less their means."""
    return x[j] - mean[j], x[j + 1] - mean[j + 1], x[j + 2] - mean[j + 2], x[j + 3] - mean[j + 3]


def distances(x, square, tau, p):
    """Squared distances to all centers, (clusters,) float32; eight features at a time."""
    near, mean, c = np.empty(p.clusters, np.float32), tau.middle, tau.across
    whole = np.float32(square)
    for k in range(len(near)):
        near[k] = whole + tau.norm[k]
    j = 0
    while j + 8 <= p.dims:
        a0, a1, a2, a3 = four(x, mean, j)
        a4, a5, a6, a7 = four(x, mean, j + 4)
        for k in range(len(near)):
            near[k] += (a0 * c[j, k] + a1 * c[j + 1, k] + a2 * c[j + 2, k] + a3 * c[j + 3, k]) + (
                a4 * c[j + 4, k] + a5 * c[j + 5, k] + a6 * c[j + 6, k] + a7 * c[j + 7, k]
            )
        j += 8
    while j < p.dims:
        a0 = x[j] - mean[j]
        for k in range(len(near)):
            near[k] += a0 * c[j, k]
        j += 1
    for k in range(len(near)):
        near[k] = max(near[k], np.float32(0))
    return near


def distance(x, center, p):
    """The squared distance of a point to a center."""
    square = 0.0
    for j in range(p.dims):
        square += (x[j] - center[j]) ** 2
    return square


def assign(sample, tau, p):
    """The sample goes to its nearest center."""
    sample.held = sample.cluster
    if sample.held >= 0:
        own = distance(sample.x, tau.center[sample.held], p)
        if may_stay(sample, own, tau):
            enter(sample, sample.held, own, tau, p)
            return
    near = distances(sample.x, sample.square, tau, p)
    cluster = settle(sample, near, tau)
    enter(sample, cluster, distance(sample.x, tau.center[cluster], p), tau, p)
    transfer(sample, tau, p)


def transfer(sample, tau, p):
    """A sample that has changed its cluster leaves the sum of one for that of the other."""
    if sample.held != sample.cluster:
        for j in range(p.dims):
            tau.gained[sample.cluster, j] += sample.x[j]
        if sample.held >= 0:
            for j in range(p.dims):
                tau.gained[sample.held, j] -= sample.x[j]


def relocate(sample, tau, p):
    """The farthest sample makes up an empty cluster."""
    if sample.id == tau.farthest:
        sample.held, sample.cluster = sample.cluster, tau.empty
        transfer(sample, tau, p)


def measure(sample, tau, p):
    """The mean of the samples."""
    for j in range(p.dims):
        tau.whole[j] += sample.x[j]


def spread(sample, tau, p):
    """The square of a sample, less the mean."""
    sample.square = distance(sample.x, tau.middle, p)
    tau.spread += sample.square


def show(sample, tau, p):
    """A candidate shows where it is."""
    if stands(sample, tau):
        for j in range(p.dims):
            tau.shown[sample.group, j] += sample.x[j]


def show_all(sample, tau, p):
    """The same, where there is a candidate for each center."""
    if stands(sample, tau):
        for j in range(p.dims):
            tau.gained[sample.group, j] += sample.x[j]


def weigh(sample, tau, p):
    """The squared distances to the candidates."""
    for t in range(len(sample.tried)):
        gain(sample, t, distance(sample.x, tau.trial[t], p), tau)


def shown(tau):
    """The candidates are known."""
    tau.trial[:] = tau.shown


def counted(tau):
    """The mean of the samples."""
    tau.middle[:], tau.n, tau.farthest = tau.whole / tau.samples, tau.samples, -1


def varied(tau, p):
    """The mean variance of a feature."""
    tau.variance = tau.spread / (tau.n * p.dims)


def chosen(tau, p):
    """The next center is known."""
    start.choose(tau)
    tau.center[tau.at], tau.size[tau.at] = tau.trial[tau.best], tau.found
    if tau.chosen == p.clusters:
        turn(tau)


def placed(tau):
    """Random centers are known."""
    tau.lowest[: len(tau.lots)] = tau.lots


def taken(tau):
    """The candidates of a random start are the centers."""
    tau.center[:], tau.size[:] = tau.gained, np.isfinite(tau.lowest[: len(tau.size)])
    turn(tau)


def nearest(src, edges, tau, p):
    """The cluster of a new sample."""
    square = distance(src.x, tau.middle, p)
    return least(distances(src.x, square, tau, p))


def join(sample, tau, p):
    """The nearest center of a sample of a mini-batch, whose sum grows by it."""
    sample.cluster = least(distances(sample.x, sample.square, tau, p))
    tau.joined[sample.cluster] += 1
    for j in range(p.dims):
        tau.gained[sample.cluster, j] += sample.x[j]


def hold(tau):
    """The sums are those of the first centers, as if each were a sample of its own."""
    tau.sums[:] = tau.center


def grow(tau):
    """The centers have moved by a mini-batch: to the means of all samples so far."""
    tau.sums[:] += tau.gained
    tau.size[:] += tau.joined
    tau.center[:] = tau.sums / np.maximum(tau.size, 1)[:, None]
    turn(tau)


def centre(tau):
    """The centers move to the means of their samples."""
    tau.sums[:] += tau.gained
    there, before = tau.members > 0, tau.center.copy()
    tau.center[there] = (tau.sums / np.maximum(tau.members, 1)[:, None])[there]
    drift = ((tau.center - before) ** 2).sum(axis=1)
    shift(tau, np.where(there, np.where(tau.size > 0, drift, np.inf), 0.0))
    tau.size[:] = tau.members
    turn(tau)


def ended(tau, p):
    """The inertia; the sums follow the samples."""
    tau.sums[:] += tau.gained
    judge(tau, p)


def turn(tau):
    """The centers as inner products read them."""
    less = (tau.center - tau.middle.astype(np.float64)) * (tau.size > 0)[:, None]
    tau.across[:] = -2 * less.T
    tau.norm[:] = np.where(tau.size > 0, (less**2).sum(axis=1), np.inf)


class PointKMeans(Clusters):
    """Clusters of points, by Lloyd's algorithm or mini-batches."""

    dims: int = param(0, "numbers of a point; 0: as many as the table has", low=0)
    input = Points()
    sample = Vertex(x=data("f4", "dims"), **of_sample(value, {}, {"kept": False}))
    tau = Context(
        center=value("f8", "clusters", "dims"),
        sums=value("f8", "clusters", "dims", kept=False),
        gained=total("clusters", "dims"),
        middle=value("f4", "dims"),
        whole=total("dims"),
        across=value("f4", "dims", "clusters"),
        trial=value("f4", start.trials, "dims", kept=False),
        shown=total(start.trials, "dims"),
        **CONTEXT,
    )

    def setup(self):
        known = [
            Apply("sample", start.begin),
            Apply("sample", measure),
            GlobalSync(counted),
            Apply("sample", spread),
            GlobalSync(varied),
        ]
        first = self._random() if self.start == "random" else [self._greedy()]
        if self.batch:
            return [*known, *first, GlobalSync(hold)]
        return [*known, *first, Apply("sample", assign), GlobalSync(ended)]

    def _random(self):
        candidates = Apply("sample", start.draw_alike), GlobalSync(placed)
        return [*candidates, Apply("sample", show_all), GlobalSync(taken)]

    def _greedy(self):
        return Repeat(
            Apply("sample", start.draw),
            GlobalSync(start.called),
            Apply("sample", show),
            GlobalSync(shown),
            Apply("sample", weigh),
            GlobalSync(chosen),
            times="clusters",
        )

    def stages(self):
        if self.batch:
            part = MiniBatch(
                Apply("sample", join), GlobalSync(grow), vertices=self.batch, over="src"
            )
            anew = Apply("sample", forget), Apply("sample", assign)
            return [part, *anew, GlobalSync(judge_anew)]
        moved = Apply("sample", relocate), GlobalSync(centre)
        return [*moved, Apply("sample", assign), GlobalSync(ended)]

    def predict(self):
        return Score(nearest, over="src", name="cluster", whole=True)
