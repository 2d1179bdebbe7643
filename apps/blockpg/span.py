"""BlockPG's search in the span of the last passes' displacements of w and m.

With directions d_a (the last displacements; and a constant for m alone, which is the intercept),
F(w + sum x_a d_a) is modelled by its slopes and curvatures at m; x solves the smooth model and is
then scaled, penalty included, to the best of a few shares. What is taken must lower F itself
(`tux.apps.blockpg.passes`).
"""

from __future__ import annotations

import numpy as np

KEPT = 3  # displacements
ALL = KEPT + 1  # directions, the constant being the last
SHARES = (1.0, 0.5, 0.25, 0.125)  # of the model's minimiser that are tried
RIDGE, REACH = 1e-8, 10.0  # of the scaled problem; the largest coefficient


def add_displacement(feature, tau, p):
    """Note how far the last pass has moved the feature's weight. Add up its part of the penalties,
    and of their slopes along its last displacements; these are 0 where all of them and the weight
    are 0.
    """
    w = feature.w
    if w == 0 and feature.rests >= KEPT:
        return
    feature.moved[tau.at] = w - feature.before
    feature.rests = feature.rests + 1 if w == 0 and feature.before == 0 else 0
    tau.absolute += abs(w)
    tau.square += w * w
    tau.nonzero += w != 0
    for a in range(KEPT):
        if w != 0:
            tau.signs[a] += feature.moved[a] if w > 0 else -feature.moved[a]
        if p.l2 > 0:
            tau.pulls[a] += w * feature.moved[a]
            for b in range(a, KEPT):
                tau.norms[a, b] += feature.moved[a] * feature.moved[b]


def symmetric(half):
    """Return the symmetric matrix of which `half` has the sums on and above the diagonal."""
    return half + half.T - np.diag(np.diag(half))


def direction(tau, p):
    """Return the minimiser of the smooth model, bounded. Near the end displacements vanish, and
    their coefficients reach the bound; so the constant, which is the intercept, is not bounded, but
    has a minimum of its own. After a search that was refused, as where it would cross a kink, it is
    searched alone: nothing else moves it.
    """
    with np.errstate(all="ignore"):  # a pass may have gone beyond all numbers
        tau.model[:], tau.model_slopes[:] = symmetric(tau.curves), tau.slopes
        x, curves, slopes = np.zeros(ALL), tau.model.copy(), tau.slopes.copy()
        curves[:KEPT, :KEPT] += p.l2 * symmetric(tau.norms)
        slopes[:KEPT] += p.l2 * tau.pulls + tau.l1 * tau.signs
    live = np.diag(curves) > 0
    if live.any() and np.isfinite(curves).all():
        scale = 1 / np.sqrt(np.diag(curves)[live])
        small = curves[np.ix_(live, live)] * scale * scale[:, None] + RIDGE * np.eye(len(scale))
        solution = -np.linalg.solve(small, slopes[live] * scale) * scale
        bound = min(1.0, REACH / max(np.abs(solution).max(), 1e-300))
        x[live] = solution * bound
        if tau.refused:
            x[:KEPT] = 0
        if live[KEPT] and (bound < 1 or tau.refused):
            x[KEPT] -= (slopes[KEPT] + curves[KEPT] @ x) / curves[KEPT, KEPT]
    return x


def gain_of_intercept(tau):
    """Return the share of F that a step of the intercept alone would gain, by the model."""
    slope, curve = tau.slopes[KEPT], tau.curves[KEPT, KEPT]
    return slope * slope / (2 * curve * max(tau.F, 1e-300)) if curve > 0 else 0.0


def add_trial_penalties(feature, tau):
    """Add up a feature's part of the penalties at each share of the way."""
    if feature.rests >= KEPT:
        return
    x = 0.0
    for a in range(KEPT):
        x += tau.x[a] * feature.moved[a]
    for k in range(len(SHARES)):
        tau.lengths[k] += abs(feature.w + SHARES[k] * x)
        tau.squares[k] += (feature.w + SHARES[k] * x) ** 2


def choose(tau, p):
    """Choose the share at which the model, penalties included, is least."""
    t = np.array(SHARES)
    penalty = tau.l1 * tau.lengths + p.l2 / 2 * tau.squares
    model = t * (tau.model_slopes @ tau.x) + t * t / 2 * (tau.x @ tau.model @ tau.x) + penalty
    best = int(np.argmin(model))
    tau.x[:] = tau.x * t[best]
    tau.searching = bool(tau.x.any())
    tau.trial_penalty, tau.trial_size = penalty[best], tau.lengths[best]
