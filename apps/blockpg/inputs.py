"""The samples that BlockPG reads, with labels that suit its loss; and what is odd about labels that
are numbers.
"""

from __future__ import annotations

import numpy as np

from tux.apps.blockpg.losses import LOSSES
from tux.program.input import Samples

FAR = 100  # times the distance between the least and the largest label


class SparseSamples(Samples):
    """Samples of two classes, or with numbers as labels."""

    def numeric(self, program):
        """Return whether labels are numbers, as the loss says."""
        return not LOSSES[program.loss].of_classes

    def doubts(self, program, facts):
        """Return sentences about labels that the model cannot reach."""
        return [*super().doubts(program, facts), *far_labels(self, program, facts)]


def far_labels(samples, program, facts):
    """Return a sentence if labels are far from 0 and there is no intercept, by which a linear model
    reaches them.
    """
    label = facts.vertex_fields.get(facts.ends[0], {}).get("label", ())
    if program.fit_intercept or not samples.numeric(program) or not len(label):
        return []
    least, most = float(np.min(label)), float(np.max(label))
    if least == most or min(abs(least), abs(most)) <= FAR * (most - least):
        return []
    where = f"labels are from {least:.15g} to {most:.15g}, far from 0"
    return [f"{where}, and the model has no intercept; give --fit-intercept"]
