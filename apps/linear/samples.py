"""The samples that a linear model reads, with labels that suit its loss."""

from __future__ import annotations

from tux.apps.blockpg.inputs import far_labels
from tux.apps.linear.losses import LOSSES
from tux.program.input import Samples


class LinearSamples(Samples):
    """Samples of two classes, or of any number of them, or with numbers as labels."""

    def numeric(self, program):
        """Return whether labels are numbers, as the loss says."""
        return not LOSSES[program.loss].of_classes

    def multiclass(self, program):
        """Return whether there may be more than two classes, as the loss says."""
        return LOSSES[program.loss].wide is not None

    def doubts(self, program, facts):
        """Return sentences about labels that the model cannot reach."""
        return [*super().doubts(program, facts), *far_labels(self, program, facts)]


def unknown_classes(loss):
    """Return in words which classes a loss does not know; "" if it is for two."""
    if loss.wide:
        return "no second class"
    return "" if loss.of_classes else "no classes"
