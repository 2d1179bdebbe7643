"""A step along one feature, to the minimum of the quadratic model: gather, step, scatter."""

from __future__ import annotations

import numpy as np


def gather(feature, edges, tau):
    """Slope and curvature of the loss along a feature; of one at rest a bound, which spares the
    samples' curvatures.
    """
    if not (tau.full or feature.active):
        return
    g, s = np.float32(0), np.float32(0)
    if feature.active:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * edge.sample.u
    elif tau.crowd > 0:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value * np.float32(tau.top * (1 + tau.crowd * edge.sample.near))
    else:
        for edge in edges:
            g += edge.value * edge.sample.r
            s += edge.value * edge.value
        s *= np.float32(tau.top)
    feature.g += g
    feature.s += s


def step(feature, tau, p):
    """The minimiser of the model along the feature; one at zero that wants to stay is at rest
    (the KKT filter).
    """
    if not (tau.full or feature.active):
        return
    w, g = feature.w, feature.g + p.l2 * feature.w
    feature.active = not (w == 0 and -tau.l1 <= g <= tau.l1)
    if feature.active:
        s = feature.s + p.l2 + 1e-12
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
