"""Metrics of held-out data, which a program declares in its context:

    tau = Context(test_rmse=metrics.rmse(), test_mae=metrics.mae())

Each is measured after an epoch on what the program's ``predict()`` says, whose Score gives one
number for each edge or vertex, against a data field called `truth`. A class is 1 where the truth is
larger than 0, else 0, and the score is the probability of 1: where it is none, the metric is NaN.
Other metrics are declared by `measure`, with a formula of their own.
"""

from dataclasses import replace

from tux.program.fields import Field
from tux.stages.computed import measure as measure


def rmse(truth: str = "value") -> Field:
    """Declare the root of the mean squared error."""
    return measure("sqrt(squares / n)", truth=truth, squares="(score - truth) ** 2", n="1")


def mae(truth: str = "value") -> Field:
    """Declare the mean absolute error."""
    return measure("errors / n", truth=truth, errors="abs(score - truth)", n="1")


def logloss(truth: str = "value") -> Field:
    """Declare the mean negative log likelihood of two classes; a probability counts as at least
    1e-15, so no loss is above 34.54.
    """
    loss = "-log(max(score if truth > 0 else 1 - score, 1e-15)) if 0 <= score <= 1 else nan"
    return measure("losses / n", truth=truth, losses=loss, n="1")


def accuracy(truth: str = "value") -> Field:
    """Declare the share of two classes that are right, where a score above 0.5 says 1. Larger is
    better, where a program monitors it.
    """
    right = "(1 if (score > 0.5) == (truth > 0) else 0) if 0 <= score <= 1 else nan"
    return replace(measure("right / n", truth=truth, right=right, n="1"), rises=True)
