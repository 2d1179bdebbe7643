"""BlockPG between passes: whether a pass stands, how stiff the next one is, and whether it goes
over all features.

A pass that has raised F is undone unless the search (`tux.apps.blockpg.span`) mends it: F never
rises. If that was more than noise, the steps after it are stiffer.
"""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg.rounding import after_pass, after_search, is_lower
from tux.apps.blockpg.span import KEPT, direction, gain_of_intercept
from tux.apps.blockpg.start import crowding

SLOW = 1e-3  # a pass that lowers F by a smaller share is followed by a search
# passes over active features go on while they gain this share of the last full one's gain, at most
# so many
SHARE, MAX_PASSES_BETWEEN = 0.3, 8
# curvature after a pass that raised F, after another; its least share of the most that there is
STIFFER, SOFTER, FLOOR = 2.0, 0.7, 1 / 4
ROUNDING = 1e-14  # relative changes of F that mean nothing
NOISE = 1e-10  # relative rises of F that slopes may make, whose sums over entries have 32 bits


def decide(tau, p):
    """Compute, after a pass, F; whether it rose; whether the next pass is full; and the direction
    in which to search, if any.
    """
    tau.last, tau.last_penalty, tau.last_size = tau.F, tau.penalty, tau.size
    tau.penalty = tau.l1 * tau.absolute + p.l2 / 2 * tau.square
    tau.F, tau.size, tau.nonzeros = tau.loss + tau.penalty, tau.absolute, tau.nonzero
    gained, tau.rose = tau.last - tau.F, not tau.F <= tau.last * (1 + ROUNDING)
    tau.overshot = not tau.F <= tau.last * (1 + NOISE)
    after_pass(tau)
    tau.damping = tau.stiff * (max(1.0, tau.floored / tau.curved) if tau.curved > 0 else 1.0)
    tau.missed = gain_of_intercept(tau) if p.fit_intercept else 0.0
    tau.change, tau.last_mark = np.nan, tau.mark
    # since the last such pass, the searches after it and the passes between included
    if tau.full and not tau.overshot:
        tau.mark = min(tau.F, tau.last)  # what is a little above is undone
        if tau.last_mark < np.inf:
            tau.change = share_of_change(tau, tau.mark)
    if tau.full:
        # the first pass moves the samples most, and features at rest were looked at before it
        tau.gained_full, tau.since, tau.full = gained, 0, bool(tau.last_mark == np.inf)
    else:
        tau.since += 1
        tau.full = bool(gained <= SHARE * tau.gained_full or tau.since >= MAX_PASSES_BETWEEN)
    tau.moved[tau.at] = tau.b - tau.before
    slow = 1e-13 * tau.last < gained < SLOW * tau.last
    tau.x[:] = (
        direction(tau, p)
        if (tau.rose or slow or p.fit_intercept) and not tau.change <= p.tol
        else 0
    )


def share_of_change(tau, after):
    """Return by what share F has changed since the last mark; times how much more curvature the
    steps of the pass have expected than there is; and what the intercept has missed. So a pass that
    hardly moves, because its steps are short or the search was refused, is no sign of the optimum.
    """
    return tau.missed + tau.damping * abs(tau.last_mark - after) / max(after, 1e-300)


def accept_alone(tau, p):
    """Accept before a pass in which features step one by one."""
    accept(tau, p, 0.0)


def accept_together(tau, p):
    """Accept before a pass in which features step at once."""
    accept(tau, p, crowding(p))


def accept(tau, p, crowd):
    """Take the step if F is lower there; undo the pass if it raised F and still does; set how stiff
    the next pass is. Its steps are damped by `crowd`: a run that is resumed on another number of
    workers has another one than it began with.
    """
    trial = tau.loss + tau.trial_penalty
    tau.taken = bool(tau.searching and is_lower(trial, tau))
    tau.refused = bool(tau.searching and not tau.taken)
    if tau.taken:
        tau.F, tau.penalty, tau.size = trial, tau.trial_penalty, tau.trial_size
    tau.undone = bool(tau.rose and not tau.F <= tau.last)
    stiff, floor = tau.stiff, tau.floor
    if tau.overshot:
        most = p.loss.bend
        tau.stiff, tau.floor = tau.stiff * STIFFER, min(most, max(FLOOR * most, 4 * tau.floor))
    else:
        tau.stiff, tau.floor = (
            max(1.0, tau.stiff * SOFTER),
            tau.floor / 2 if tau.floor > 1e-6 else 0.0,
        )
    after_search(tau, p)
    tau.changed = bool(
        tau.taken
        or tau.undone
        or tau.anew
        or (stiff, floor) != (tau.stiff, tau.floor)
        or tau.crowd > 0
        or tau.crowd != crowd
    )
    tau.crowd = crowd
    if tau.undone:
        tau.backed += 1
        tau.b, tau.penalty, tau.F, tau.moved[:] = tau.before, tau.last_penalty, tau.last, 0
        tau.size = tau.last_size
    elif tau.taken:
        tau.b += tau.x[KEPT] + tau.x[:KEPT] @ tau.moved
        tau.moved[tau.at] = tau.b - tau.before
    tau.before, tau.top = tau.b, tau.heaviest * p.loss.bend * tau.stiff


def settle_weight(feature, tau):
    """Move a feature's weight where the search has led, or back."""
    if feature.rests >= KEPT:
        return
    if tau.undone:
        feature.w = feature.before
        for a in range(KEPT):
            feature.moved[a] = 0
    elif tau.taken:
        for a in range(KEPT):
            feature.w += tau.x[a] * feature.moved[a]
        feature.moved[tau.at] = feature.w - feature.before
    feature.before = feature.w


def close_pass(tau, p):
    """Set F to its present value, and, where m was made anew, its change; move on to the place of
    the next displacement.
    """
    if tau.undone or tau.anew:
        tau.F = tau.loss + tau.penalty
    if tau.anew and not np.isnan(tau.change):
        tau.change = share_of_change(tau, tau.F)
        tau.mark = tau.F
    tau.undone_passes = tau.backed if tau.backed else np.nan  # told once there is one
    tau.objective, tau.penalty_l1, tau.ended = (
        tau.F,
        tau.l1,
        bool(tau.change <= max(p.tol, ROUNDING)),
    )
    tau.at = (tau.at + 1) % KEPT
