"""Linear models before the first epoch: weights of samples, and what parameters mean."""

from __future__ import annotations

from tux.apps.linear.losses import LOSSES
from tux.apps.linear.penalties import PENALTIES
from tux.apps.linear.stochastic import samples_in, sizes


def weigh(sample, tau, p):
    """Classes have weights too."""
    tau.samples += 1
    sample.c = sample.weight * p.positive_weight if sample.label > 0 else sample.weight
    sample.m = sample.along = 0.0


def beginning(program):
    """What follows from the parameters."""
    l1, l2 = PENALTIES[program.penalty]

    def begin(tau, p):
        tau.size = tau.samples
        tau.l1, tau.l2 = p.l1 * l1, p.l2 * l2
        tau.bend = LOSSES[program.loss].bend
        tau.batch = max(1.0, samples_in(sizes(p.batch), tau.samples))

    return begin
