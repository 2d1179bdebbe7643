"""The program of bench/mllib_star.py. Worker processes load this file alone, so it imports nothing
beside it.
"""

from __future__ import annotations

from tux.apps.linear.linear import Linear
from tux.program.params import param


class LinearToGoal(Linear):
    """A linear model that is trained up to a goal."""

    goal: float = param(0.0, "objective at which training ends", dtype="f8")

    def converged(self, metrics: dict[str, float]) -> bool:
        """Return whether the goal is reached."""
        return bool(super().converged(metrics) or metrics["objective"] <= self.goal)
