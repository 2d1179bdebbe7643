"""A path of penalties with L-BFGS, from a large one down to the one asked for; each begins with the
weights and the pairs of the last.

The first penalty is the greatest curvature of the losses along a feature, as it is bounded at
w = 0: there the penalty bends F more than the losses do along each feature.

F is corrected at once, as its part l2/2 |w|^2 is known. The gradient of the next step is made with
the new penalty. So the pair of that step, s and y, compares gradients of two objectives, and is
left out. Older pairs stay: their y have grown by (old - new) s, which only shortens a direction.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tux.apps.blockpg.penalties import check_end
from tux.apps.blockpg.weights import path
from tux.apps.linear.quality import MEAN_LOSS
from tux.apps.linear.wolfe import start_search
from tux.base.errors import UsageError
from tux.program.base_program import badness
from tux.program.fields import total, value
from tux.stages import GlobalSync
from tux.stages.computed import metric

MEASURES = ("objective", "norm_w", *MEAN_LOSS.values(), "test_rmse", "test_accuracy", "test_auc")
PATH: dict[str, Any] = {
    **{name: metric() for name in ("penalty_l2", "norm_w")},
    "stiffest": total(combine="max"),
    "first_l2": value("f8", kept=False),
    **{name: value("b1", kept=False) for name in ("ended", "lowered")},
}


def check_path(program):
    """Refuse a path where there is no penalty that it could lower, or where it cannot end.
    UsageError.
    """
    if program.path == 1:
        return
    if program.penalty != "l2":
        raise UsageError(
            f"path needs the penalty l2, and not {program.penalty}",
            do="choose the penalty l2, or leave path out",
        )
    check_end(program, "l2")


def start_path(tau, p):
    """Set all that a search needs before the first step, and the first penalty."""
    start_search(tau)
    tau.l2 = tau.first_l2 = max(tau.stiffest, p.l2)


def lower_penalty(tau, p):
    """Go on to the next penalty, with the weights of the last one, if the last step has ended the
    run of that one.
    """
    if tau.ended and tau.l2 > p.l2:
        next_l2 = tau.l2 * (p.l2 / tau.first_l2) ** (1 / (p.path - 1))
        if next_l2 < p.l2 * (1 + 1e-9):  # the last, whatever the powers have been rounded to
            next_l2 = p.l2
        tau.F += (next_l2 - tau.l2) / 2 * square(tau)
        tau.l2, tau.lowered = next_l2, True


def end_step(tau, p):
    """Note which penalty the step was for, and whether that penalty's run has ended."""
    tau.penalty_l2, tau.norm_w = tau.l2, math.sqrt(square(tau))
    tau.ended = is_optimal(tau.gradient, tau.change, p.tol)


def square(tau):
    """Return |w|^2 after the step."""
    return max(0.0, tau.square + tau.step * (2 * tau.cross + tau.step * tau.length))


def is_optimal(gradient, change, tol):
    """Return whether L-BFGS ends, by the metrics of its last step."""
    return bool(max(gradient, change) <= tol or change <= 0)


def path_stages(program, stages):
    """Return the stages of an epoch, which is a step at one of the penalties."""
    return (
        [GlobalSync(lower_penalty), *stages, GlobalSync(end_step)] if program.path > 1 else stages
    )


def path_rows(records):
    """Return the path as a table: a row for each penalty, with its steps and measures at its
    end.
    """
    penalties = [record["penalty_l2"] for record in records if "penalty_l2" in record]
    table = path(records, penalty="penalty_l2", measures=MEASURES)
    steps = [str(penalties.count(penalty)) for penalty in dict.fromkeys(penalties)]
    return {"penalty_l2": table.pop("penalty_l2"), "steps": steps, **table}


def best_penalty(program, records):
    """Return the penalty at whose end the metric of held-out samples that the program monitors, as
    the mean loss, is best, if there are any.
    """
    last = {record["penalty_l2"]: record for record in records if "penalty_l2" in record}
    found = {penalty: badness(program, record) for penalty, record in last.items()}
    losses = {penalty: x for penalty, x in found.items() if x is not None and np.isfinite(x)}
    return {"best_penalty_l2": min(losses, key=losses.__getitem__)} if losses else {}
