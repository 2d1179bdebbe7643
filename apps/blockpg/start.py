"""BlockPG before the first pass: the intercept, the first penalty, and how far steps are damped."""

from __future__ import annotations

import numpy as np

CROWD = 0.5  # damping of features that step at once: 0 is none, 1 a bound on average


BLOCKS = 64  # of features in a pass, with several workers


def crowding(p):
    """Return how much a step is damped for each other feature of a sample that moves, where those
    of a block step at once, on workers that are up to `p.slack` clocks apart.
    """
    return CROWD * (p.slack + 1) / (p.blocks or BLOCKS)


def begin(tau, p):
    """Set the intercept and all else that follows from the weights of the samples."""
    tau.heaviest, tau.l1, tau.full, tau.stiff, tau.error = tau.most, p.l1, True, 1.0, 1.0
    tau.top, tau.anew, tau.changed = tau.heaviest * p.loss.bend, True, True
    tau.b = tau.before = p.loss.start(tau.up, tau.down) if p.fit_intercept else 0.0
    tau.level = 0.0 if p.loss.of_classes else tau.b


def begin_together(tau, p):
    """Begin a run in which features step at once, by damped steps."""
    begin(tau, p)
    tau.crowd = crowding(p)


def start_path(tau, p):
    """Set F, and the first penalty: along a path, the least one at which no weight moves."""
    tau.F, tau.mark, tau.largest = tau.loss, np.inf, max(tau.steepest, p.l1)
    tau.l1 = tau.largest if p.path > 1 else p.l1
