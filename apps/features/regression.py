"""Vectors of features (Agarwal and Chen, Regression-based latent factor models, KDD 2009).

A user or an item v has features, such as genres or a town. Each feature has a vector F. The mean of
those of v is its prior, c. The vector q of v is pulled towards c where it would be pulled to 0
without features; so q = c + what the pairs of v say beside its features, and a vertex without pairs
has q = c.

The vectors F are the regression of all q on features: of the vertices v that have pairs and n_v
features each,

    min sum over v of |q_v - mean of F_a over its features a|^2 + reg sum over a of |F_a|^2.

A sweep lets all F move at once, by

    F_a += (sum over v of (q_v - c_v) / n_v - reg F_a) / (sum over v of 1 / n_v + reg).

The divisor is the sum of the row of the matrix of the normal equations, which has no negative
entries. So a sweep never makes the objective larger (Hunter and Lange 2004).
"""

from __future__ import annotations

from typing import Any

from tux.program.fields import delta, value
from tux.program.params import param
from tux.program.types import Vertex

FEATURE_REG = param(1.0, "L2 penalty on vectors of features, in vertices that have one", low=0)
"""The parameter of programs with features."""


def end_type(vertex, width):
    """Return the type of an end that has features: `vertex` with more fields. q has `width`
    numbers.
    """
    fields: dict[str, Any] = {
        **vertex.fields,
        "prior": value(width, kept=False),
        "gathered": delta(width),
        "features": value("f4"),
        "listed": delta("f4"),
        "pairs": value("f4", kept=False),
        "found": delta("f4"),
    }
    return Vertex(whole=vertex.whole, **fields)


def feature_type(width):
    """Return the type of a feature, whose vector has `width` numbers."""
    return Vertex(
        f=value(width), rest=delta(width), weight=value("f4", kept=False), listed=delta("f4")
    )


def count_features(v):
    """Note what has been counted of a vertex: its features, and its pairs."""
    v.features, v.pairs = v.listed, v.found


def list_feature(v, feature):
    """Add to a feature the weight of a vertex that has it."""
    feature.listed += 1 / v.features if v.pairs > 0 else 0.0


def keep_weight(v):
    """Keep the sum of the weights of the vertices that have a feature."""
    v.weight = v.listed


def add_rest(v, feature, number, p):
    """Add to a feature what it does not explain of a vertex that has it. ``number(v, k, p)`` is the
    k-th number of q.
    """
    if v.pairs > 0:
        for k in range(len(v.prior)):
            feature.rest[k] += (number(v, k, p) - v.prior[k]) / v.features


def move_feature(v, p):
    """Move the vector of a feature by a sweep."""
    size = v.weight + p.feature_reg
    if size > 0:
        for k in range(len(v.f)):
            v.f[k] += (v.rest[k] - p.feature_reg * v.f[k]) / size


def add_feature(v, feature):
    """Add up the vectors of a vertex's features."""
    for k in range(len(feature.f)):
        v.gathered[k] += feature.f[k]


def keep_prior(v):
    """Set the prior of a vertex to the mean of its features' vectors."""
    if v.features > 0:
        for k in range(len(v.prior)):
            v.prior[k] = v.gathered[k] / v.features


def beside_prior(v, k):
    """Return the k-th entry of a vector, without what features explain of it."""
    return v.f[k] - v.prior[k]
