"""K-means of sparse samples: min sum |x - c|^2 over samples x and their nearest centers c.

Lloyd, "Least squares quantization in PCM", IEEE Transactions on Information Theory 28, 1982: each
center moves to the mean of its samples, each sample to its nearest center. With mini-batches:
Sculley, "Web-scale k-means clustering", WWW 2010.

A feature holds its coordinate in each center times the center's samples. So only features of
samples that have changed their clusters change, and a sample's inner products with all centers
are one pass over its entries.
"""

from __future__ import annotations

import numpy as np

from tux.apps.kmeans import lloyd, start
from tux.apps.kmeans.clusters import CONTEXT, Clusters, of_sample
from tux.apps.kmeans.lloyd import judge, judge_anew, place
from tux.apps.kmeans.nearest import enter, forget, least, may_stay, relocate, settle
from tux.apps.kmeans.start import gain, stands
from tux.program.fields import data, delta, mirror, shared, total, value
from tux.program.input import Bags
from tux.program.types import Context, Edge, Vertex
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Repeat, Score


def distances(edges, square, tau, p):
    """Squared distances to all centers, (clusters,) float32."""
    near = np.zeros(p.clusters, np.float32)
    for i in range(0, len(edges) - 1, 2):
        one, two = edges[i], edges[i + 1]
        x, y = one.value, two.value
        a, b = one.feature.s, two.feature.s
        for k in range(len(near)):
            near[k] += x * a[k] + y * b[k]
    if len(edges) % 2:
        last = edges[len(edges) - 1]
        x, a = last.value, last.feature.s
        for k in range(len(near)):
            near[k] += x * a[k]
    whole = np.float32(square)
    for k in range(len(near)):
        near[k] = max(whole + tau.norm[k] + tau.share[k] * near[k], np.float32(0))
    return near


def distance(edges, square, k, tau):
    """The squared distance to center k."""
    dot = 0.0
    for edge in edges:
        dot += np.float64(edge.value) * edge.feature.s[k]
    return max(square + tau.square[k] / tau.size[k] ** 2 - 2 * dot / tau.size[k], 0.0)


def assign(sample, edges, tau, p):
    """The sample goes to its nearest center."""
    sample.held = sample.cluster
    if sample.held >= 0:
        own = distance(edges, sample.square, sample.held, tau)
        if may_stay(sample, own, tau):
            enter(sample, sample.held, own, tau, p)
            return
    near = distances(edges, sample.square, tau, p)
    cluster = settle(sample, near, tau)
    enter(sample, cluster, distance(edges, sample.square, cluster, tau), tau, p)


def hold(feature, p):
    """The sums are those of the first centers, as if each were a sample of its own."""
    for k in range(p.clusters):
        feature.sums[k] = feature.s[k]


def join(sample, edges, tau, p):
    """The nearest center of a sample of a mini-batch."""
    sample.cluster = least(distances(edges, sample.square, tau, p))
    tau.joined[sample.cluster] += 1


def add(sample, edges):
    """The sums of its cluster grow by a sample."""
    for edge in edges:
        edge.feature.touched = max(edge.feature.touched, 1)
        edge.feature.sums[sample.cluster] += edge.value


def squared(edges):
    """The square of a sample."""
    square = 0.0
    for edge in edges:
        square += np.float64(edge.value) ** 2
    return square


def seek(sample, edges, tau, p):
    """The squared distance of a held-out sample to its nearest center."""
    square = squared(edges)
    near = distances(edges, square, tau, p)
    tau.test_squares += distance(edges, square, least(near), tau)


def nearest(sample, edges, tau, p):
    """The cluster of a new sample."""
    return least(distances(edges, squared(edges), tau, p))


def tested(tau):
    """The inertia of held-out samples."""
    tau.test_inertia = tau.test_squares


def gather(sample, edges):
    """Samples that have changed their clusters leave the sums of one for those of the other."""
    if sample.held != sample.cluster:
        for edge in edges:
            feature = edge.feature
            feature.touched = max(feature.touched, 1)
            feature.sums[sample.cluster] += edge.value
            if sample.held >= 0:
                feature.sums[sample.held] -= edge.value


def move(feature, tau, p):
    """The sums of a feature, and what their squares and their products with the old ones gain."""
    if feature.touched:
        for k in range(p.clusters):
            old, new = np.float64(feature.s[k]), np.float64(np.float32(feature.sums[k]))
            feature.s[k] = new
            tau.grown[k] += new * new - old * old
            tau.crossed[k] += old * (new - old)


def measure(sample, edges, tau):
    """The square of a sample, and its part in the mean."""
    square = 0.0
    for edge in edges:
        square += np.float64(edge.value) ** 2
        edge.feature.shown[0] += edge.value
    sample.square += square
    tau.spread += square


def mean(feature, tau):
    """The mean of a feature, squared."""
    tau.mean_square += (feature.shown[0] / tau.n) ** 2
    tau.features += 1


def show(sample, edges, tau):
    """A candidate tells its features what it has of them."""
    if stands(sample, tau):
        for edge in edges:
            edge.feature.shown[sample.group] += edge.value


def show_all(sample, edges, tau):
    """The same, where there is a candidate for each center."""
    if stands(sample, tau):
        for edge in edges:
            edge.feature.sums[sample.group] += edge.value


def see(feature, tau):
    """The last center has of a feature what the best of its candidates had; the new ones."""
    if tau.chosen > 0:
        adopt(feature, tau)
    for t in range(len(feature.trial)):
        feature.trial[t] = feature.shown[t]
        tau.shown_square[t] += np.float64(feature.trial[t]) ** 2


def adopt(feature, tau):
    """The best candidate is a center."""
    feature.s[tau.at] = feature.trial[tau.best] * np.float32(tau.found)


def adopt_all(feature, tau, p):
    """All candidates are centers."""
    for k in range(p.clusters):
        feature.s[k], feature.sums[k] = feature.sums[k], 0.0
        tau.grown[k] += np.float64(feature.s[k]) ** 2


def weigh(sample, edges, tau):
    """The squared distances to the candidates."""
    dots = np.zeros(len(sample.tried), np.float32)
    for edge in edges:
        for t in range(len(dots)):
            dots[t] += edge.value * edge.feature.trial[t]
    for t in range(len(dots)):
        gain(sample, t, sample.square + tau.trial_square[t] - 2 * dots[t], tau)


def shown(tau):
    """The squares of the candidates are known."""
    tau.trial_square[:] = tau.shown_square


def chosen(tau):
    """The next center is known, and its square."""
    start.choose(tau)
    tau.square[tau.at] = tau.trial_square[tau.best] if tau.found else 0.0
    tau.size[tau.at] = tau.found
    place(tau)


def drawn(tau):
    """The candidates of a random start are known; their clusters are of one sample."""
    tau.lowest[: len(tau.lots)] = tau.lots
    tau.size[:] = np.isfinite(tau.lots)


def placed(tau):
    """Random centers are known."""
    tau.square[:] = tau.grown
    place(tau)


def counted(tau):
    """How many samples there are."""
    tau.n, tau.variance, tau.farthest = tau.samples, tau.spread, -1


def varied(tau):
    """The mean variance of a feature."""
    tau.variance = (tau.variance / tau.n - tau.mean_square) / tau.features


def centre(tau):
    """The centers have moved."""
    square = tau.square + tau.grown
    lloyd.shift(tau, lloyd.drifts(tau, square, tau.square + tau.crossed))
    tau.square[:], tau.size[:] = square, tau.members
    place(tau)


def grow(tau):
    """The centers have moved by a mini-batch: sums and sizes are those of all samples so far."""
    tau.square[:] += tau.grown
    tau.size[:] += tau.joined
    place(tau)


class SparseKMeans(Clusters):
    """Clusters of sparse samples, by Lloyd's algorithm or mini-batches."""

    input = Bags()
    sample = Vertex(whole=True, **of_sample(mirror, {"kept": True}, {}))
    feature = Vertex(
        s=value("f4", "clusters"),
        sums=shared("f8", "clusters", kept=False),
        touched=delta("i1", combine="max"),
        trial=value("f4", start.trials, kept=False),
        shown=delta("f8", start.trials),
    )
    entry = Edge("sample", "feature", value=data("f4"))
    tau = Context(
        shown_square=total(start.trials),
        grown=total("clusters"),
        crossed=total("clusters"),
        **CONTEXT,
    )

    def setup(self):
        known = [
            Exchange(None, enter=start.begin),
            Exchange(measure, over="sample", split=8),
            GlobalSync(counted),
            Apply("feature", mean),
            GlobalSync(varied),
        ]
        first = (
            self._random() if self.start == "random" else [self._greedy(), Apply("feature", adopt)]
        )
        if self.batch:
            return [*known, *first, Apply("feature", hold)]
        return [*known, *first, Exchange(assign, over="sample"), GlobalSync(judge)]

    def _random(self):
        return [
            Exchange(None, enter=start.draw_alike),
            GlobalSync(drawn),
            Exchange(show_all, over="sample", split=8),
            Apply("feature", adopt_all),
            GlobalSync(placed),
        ]

    def _greedy(self):
        return Repeat(
            Exchange(None, enter=start.draw),
            GlobalSync(start.called),
            Exchange(show, over="sample", split=8),
            Apply("feature", see),
            GlobalSync(shown),
            Exchange(weigh, over="sample"),
            GlobalSync(chosen),
            times="clusters",
        )

    def _batches(self):
        part = MiniBatch(
            Exchange(join, over="sample"),
            Exchange(add, over="sample", split=8),
            Apply("feature", move),
            GlobalSync(grow),
            vertices=self.batch,
        )
        anew = Exchange(None, enter=forget), Exchange(assign, over="sample")
        return [part, *anew, GlobalSync(judge_anew)]

    def stages(self):
        if self.batch:
            return self._batches()
        return [
            Exchange(None, enter=relocate),
            Exchange(gather, over="sample", split=8),
            Apply("feature", move),
            GlobalSync(centre),
            Exchange(assign, over="sample"),
            GlobalSync(judge),
        ]

    def evaluate(self, cluster):
        held = Exchange(seek, over="sample", held_out=True), GlobalSync(tested)
        return [*held] if cluster.has_test else []

    def predict(self):
        return Score(nearest, over="sample", name="cluster", whole=True)
