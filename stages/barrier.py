"""Barrier: all earlier clocks complete before the following stages run."""

from __future__ import annotations

from tux.clock.steps import BarrierStep, Step
from tux.engine.partition import Partition
from tux.program.stage import Batch, Stage


class Barrier(Stage):
    """All clocks before the run of stages in which it stands are finished before that run begins;
    no later clock starts beside it.

    At slack 0 that is so anyhow. Stages that must see the effects of all blocks before them, and
    none of those after, stand with a Barrier in front. It costs what waiting costs.
    """

    label = "Barrier()"

    def prepare(self, partition: Partition, batch: Batch | None = None) -> Step:
        """Return a step that does nothing: the schedule makes workers wait."""
        return BarrierStep()
