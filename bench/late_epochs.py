"""Workers of which one is late in each epoch, by turns: programs of bench/stragglers.py. Worker
processes load this file alone, so it imports nothing beside it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tux.apps.als.als import ALS
from tux.clock.steps import Step
from tux.program.params import param
from tux.program.sources import find
from tux.program.stage import Cluster, Stage

DOCS = Path(__file__).parents[1] / "docs"
PageRank: Any = find(str(DOCS / "pagerank.py")).program
FactorsInStages: Any = find(str(DOCS / "examples" / "tux2_mf.py")).program
TopicsInStages: Any = find(str(DOCS / "examples" / "tux2_lda.py")).program


class LateByTurns(Stage, Step):
    """A stage that takes `length` seconds on worker e of W in epochs e, W + e, and so on."""

    def __init__(self, length: float) -> None:
        self.length = length

    def prepare(self, worker: Any, batch: Any = None) -> Step:
        """Note whose stage it is."""
        self.worker = worker
        return self

    def run(self, block: Any = None) -> None:
        """Run the stage: sleep, or not."""
        if self.worker.pass_number % self.worker.workers == self.worker.rank:
            time.sleep(self.length)


class LatePageRank(PageRank):
    """PageRank on such workers, for a number of epochs."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self) -> list[Any]:
        """Return the stages of PageRank, with a wait."""
        return [LateByTurns(self.length), *super().stages()]

    def converged(self, metrics: dict[str, float]) -> bool:
        """Return False."""
        return False


class LateALS(ALS):
    """ALS on such workers."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")
    steps: int = param(0, "exact solutions: conjugate gradients wait for all workers", low=0)

    def stages(self, cluster: Cluster) -> list[Any]:
        """Return the stages of ALS, with a wait."""
        return [LateByTurns(self.length), *super().stages(cluster)]


class LateMF(FactorsInStages):
    """Matrix factorization by gradients of all ratings, on such workers."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self) -> list[Any]:
        """Return the stages of matrix factorization without mini-batches, with a wait."""
        batch, *others = super().stages()
        return [LateByTurns(self.length), *batch.inside, *others]


class LateTopics(TopicsInStages):
    """LDA in one batch, on such workers."""

    length: float = param(0.0, "seconds that a worker is late", low=0, dtype="f8")

    def stages(self) -> list[Any]:
        """Return the stages of LDA, with a wait."""
        return [LateByTurns(self.length), *super().stages()]
