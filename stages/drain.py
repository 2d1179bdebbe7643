"""Drain: a point at which nothing is under way."""

from __future__ import annotations

from tux.stages.block import Block
from tux.worker import Worker


class Drain:
    """Before the run of stages in which it stands begins, all earlier clocks are finished; before a later clock begins, that run is.

    At slack 0 that is so anyhow. Stages that must see the effects of all blocks before them, and none of those after, stand with a
    Drain in front. It costs what waiting costs.
    """

    alone = True

    def prepare(self, worker: Worker) -> None:
        """Nothing."""

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """Nothing: the schedule sees to it."""
