"""Stochastic gradients: for each mini-batch of samples,

    for each sample: add c d loss / d m times its entries to the gradients of its features
    for each feature with an entry in the mini-batch: update its weight

The updates are those of `tux.apps.linear.updates`. Only features of the mini-batch change. So the
penalty of a feature is divided among the mini-batches in which it occurs, whose members are the
same in each epoch, and Adam's t counts these.
"""

from __future__ import annotations

from types import SimpleNamespace

from tux.apps.linear import smoothness
from tux.apps.linear.smoothness import bounded
from tux.apps.linear.updates import BATCHES, STEPS, UPDATES, moments
from tux.program.fields import value
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Zip

CONTEXT = {
    **smoothness.CONTEXT,
    "batch": value("f8", kept=False),
    "portion": value("f8", kept=False),  # 1 / batch
    "rate": value("f8", kept=False),
    "passes": value("f8", kept=False),
    "moments_of_b": value("f8", moments, kept=False),
}


def touch(sample):
    """A sample of the mini-batch."""


def visit(feature):
    """Count a mini-batch in which the feature occurs."""
    feature.share += 1


def divide(feature, tau):
    """A feature's share of the penalty in each of these, divided by the size of a mini-batch."""
    feature.share = 1 / (tau.batch * feature.share) if feature.share > 0 else 0.0


def differentiating(slope, *, intercept):
    """A UDF that adds a sample's gradient to its features, and to the intercept if there is one."""

    def differentiate(sample, edges, tau, p):
        scatter(sample, edges, tau, p)

    def differentiate_all(sample, edges, tau, p):
        tau.of_b += scatter(sample, edges, tau, p)

    def scatter(sample, edges, tau, p):
        m = tau.b
        for edge in edges:
            m += edge.value * edge.feature.w
        r = sample.c * slope(sample.label, m, p.width)
        if r != 0:
            for edge in edges:
                edge.feature.gathered += edge.value * r
        return r

    return differentiate_all if intercept else differentiate


def shifting(update):
    """The step of the intercept, which is not penalised, as that of a feature."""

    def shift(tau, p):
        row = SimpleNamespace(w=tau.b, gathered=tau.of_b, moments=tau.moments_of_b, share=0.0)
        update(row, tau, p)
        tau.b = row.w

    return shift


def slowing(first, decay):
    """The rate of an epoch, from `first`."""

    def slow(tau):
        tau.rate = first / (1 + decay * tau.passes)
        tau.passes += 1

    return slow


def sizes(program):
    """The size of mini-batches as MiniBatch takes it: a share of the samples below 1, a number of
    them else.
    """
    batch = program.batch or BATCHES.get(program.solver, 1.0)
    return {"blocks": max(1, round(1 / batch))} if batch < 1 else {"vertices": round(batch)}


def samples_in(size, samples):
    """How many of the samples a mini-batch of such a size has, on average."""
    return samples / size["blocks"] if "blocks" in size else min(size["vertices"], samples)


def prepared(program, loss):
    """The stages before the first epoch: in how many mini-batches a feature occurs."""
    touches = Exchange(None, enter=touch, over="sample"), Apply("feature", visit)
    visits = MiniBatch(*touches, **sizes(program)), Zip("feature", divide)
    return [*visits, *(bounded() if program.solver == "sgd" else [])]


def epoch(program, loss):
    """The stages of an epoch."""
    update, intercept = UPDATES[program.solver], program.intercept
    steps = [
        Exchange(differentiating(loss.slope, intercept=intercept), over="sample"),
        Apply("feature", update),
        *([GlobalSync(shifting(update))] if intercept else []),
    ]
    # adagrad's steps fall by themselves
    decay = 0.0 if program.solver == "adagrad" else program.decay
    slow = GlobalSync(slowing(program.step or STEPS[program.solver], decay))
    return [slow, MiniBatch(*steps, **sizes(program))]
