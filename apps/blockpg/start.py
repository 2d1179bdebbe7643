"""BlockPG before the first pass: the intercept, the first penalty, and how far steps are damped."""

from __future__ import annotations

import numpy as np

CROWD = 0.5  # damping of features that step at once: 0 is none, 1 a bound on average


def crowding(blocks, slack):
    """Return how much a step is damped for each other feature of a sample that moves: features step
    at once in `blocks` blocks (0: one by one) of workers that are up to `slack` clocks apart.
    """
    return CROWD * (slack + 1) / blocks if blocks else 0.0


def beginning(crowd):
    """Return a UDF that sets the intercept and all else that follows from the weights of the
    samples; steps are damped by `crowd`.
    """

    def begin(tau, p):
        tau.crowd = crowd
        tau.heaviest, tau.l1, tau.full, tau.stiff, tau.error, tau.changed = (
            tau.most,
            p.l1,
            True,
            1.0,
            1.0,
            True,
        )
        tau.top, tau.anew = tau.heaviest / 4, True
        tau.b = tau.before = (
            np.log(tau.up / tau.down) if p.fit_intercept and tau.up > 0 and tau.down > 0 else 0.0
        )

    return begin


def start_path(tau, p):
    """Set F, and the first penalty: along a path, the least one at which no weight moves."""
    tau.F, tau.mark, tau.largest = tau.loss, np.inf, max(tau.steepest, p.l1)
    tau.l1 = tau.largest if p.path > 1 else p.l1
