"""Helpers that tests of WarpLDA and of its priors share: words, random numbers and workers of known
kinds.
"""

from __future__ import annotations

from types import SimpleNamespace as Row

import numpy as np
from support.machines.lda_team import Sampling

from tux.apps.lda.warplda import COUNTED, PROPOSED, TOPIC


def occurrence(topic, proposed=None, counted=None):
    z = np.zeros(3, int)
    z[TOPIC], z[PROPOSED], z[COUNTED] = (
        topic,
        topic if proposed is None else proposed,
        topic if counted is None else counted,
    )
    return Row(z=z)


class FixedNumbers:
    """Random numbers that are known."""

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def uniform(self):
        return self.numbers.pop(0)


FINE = 2_000


class WarpTeam(Sampling):
    """A team whose documents list their topics after every epoch, as evaluation has them do."""

    def __init__(self, *given, **options):
        super().__init__(*given, **options)
        for worker in self.workers:
            fields = worker.graph.edges.fields
            fields["topic"] = fields["z"][:, TOPIC]  # where the team looks for it

    def epoch(self):
        super().epoch()
        self.likelihood()
