"""What a linear model tells: its largest weights, and the arrays that others want of it."""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg.weights import SparseReport, sklearn
from tux.apps.linear.losses import LOSSES
from tux.apps.linear.stochastic import said
from tux.apps.linear.updates import UPDATES

LOWER = 1.1  # a rise by less is the noise of mini-batches


class LinearReport(SparseReport):
    """Of a program whose features have a weight `w` and whose context has an intercept `b`."""

    def opening(self, program, vertices):
        """How large a mini-batch is."""
        return [said(program, vertices["sample"])] if program.solver in UPDATES else []

    def remarks(self, program, records):
        """That the objective has been lower before."""
        found = [record["objective"] for record in records if "objective" in record]
        if not found or found[-1] <= LOWER * min(found):
            return []
        return [
            f"the objective has risen from {min(found):.6g} to {found[-1]:.6g}; a smaller --step "
            "may mend it"
        ]

    def history(self, program, records):
        """No path of penalties."""
        return {}

    def exports(self):
        """Those of `SparseReport`; where labels are numbers, as scikit-learn's Ridge has them."""
        return super().exports() | {"sklearn": estimator}


def estimator(program, model) -> dict[str, np.ndarray]:
    """As `tux.apps.blockpg.weights.sklearn`; where labels are numbers, there are no classes, and
    `coef_` is (n,) and `intercept_` one number.
    """
    arrays = sklearn(program, model)
    if LOSSES[program.loss].of_classes:
        return arrays
    return {
        "coef_": arrays["coef_"][0],
        "intercept_": arrays["intercept_"][0],
        "features": arrays["features"],
    }
