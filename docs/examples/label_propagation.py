"""Communities by label propagation: each vertex takes the label that most of its neighbours have,
until no vertex wants another label.

Raghavan, Albert and Kumara, "Near linear time algorithm to detect community structures in
large-scale networks", Physical Review E 76, 2007. Of labels that are equally frequent, a vertex
keeps its own, or else takes the smallest. If all vertices changed at the same time, neighbours
could swap their labels for ever. So each change is made with probability 1/2 only. The file holds
an edge on each line, two ids. Each edge stands in both directions: `a b` and `b a`.

    tux run docs/examples/label_propagation.py edges.txt --out communities

The label of a community is the number of one vertex, which is a row of `model/node.parquet`.
"""

import numpy as np

from tux import (
    Apply,
    Barrier,
    Context,
    Edge,
    Exchange,
    GlobalSync,
    Program,
    Vertex,
    delta,
    metric,
    param,
    total,
    value,
)


def begin(node):
    node.label = node.id


def vote(src, edges):
    """Choose the most frequent label: the longest run of equal labels when they are sorted."""
    labels = np.empty(len(edges), np.int32)
    for i in range(len(edges)):
        labels[i] = edges[i].dst.label
    labels.sort()
    chosen, most, run = src.label, 0, 0
    for i in range(len(labels)):
        run = run + 1 if i > 0 and labels[i] == labels[i - 1] else 1
        if run > most or (run == most and labels[i] == src.label):
            chosen, most = labels[i], run
    src.chosen += chosen


def take(node, tau, p, rng):
    if node.chosen != node.label:
        tau.changes += 1
        if rng.uniform() < p.probability:
            node.label = node.chosen


def finish(tau):
    tau.unsettled = tau.changes


class LabelPropagation(Program):
    """Communities of a graph whose edges have no direction."""

    probability: float = param(0.5, "of making a change, in each epoch", low=0, high=1)
    node = Vertex(label=value("i4"), chosen=delta("i4"))
    link = Edge("node", "node", whole="src")
    tau = Context(changes=total("i8"), unsettled=metric())
    epochs = 100

    def setup(self):
        return [Apply("node", begin)]

    def stages(self):
        # all vote on the labels of one epoch
        return [Barrier(), Exchange(vote), Apply("node", take), GlobalSync(finish)]

    def converged(self, metrics):
        return metrics["unsettled"] == 0
