"""The samples that a linear model reads, with labels that suit its loss."""

from __future__ import annotations

from tux.apps.linear.losses import LOSSES
from tux.base.errors import UsageError
from tux.program.input import Samples


class LinearSamples(Samples):
    """Samples of two classes, or of any number of them, or with numbers as labels."""

    def numeric(self, program):
        """Return whether labels are numbers, as the loss says."""
        return not LOSSES[program.loss].of_classes

    def multiclass(self, program):
        """Return whether there may be more than two classes, as the loss says."""
        return LOSSES[program.loss].wide is not None


def check_positive_weight(program, loss):
    """Raise UsageError for a weight of samples of the second class where the loss knows none."""
    if program.positive_weight != 1 and (loss.wide or not loss.of_classes):
        knows = "no second class" if loss.wide else "no classes"
        raise UsageError(
            f"positive_weight has no effect with the loss {program.loss}, which knows {knows}",
            do="leave it out",
        )
