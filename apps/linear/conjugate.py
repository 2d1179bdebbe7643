"""Directions of Newton's method by conjugate gradients: vectors of features, and their inner
products. The context has the intercept's part of each vector (`tux.apps.linear.newton`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tux.apps.linear.lbfgs import UNIT
from tux.apps.linear.prior import penalty_of
from tux.apps.linear.widths import set_fields, weight_shape
from tux.program.fields import master, total, value

SHARE = 0.3  # of the length of g: where a direction is exact enough
MOST_PRODUCTS = 300  # for a direction
D, R, HQ = 0, 1, 2


def vectors(p):
    """Return how many vectors a direction needs beside q: d, r, H q."""
    return 3 * (p.solver == "newton")


FEATURE: dict[str, Any] = {"krylov": master("f8", weight_shape, vectors, kept=False)}
CONTEXT: dict[str, Any] = {
    "krylov": value("f8", vectors, weight_shape, kept=False),
    **{name: total() for name in ("rr", "rh", "hh", "qq")},
    **{name: value("f8", kept=False) for name in ("left", "enough", "far", "turn")},
    "hessian_products": value("i8", kept=False),
    "solved": value("b1", kept=False),
}


def begin_direction(feature, tau):
    """Set the gradient, and begin with d = 0."""
    weight, away = penalty_of(feature, tau)
    feature.g = g = feature.gathered + tau.l2 * weight * away
    feature.krylov[D], feature.krylov[R] = 0.0, -g
    tau.rr += feature.unit * g * g


def set_goal(tau, p):
    """Set how much of the gradient may be left; begin with d = 0 for the intercept, too."""
    g = of_intercept(tau.slope_of_b, tau, p)
    set_fields(tau, g=g)
    tau.krylov[D], tau.krylov[R] = 0.0, -g
    tau.left = tau.rr + unit_of_b(tau) * float(np.sum(g * g))
    tau.steepest = max(tau.steepest, tau.left)
    tau.gradient = np.sqrt(tau.left / tau.steepest) if tau.steepest > 0 else 0.0
    tau.enough, tau.far, tau.turn = SHARE**2 * tau.left, 0.0, 0.0
    tau.step, tau.hessian_products, tau.lowered = 0.0, 0, False
    turn_b(tau)


def of_intercept(of_b, tau, p):
    """Return a slope or a change of slopes along the intercept, 0 if there is none to be found."""
    return np.multiply(of_b, float(p.fit_intercept and not tau.tied))


def unit_of_b(tau):
    """Return the intercept's part of M."""
    h = tau.weights * tau.bend
    return h**UNIT if h > 0 else 1.0


def turn_b(tau):
    """Set the intercept's part of the next q."""
    set_fields(tau, d=unit_of_b(tau) * tau.krylov[R] + tau.turn * tau.d)


def advance(feature, tau):
    """Go along q, and set the next one."""
    go(feature, tau)
    feature.krylov[R] -= tau.far * feature.krylov[HQ]
    weight, _ = penalty_of(feature, tau)
    feature.d = q = feature.unit * feature.krylov[R] + tau.turn * feature.d
    tau.qq += weight * q * q


def go(feature, tau):
    """Go along q."""
    feature.krylov[D] += tau.far * feature.d


def take_product(feature, tau):
    """Keep H q, and add up its products with r and with itself."""
    weight, _ = penalty_of(feature, tau)
    r, m = feature.krylov[R], feature.unit
    feature.krylov[HQ] = hq = feature.gathered + tau.l2 * weight * feature.d
    tau.rr += m * r * r
    tau.rh += m * r * hq
    tau.hh += m * hq * hq


def set_lengths(tau, p):
    """Set how far to go along q, how the next one turns, and whether d is exact enough; make both
    for the intercept.
    """
    m, r, hq = unit_of_b(tau), tau.krylov[R], of_intercept(tau.of_b, tau, p)
    rr, rh, hh = (float(np.sum(m * a * b)) for a, b in ((r, r), (r, hq), (hq, hq)))
    rr, rh, hh = tau.rr + rr, tau.rh + rh, tau.hh + hh
    bent = tau.bent + tau.l2 * tau.qq
    tau.far = rr / bent if bent > 0 else float(tau.hessian_products == 0)
    tau.left = max(rr - tau.far * (2 * rh - tau.far * hh), 0.0)
    tau.turn = tau.left / rr if rr > 0 else 0.0
    tau.hessian_products += 1
    tau.solved = bool(bent <= 0 or tau.left <= tau.enough or tau.hessian_products >= MOST_PRODUCTS)
    tau.krylov[D] += tau.far * tau.d
    tau.krylov[R] -= tau.far * hq
    turn_b(tau)
    if tau.solved:
        set_fields(tau, d=tau.krylov[D])


def is_solved(tau):
    """Return whether the direction is exact enough."""
    return bool(tau.solved)


def finish(feature, tau):
    """Set the direction, and add up what the line search needs."""
    go(feature, tau)
    feature.d = d = feature.krylov[D]
    weight, away = penalty_of(feature, tau)
    tau.gd += feature.g * d
    tau.ww += weight * away * away
    tau.wd += weight * away * d
    tau.dd += weight * d * d
