"""The UDFs of samples that have a margin for each class, in training (`tux.apps.linear.softmax`).

The functions have the names of those in `start.py`, `lbfgs.py`, `newton.py` and `stochastic.py`,
which are for samples with one margin. Functions of features are the same, and called for each entry
of a weight.
"""

from __future__ import annotations

from tux.apps.linear.softmax import bend, margins


def weigh(sample, tau):
    """Add up the weights, and those of each class."""
    tau.samples += 1
    sample.c = sample.weight
    for k in range(len(sample.along)):
        sample.along[k] = 0.0
    tau.weights += sample.c
    tau.labels[int(sample.label)] += sample.c


def centre(sample, tau):
    """Begin the margins with the intercepts."""
    for k in range(len(sample.m)):
        sample.m[k] = tau.b[k]


def curve(feature, edges):
    """Add up the curvature of the losses along a feature at w = 0, but for a factor."""
    for edge in edges:
        for k in range(len(feature.gathered)):
            feature.gathered[k] += edge.sample.c * edge.value * edge.value


def gather(feature, edges):
    """Add up the gradient of the losses along a feature."""
    for edge in edges:
        for k in range(len(feature.gathered)):
            feature.gathered[k] += edge.value * edge.sample.r[k]


def project(sample, edges, tau, p):
    """Keep margins after the last step, and their changes along d, and add up how the losses bend
    along d.
    """
    for k in range(len(sample.m)):
        sample.m[k] += tau.step * sample.along[k]
        sample.along[k] = tau.d[k]
    for edge in edges:
        for k in range(len(sample.m)):
            sample.along[k] += edge.value * edge.feature.d[k]
    if sample.c > 0:
        for k in range(len(sample.m)):
            sample.r[k] /= sample.c
        bent = p.loss.curvature(sample.r, sample.along, int(sample.label))
        tau.bent += sample.c * bent


def attempt(sample, tau, p):
    """Add up the loss and its slope where the search is."""
    for k in range(len(sample.m)):
        sample.r[k] = sample.m[k] + tau.step * sample.along[k]
    tau.loss += sample.c * p.loss.f(sample.r, int(sample.label))
    for k in range(len(sample.m)):
        sample.r[k] *= sample.c
        tau.of_b[k] += sample.r[k]
        tau.slope += sample.r[k] * sample.along[k]


def settle(sample, tau):
    """Make the last step of the margins."""
    for k in range(len(sample.m)):
        sample.m[k] += tau.step * sample.along[k]


def multiply(sample, edges, tau, p):
    """Add a sample's part of H q to its features; `along` holds the changes of its margins along
    q, and then those of its slopes.
    """
    for k in range(len(sample.m)):
        sample.along[k] = tau.d[k]
    for edge in edges:
        for k in range(len(sample.m)):
            sample.along[k] += edge.value * edge.feature.d[k]
    if sample.c > 0:
        tau.bent += bend(sample.along, sample.r, sample.c, int(sample.label))
        for k in range(len(sample.m)):
            tau.of_b[k] += sample.along[k]
        for edge in edges:
            for k in range(len(sample.m)):
                edge.feature.gathered[k] += edge.value * sample.along[k]


def differentiate(sample, edges, tau, p):
    """Add a sample's gradient to its features."""
    margins(sample.m, edges, tau)
    p.loss.f(sample.m, int(sample.label))
    for k in range(len(sample.m)):
        sample.m[k] *= sample.c
    for edge in edges:
        for k in range(len(sample.m)):
            edge.feature.gathered[k] += edge.value * sample.m[k]


def differentiate_all(sample, edges, tau, p):
    """Add a sample's gradient to its features and to the intercepts."""
    differentiate(sample, edges, tau, p)
    for k in range(len(sample.m)):
        tau.of_b[k] += sample.m[k]
