"""A line search for a convex F: a step t along d at which F has fallen enough and is flat enough,

    F(t) <= F(0) + DESCENT t F'(0)     and     |F'(t)| <= FLAT |F'(0)|

Wolfe's strong conditions (Nocedal and Wright, Numerical Optimization, section 3.1). The first trial
is the step of Newton's method along d, as the losses tell how F bends there. It fulfils both
conditions in 19 of 20 searches. The next trial is the minimiser of the cubic through both ends of
the bracket (equation 3.59), kept away from its ends. As F is convex, the bracket is simple: below
are steps at which F still falls, above is one that is too long.

Near the optimum F changes by less than the rounding of its sums. There the slopes decide: a rise
that may be rounding is none, and the fall of F is the area below its slope (the approximate
conditions of Hager and Zhang, SIAM Journal on Optimization 2005, are alike).
"""

from __future__ import annotations

import math

import numpy as np

from tux.apps.linear.widths import set_fields, weight_shape
from tux.program.fields import total, value

SEARCHING = ("lbfgs", "newton")  # the solvers whose steps it finds
DESCENT, FLAT = 1e-4, 0.2
ROUNDING = 1e-12  # a share of F: a change by less may be rounding
LONGER = 10.0  # a trial is at most so many times the last one, while no step is too long
SHORTER = 1e-4  # of the direction's own step, 1, as short as the first trial is
EDGE = 0.1  # of the bracket: as near as a trial comes to its ends
MAX_TRIALS = 40  # trials

SEARCHED = {
    "loss": total(),
    "slope": total(),
    "of_b": total(weight_shape),
    "bent": total(),
    **{
        name: value("f8", kept=False) for name in ("F", "F0", "slope0", "square", "cross", "length")
    },
    "slope_of_b": value("f8", weight_shape, kept=False),
    "low": value("f8", 3, kept=False),  # step, F and F' there
    "high": value("f8", 3, kept=False),
    "trials": value("i8", kept=False),
    "found": value("b1", kept=False),
}


def start_search(tau):
    """Set F and the slope along the intercept before the first step."""
    tau.F = tau.loss
    set_fields(tau, slope_of_b=tau.of_b)


def begin_search(tau):
    """Set F at the step 0, and the first trial."""
    tau.square, tau.cross, tau.length = tau.ww, tau.wd, tau.dd
    tau.F0, tau.slope0 = tau.F, tau.gd + float(np.sum(tau.g * tau.d))
    tau.low[:] = 0, tau.F0, tau.slope0
    tau.high[:] = math.inf, 0, 0
    tau.step, tau.trials = newton(tau.slope0, tau.bent + tau.l2 * tau.length), 0


def newton(slope, curvature):
    """Return the step to the least value of the parabola that has the slope and the curvature of F
    here; the direction's own, 1, is not far from it.
    """
    return min(max(-slope / curvature, SHORTER), LONGER) if curvature > 0 else 1.0


def search_step(tau):
    """Set whether the trial fulfils both conditions, and if not, the next one. After MAX_TRIALS
    trials, it is the longest step at which F falls.
    """
    t, rounding = tau.step, ROUNDING * abs(tau.F0)
    F = tau.loss + tau.l2 / 2 * (tau.square + t * (2 * tau.cross + t * tau.length))
    slope = tau.slope + tau.l2 * (tau.cross + t * tau.length)
    falls = F <= tau.F0 + DESCENT * t * tau.slope0 + rounding
    flat = abs(slope) <= FLAT * abs(tau.slope0)
    tau.found = bool(falls and flat or tau.trials >= MAX_TRIALS)
    if tau.found:
        tau.change = fall_of_F(t, tau.F0, F, tau.slope0, slope) / max(abs(tau.F0), 1e-300)
        tau.F = tau.objective = F
        set_fields(tau, b=tau.b + t * tau.d, slope_of_b=tau.of_b)
        return
    if falls and slope <= 0:
        tau.low[:] = t, F, slope
    else:
        tau.high[:] = t, F, slope
    tau.trials += 1
    tau.step = next_trial(tau.low, tau.high, tau.slope0) if tau.trials < MAX_TRIALS else tau.low[0]


def fall_of_F(t, F0, F, slope0, slope):
    """Return by how much F has fallen at the step `t`, from `F0` to `F`, as its slope went from
    `slope0` to `slope`.
    """
    return F0 - F if abs(F0 - F) > ROUNDING * abs(F0) else -t * (slope0 + slope) / 2


def next_trial(low, high, slope0):
    """Return the next step to try between `low` and `high`, each (step, F, F'). Where nothing is
    known to be too long, it is beyond `low`, where a slope that changes evenly from `slope0`, that
    at 0, would be 0.
    """
    if math.isinf(high[0]):
        ratio = slope0 / (slope0 - low[2]) if slope0 < low[2] else LONGER
        return min(max(ratio, 1 + EDGE), LONGER) * max(low[0], 1e-300)
    width = high[0] - low[0]
    inner = EDGE * width
    t = low[0] + width / 2
    if math.isfinite(high[1]) and math.isfinite(high[2]):
        a = low[2] + high[2] - 3 * (low[1] - high[1]) / (low[0] - high[0])
        root = a * a - low[2] * high[2]
        if root >= 0:
            b = math.sqrt(root)
            below = high[2] - low[2] + 2 * b
            if below:
                t = high[0] - width * (high[2] + b - a) / below
    return min(max(t, low[0] + inner), high[0] - inner)


def is_over(tau):
    """Return whether the search is over."""
    return bool(tau.found)
