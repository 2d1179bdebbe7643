"""The part of old samples, which are not there any more, where a run begins with a model.

At the weights w0 of a model the objective F of its samples is least, so near them it is about
F(w0) + sum_j h_j / 2 (w_j - w0_j)^2, h_j being how F bends along feature j (Laplace's method, which
Chapelle and Li, NIPS 2011, use to learn from one batch after the other). So of new samples

    min F(w) = sum_i c_i loss(y_i, x_i.w + b) + sum_j h_j / 2 (w_j - w0_j)^2

h is the bound on the curvature at w = 0, which the solver needs anyway, and l2; a model keeps it as
`stiffness`. The intercept stays.
"""

from __future__ import annotations

from typing import Any

from tux.apps.blockpg.quality import margin
from tux.apps.linear.softmax import margins
from tux.apps.linear.widths import weight_shape
from tux.apps.linear.wolfe import SEARCHING
from tux.base.errors import UsageError
from tux.program.fields import master, value
from tux.stages import Barrier, Exchange, GlobalSync, Zip


def tie_numbers(p):
    """Return how many numbers say what holds a weight: w0 and h."""
    return 2 * has_curvature(p)


def has_curvature(p):
    """Return 1 if the solver knows how the losses bend, else 0."""
    return int(p.solver in SEARCHING)


FEATURE: dict[str, Any] = {
    "tie": master("f8", weight_shape, tie_numbers, kept=False),
    "stiffness": master("f8", weight_shape, has_curvature),
}
CONTEXT = {"tied": value("b1", kept=False)}


def penalty_of(feature, tau):
    """Return the weight of a feature's penalty, which is l2 / 2 times its square, and from where
    the penalty pulls to 0: the weight, or its distance from the one of a model.
    """
    if tau.tied:
        return feature.tie[1], feature.w - feature.tie[0]
    return 1.0, feature.w


def tie(feature, p):
    """Tie a weight to that of the model."""
    feature.tie[0], feature.tie[1] = feature.w, feature.stiffness[0] + p.l2 * p.penalty.l2


def set_tied(tau):
    """Let the penalties of features be those of the model."""
    tau.tied, tau.l2 = True, 1.0


def recall(sample, edges, tau):
    """Begin the margin with that of the model."""
    sample.m = margin(edges, tau)


def recall_classes(sample, edges, tau):
    """Begin the margins with those of the model."""
    margins(sample.m, edges, tau)


def prior_stages(program, loss):
    """Return the stages before those of the solver. UsageError for a solver that keeps no
    curvature.
    """
    if program.solver not in SEARCHING or program.path > 1:
        what = "a path of penalties" if program.solver in SEARCHING else program.solver
        raise UsageError(
            f"a run that begins with a model needs to know how losses bend, and {what} does not",
            do="train both runs with the solver lbfgs or newton, and without a path",
        )
    margins_of = Exchange(recall_classes if loss.wide else recall, over="sample")
    return [GlobalSync(set_tied), Zip("feature", tie, each="w"), Barrier(), margins_of]
