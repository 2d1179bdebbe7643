"""What a linear model tells: its largest weights, and the arrays that others want of it."""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg.weights import SparseReport, sklearn
from tux.apps.linear.losses import LOSSES


class LinearReport(SparseReport):
    """Of a program whose features have a weight `w` and whose context has an intercept `b`."""

    def remarks(self, program, records):
        """None."""
        return []

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
