"""Multinomial logistic regression: the loss softmax of a sample of class y, of K classes that each
have weights w_k and an intercept b_k,

    -log p_y,    p_k = exp(m_k) / sum_j exp(m_j),    m_k = x.w_k + b_k

whose slope d loss / d m_k is p_k - [k = y].

A sample has a margin for each class. These are the functions of samples for training, under the
names that they have in `start.py`, `lbfgs.py` and `stochastic.py` for samples with one margin.
Those of features are the same, and called for each entry of a weight.
"""

from __future__ import annotations

import math

import numpy as np

LEAST = 0.5
"""Samples that a class has at least, for its first intercept."""


def shares(m):
    """Turn margins m into probabilities; returns log sum_k exp(m_k), without an overflow."""
    top = m[0]
    for k in range(1, len(m)):
        top = max(top, m[k])
    both = 0.0
    for k in range(len(m)):
        m[k] = math.exp(m[k] - top)
        both += m[k]
    for k in range(len(m)):
        m[k] /= both
    return top + math.log(both)


def slopes(m, y):
    """Turn margins m into slopes; returns the loss."""
    own = m[y]
    loss = shares(m) - own
    m[y] -= 1.0
    return loss


def margins(m, edges, tau):
    """Set m to x.w_k + b_k."""
    for k in range(len(m)):
        m[k] = tau.b[k]
    for edge in edges:
        for k in range(len(m)):
            m[k] += edge.value * edge.feature.w[k]


def weigh(sample, tau):
    """The sums of weights, and of those of each class."""
    tau.samples += 1
    sample.c = sample.weight
    for k in range(len(sample.along)):
        sample.along[k] = 0.0
    tau.weights += sample.c
    tau.labels[int(sample.label)] += sample.c


def centre(sample, tau):
    """Margins begin with the intercepts."""
    for k in range(len(sample.m)):
        sample.m[k] = tau.b[k]


def constants(weights):
    """Intercepts that suit classes of these weights, (K,), where there are no weights of
    features. They sum to 0.
    """
    logs = np.log(np.maximum(weights, LEAST))
    return logs - logs.mean()


def curve(feature, edges):
    """The curvature of the losses along a feature at w = 0, but for a factor."""
    for edge in edges:
        for k in range(len(feature.gathered)):
            feature.gathered[k] += edge.sample.c * edge.value * edge.value


def gather(feature, edges):
    """The gradient of the losses along a feature."""
    for edge in edges:
        for k in range(len(feature.gathered)):
            feature.gathered[k] += edge.value * edge.sample.r[k]


def project(sample, edges, tau):
    """Margins after the last step, and their changes along d."""
    for k in range(len(sample.m)):
        sample.m[k] += tau.step * sample.along[k]
        sample.along[k] = tau.d[k]
    for edge in edges:
        for k in range(len(sample.m)):
            sample.along[k] += edge.value * edge.feature.d[k]


def trials(loss):
    """A UDF that adds up the loss and its slope where the search is."""

    def attempt(sample, tau):
        for k in range(len(sample.m)):
            sample.r[k] = sample.m[k] + tau.step * sample.along[k]
        tau.loss += sample.c * loss(sample.r, int(sample.label))
        for k in range(len(sample.m)):
            sample.r[k] *= sample.c
            tau.of_b[k] += sample.r[k]
            tau.slope += sample.r[k] * sample.along[k]

    return attempt


def differentiating(loss, *, intercept):
    """A UDF that adds a sample's gradient to its features, and to the intercepts if there are
    some.
    """

    def differentiate(sample, edges, tau):
        scatter(sample, edges, tau)

    def differentiate_all(sample, edges, tau):
        scatter(sample, edges, tau)
        for k in range(len(sample.m)):
            tau.of_b[k] += sample.m[k]

    def scatter(sample, edges, tau):
        margins(sample.m, edges, tau)
        loss(sample.m, int(sample.label))
        for k in range(len(sample.m)):
            sample.m[k] *= sample.c
        for edge in edges:
            for k in range(len(sample.m)):
                edge.feature.gathered[k] += edge.value * sample.m[k]

    return differentiate_all if intercept else differentiate
