"""The choice of the features that are to step, and a step along one, to the minimum of the
quadratic model: gather, step, scatter.
"""

from __future__ import annotations

import numpy as np

from tux.stages import Apply, Exchange, MiniBatch, Repeat

SMALLEST_CURVATURE = 1e-30  # of a feature; steps without any would be infinite
SWEEPS = 4  # of a pass over the features that move; a new model costs all samples


def add_resting_slope(feature, edges, tau):
    """Compute the slope of the loss along a feature at rest, before a full pass."""
    if feature.active or not tau.full:
        return
    g = 0.0
    for edge in edges:
        g += edge.value * edge.sample.r
    feature.g += g


def wake_by_slope(feature, tau):
    """Wake a feature at rest if its slope exceeds the penalty."""
    if tau.full and not feature.active:
        feature.active = feature.w != 0 or abs(feature.g) > tau.l1


def gather(feature, edges, tau):
    """Add up slope and curvature of the loss along a feature; of one at rest a bound, which spares
    the samples' curvatures.
    """
    if not (tau.full or feature.active):
        return
    g, s, stiff = 0.0, 0.0, 1.0
    if feature.active and tau.crowd == 0 and tau.floor == 0:
        # u is then h times the same number everywhere, and scatter needs h too: less is fetched
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * edge.sample.h
        stiff = tau.stiff
    elif feature.active:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * edge.sample.u
    else:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * np.float32(tau.top * (1 + tau.crowd * edge.sample.near))
    feature.g += g
    feature.s += s * stiff


def step(feature, tau, p):
    """Move the weight to the minimiser of the model along the feature; one at zero that wants to
    stay is at rest (the KKT filter).
    """
    if not (tau.full or feature.active):
        return
    w, g = feature.w, feature.g + p.l2 * feature.w
    feature.active = not (w == 0 and -tau.l1 <= g <= tau.l1)
    if feature.active:
        s = max(feature.s + p.l2, SMALLEST_CURVATURE)
        if g + tau.l1 <= s * w:
            feature.w = w - (g + tau.l1) / s
        elif g - tau.l1 >= s * w:
            feature.w = w - (g - tau.l1) / s
        else:
            feature.w = 0.0


def scatter(feature, edges):
    """Pass the change of a weight on to the samples."""
    d = feature.w - feature.used
    if d == 0:
        return
    feature.used, d4 = feature.w, np.float32(d)
    for edge in edges:
        edge.sample.m += edge.value * d
        edge.sample.r += edge.sample.h * (edge.value * d4)


def sweep(blocks, *, groups):
    """Return the stages of a pass over the features in `blocks` blocks (0: one by one, or a group
    at a time). Only steps one by one must wait for each other, and may go on along the same model;
    in a block those at rest are looked at together with the others.
    """
    steps = (
        Exchange(gather, additive=True),
        Apply("feature", step),
        Exchange(scatter, additive=True),
    )
    if blocks or groups:
        return [MiniBatch(*steps, blocks=blocks, vertices=0 if blocks else 1, keep_groups=groups)]
    looks = Exchange(add_resting_slope, additive=True), Apply("feature", wake_by_slope)
    return [*looks, Repeat(MiniBatch(*steps, vertices=1, awake="active"), times=SWEEPS)]
