"""Stochastic gradients: for each mini-batch of samples,

    for each sample: add c d loss / d m times its entries to the gradients of its features
    for each feature with an entry in the mini-batch: update its weight

The updates are those of `tux.apps.linear.updates`. Only features of the mini-batch change. So the
penalty of a feature is divided among the mini-batches in which it occurs, whose members are the
same in each epoch, and Adam's t counts these.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from tux.apps.linear import smoothness
from tux.apps.linear.batches import sizes_of
from tux.apps.linear.smoothness import smoothness_stages
from tux.apps.linear.updates import UPDATES, count_moments
from tux.apps.linear.widths import set_fields, weight_shape
from tux.program.fields import master, value
from tux.stages import Apply, Exchange, ForEach, GlobalSync, MiniBatch, Zip

FEATURE: dict[str, Any] = {"moments": master("f4", weight_shape, count_moments, kept=False)}
CONTEXT = {
    **smoothness.CONTEXT,
    "batch": value("f8", kept=False),
    "portion": value("f8", kept=False),  # 1 / batch
    "rate": value("f8", kept=False),
    "passes": value("f8", kept=False),
    "moments_of_b": value("f8", weight_shape, count_moments, kept=False),
}


def touch(sample):
    """Visit a sample of the mini-batch."""


def visit(feature):
    """Count a mini-batch in which the feature occurs."""
    feature.share += 1


def divide(feature, tau):
    """Set a feature's share of the penalty in each of these mini-batches, divided by their size."""
    feature.share = 1 / (tau.batch * feature.share) if feature.share > 0 else 0.0


def differentiate(sample, edges, tau, p):
    """Add a sample's gradient to its features; return the part of the intercept."""
    m = tau.b
    for edge in edges:
        m += edge.value * edge.feature.w
    r = sample.c * p.loss.slope(sample.label, m, p.epsilon)
    if r != 0:
        for edge in edges:
            edge.feature.gathered += edge.value * r
    return r


def differentiate_all(sample, edges, tau, p):
    """Add a sample's gradient to its features and to the intercept."""
    tau.of_b += differentiate(sample, edges, tau, p)


def shift(tau, p):
    """Make the step of the intercept, which is not penalised, as that of a feature."""
    parts = tau.b, tau.of_b, tau.moments_of_b
    if np.ndim(tau.b):
        set_fields(tau, b=np.array([step(*part, tau, p) for part in zip(*parts, strict=True)]))
    else:
        set_fields(tau, b=step(*parts, tau, p))


def step(b, of_b, moments, tau, p):
    """Return an intercept after the step."""
    row = SimpleNamespace(w=b, gathered=of_b, moments=moments, share=0.0)
    p.solver.update(row, tau, p)
    return row.w


def set_rate(tau, p):
    """Set the rate of an epoch; adagrad's steps fall by themselves."""
    decay = p.decay if p.solver.slows else 0.0
    tau.rate = (p.learning_rate or p.solver.rate) / (1 + decay * tau.passes)
    tau.passes += 1


NARROW = SimpleNamespace(differentiate=differentiate, differentiate_all=differentiate_all)
"""The functions of samples with one margin."""


def start_stages(program, loss):
    """Return the stages before the first epoch: they count in how many mini-batches a feature
    occurs.
    """
    touches = ForEach("sample", touch), Apply("feature", visit, each="w")
    visits = MiniBatch(*touches, **sizes_of(program)), Zip("feature", divide, each="w")
    return [*visits, *(smoothness_stages() if program.solver == "sgd" else [])]


def epoch(program, loss):
    """Return the stages of an epoch."""
    of, intercept = loss.wide or NARROW, program.fit_intercept
    steps = [
        Exchange(of.differentiate_all if intercept else of.differentiate, over="sample"),
        Apply("feature", UPDATES[program.solver].update, each="w"),
        *([GlobalSync(shift)] if intercept else []),
    ]
    return [GlobalSync(set_rate), MiniBatch(*steps, **sizes_of(program))]
