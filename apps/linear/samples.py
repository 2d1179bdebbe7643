"""What linear models read."""

from __future__ import annotations

from tux.apps.linear.penalties import check
from tux.program.input import Samples


class LinearSamples(Samples):
    """Samples whose labels are those of the loss."""

    def specialise(self, program, edges):
        """The same program. UsageError where its parameters do not go together."""
        check(program)
        return super().specialise(program, edges)
