"""Workers of which each is late now and then: programs of bench/angel.py, bench/blockpg.py and
bench/tux2.py. Worker processes load this file alone, so it imports nothing beside it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from tux.apps.blockpg.blockpg import BlockPG
from tux.apps.lda.lda import LDA
from tux.apps.linear.linear import Linear
from tux.base.random import key, uniforms
from tux.clock.steps import Step
from tux.program.params import param
from tux.program.sources import find
from tux.program.stage import Cluster, Stage
from tux.stages import Exchange, MiniBatch

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
FactorsInStages: Any = find(str(EXAMPLES / "tux2_mf.py")).program


class LateStage(Stage, Step):
    """A stage that takes `length` seconds in one of eight blocks: a function of (seed, worker,
    clock).
    """

    def __init__(self, length: float) -> None:
        self.length = length

    def prepare(self, worker: Any, batch: Any = None) -> Step:
        """Draw which clocks are late."""
        self.late, self.now = (
            uniforms(key(worker.seed, "late", worker.rank), np.arange(100_000), 1)[:, 0] < 1 / 8,
            0,
        )
        return self

    def run(self, block: Any = None) -> None:
        """Run the stage: sleep, or not."""
        if self.late[self.now]:
            time.sleep(self.length)
        self.now += 1


def straggling(stages: Sequence[Any], length: float) -> list[Any]:
    """Return copies of the stages, with a wait in front of each block."""
    out = [copy(stage) for stage in stages]
    for stage in out:
        if isinstance(stage, MiniBatch) and length > 0:
            stage.inside = (LateStage(length), *stage.inside)
    return out


class LateLDA(LDA):
    """LDA on such workers."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self, cluster: Cluster) -> list[Any]:
        """Return the stages of LDA, with waits."""
        return straggling(super().stages(cluster), self.length)


class LateLinear(Linear):
    """A linear model on workers of which each is late now and then."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self) -> list[Any]:
        """Return the stages of Linear, with waits."""
        return straggling(super().stages(), self.length)


class LateBlockPG(BlockPG):
    """BlockPG on workers of which each is late now and then."""

    length: float = param(0.02, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self, cluster: Cluster) -> list[Any]:
        """Return the stages of BlockPG, with a wait in front of each block."""
        late = [LateStage(self.length)] if cluster.workers > 1 else []
        return [
            MiniBatch(*late, *s.inside, blocks=s.size.blocks) if isinstance(s, MiniBatch) else s
            for s in super().stages(cluster)
        ]


class LateFactors(FactorsInStages):
    """Matrix factorization by gradients on such workers, in mini-batches of users: each of them
    touches most items, so all workers change the same ones.
    """

    batch: int = param(1000, "users in a mini-batch", low=1)
    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self) -> list[Any]:
        """Return the stages of matrix factorization over users, with waits."""
        batch, *others = super().stages()
        exchange, *applies = batch.inside
        steps = Exchange(exchange.f, over="user"), *applies
        return straggling([MiniBatch(*steps, vertices=self.batch), *others], self.length)
