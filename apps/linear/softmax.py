"""Multinomial logistic regression: the loss softmax of a sample of class y, of K classes that each
have weights w_k and an intercept b_k,

    -log p_y,    p_k = exp(m_k) / sum_j exp(m_j),    m_k = x.w_k + b_k

whose slope d loss / d m_k is p_k - [k = y].
"""

from __future__ import annotations

import math

import numpy as np

MIN_CLASS_SAMPLES = 0.5
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


def curvature(slopes, along, y):
    """Return the second derivative of the loss along a change of the margins, where it has these
    slopes.
    """
    mean = square = 0.0
    for k in range(len(slopes)):
        p = slopes[k] + 1.0 if k == y else slopes[k]
        mean += p * along[k]
        square += p * along[k] * along[k]
    return square - mean * mean


def bend(along, slopes, c, y):
    """Turn changes of the margins into those of the slopes, which are `c` times those of the loss;
    returns the inner product of both.
    """
    mean = both = 0.0
    for k in range(len(along)):
        p = slopes[k] / c + 1.0 if k == y else slopes[k] / c
        mean += p * along[k]
    for k in range(len(along)):
        p = slopes[k] / c + 1.0 if k == y else slopes[k] / c
        change = c * p * (along[k] - mean)
        both += change * along[k]
        along[k] = change
    return both


def margins(m, edges, tau):
    """Set m to x.w_k + b_k."""
    for k in range(len(m)):
        m[k] = tau.b[k]
    for edge in edges:
        for k in range(len(m)):
            m[k] += edge.value * edge.feature.w[k]


def first_intercepts(weights):
    """Return intercepts that suit classes of these weights, (K,), where there are no weights of
    features. They sum to 0.
    """
    logs = np.log(np.maximum(weights, MIN_CLASS_SAMPLES))
    return logs - logs.mean()
