"""What a linear model reads: samples whose labels suit its loss."""

from __future__ import annotations

from tux.apps.linear.losses import LOSSES
from tux.program.input import Samples


class LinearSamples(Samples):
    """Samples of two classes, or of any number of them, or with numbers as labels."""

    def numeric(self, program):
        """As its loss says."""
        return not LOSSES[program.loss].of_classes

    def multiclass(self, program):
        """As its loss says."""
        return LOSSES[program.loss].wide is not None
