"""The speed at which the gradient of a mini-batch may change, by which sgd chooses its steps: for b
of n samples

    L = bend (lambda / n + square / b)

(expected smoothness: Gower et al., "SGD: general analysis and improved rates", ICML 2019, section
3.2, with the mean in place of the largest square). `bend` is the greatest curvature of the loss,
lambda the largest eigenvalue of X^T C X, and `square` the mean of c |x|^2. An intercept is a column
of ones in X; its part of v is tau.d. lambda is found by the power method:

    v = (1, ..., 1)
    ROUNDS times: v = X^T C X v,  lambda = |v|,  v = v / lambda
"""

from __future__ import annotations

import math

from tux.program.fields import total, value
from tux.stages import Barrier, Exchange, GlobalSync, Repeat, Zip

ROUNDS = 8
ABOVE = 1.1  # the power method comes from below

CONTEXT = {name: total() for name in ("squares_of_x", "norms")}
CONTEXT |= {name: value("f8", kept=False) for name in ("norm", "mean_square", "curvature")}


def begin(feature, tau):
    """Set the first v."""
    feature.d = 1.0
    tau.norms += 1.0


def square(sample, edges, tau, p):
    """Add up c |x|^2 of a sample."""
    part = 1.0 if p.fit_intercept else 0.0
    for edge in edges:
        part += edge.value * edge.value
    tau.squares_of_x += sample.c * part


def keep_norm(tau, p):
    """Set |v|, and the mean of c |x|^2."""
    tau.d = 1.0 if p.fit_intercept else 0.0
    tau.norm = math.sqrt(tau.norms + tau.d)
    tau.mean_square = tau.squares_of_x / max(tau.size, 1.0)


def multiply_forth(sample, edges, tau):
    """Compute C X v."""
    along = tau.d
    for edge in edges:
        along += edge.value * edge.feature.d
    sample.along = sample.c * along
    tau.of_b += sample.along


def multiply_back(feature, edges):
    """Compute X^T C X v."""
    part = 0.0
    for edge in edges:
        part += edge.value * edge.sample.along
    feature.gathered += part


def next_vector(feature, tau):
    """Set the next v, not yet divided by its length."""
    feature.d = feature.gathered / tau.norm
    tau.norms += feature.d * feature.d


def measure(tau, p):
    """Set |v|, which was made of a v of length 1."""
    tau.d = tau.of_b / tau.norm if p.fit_intercept else 0.0
    tau.norm = max(math.sqrt(tau.norms + tau.d * tau.d), 1e-300)


def set_smoothness(tau):
    """Set L, in `curvature`."""
    mean = ABOVE * tau.norm / max(tau.size, 1.0)
    tau.curvature = max(tau.bend * (mean + tau.mean_square / tau.batch), 1e-300)


def smoothness_stages():
    """Return the stages that find L."""
    power = (
        Exchange(multiply_forth),
        Exchange(multiply_back, additive=True),
        Zip("feature", next_vector, gather=True),
    )
    return [
        Barrier(),
        Zip("feature", begin),
        Exchange(square, over="sample"),
        GlobalSync(keep_norm),
        Repeat(*power, GlobalSync(measure), times=ROUNDS),
        GlobalSync(set_smoothness),
    ]
