"""What a linear model tells: its largest weights, and the arrays that others want of it."""

from __future__ import annotations

from tux.apps.blockpg.weights import SparseReport


class LinearReport(SparseReport):
    """Of a program whose features have a weight `w` and whose context has an intercept `b`."""

    def remarks(self, program, records):
        """None."""
        return []

    def history(self, program, records):
        """No path of penalties."""
        return {}
