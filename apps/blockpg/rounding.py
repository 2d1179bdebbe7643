"""BlockPG's margins m are updated, so they drift from Xw + b, and F with them: how far, and when
they are made anew.

`error` bounds the drift of m, `errors[a]` that of m's displacement a from X times w's displacement
a, both in roundings of one pass over terms of the size of those that a margin sums:

    a pass:            error += 1,  errors[at] = 1                (the drift before it cancels)
    a search taken:    error += s,  errors[at] += s,              s = sum_a |x_a| errors[a]
    a pass undone:     error as before the pass,  errors = 0      (displacements are then 0)
    m made anew:       error = 1, and of m - before, where it is taken again, errors[at] = error
                       before the pass + 1

A search may be ten times a displacement, and its result is a displacement of the next one. So s
grows by that factor where the loss is flat along a direction and the penalty is not, and only m
made anew ends it.
"""

from __future__ import annotations

import numpy as np

EPSILON = 2.0**-52
LIMIT = 1e4  # of error: m is then made anew, which costs the entries of the weights that are not 0


def after_pass(tau):
    """Set the errors after a pass."""
    tau.last_error, tau.error, tau.errors[tau.at] = tau.error, tau.error + 1, 1.0


def search_error(tau):
    """Return the error s that the step x brings."""
    return float(np.abs(tau.x[: len(tau.errors)]) @ tau.errors)


def is_lower(trial, tau):
    """Return whether the loss and penalty `trial` at the end of the step x are less than F by more
    than rounding.
    """
    return trial < tau.F * (1 - EPSILON * search_error(tau))


def after_search(tau, p):
    """Set the errors after the step, or after a pass is undone. Have m made anew where they exceed
    LIMIT, and before a run ends by `tol`.
    """
    if tau.undone:
        tau.error, tau.errors[:] = tau.last_error, 0
    elif tau.taken:
        step = search_error(tau)
        tau.error, tau.errors[tau.at] = tau.error + step, tau.errors[tau.at] + step
    tau.anew = bool(tau.error > LIMIT or tau.change <= p.tol)
    if tau.anew:
        tau.error, tau.errors[tau.at] = 1.0, tau.last_error + 1 if tau.taken else tau.errors[tau.at]
