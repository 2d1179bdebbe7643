"""Score: the value of a UDF for each held-out edge, in the order in which the edges were given."""

from __future__ import annotations

import numpy as np

from tux.stages.bind import Udf, named
from tux.stages.block import Block
from tux.stages.loops import EdgeLoops
from tux.worker import Worker


class Score:
    """For each held-out edge e: ``scores[e] = f(user, item, rating, tau, p)``.

    `scores` (m,) float64 in the caller's order. The UDF changes nothing.
    """

    def __init__(self, f: Udf) -> None:
        self.f = f
        self.label = f"Score({named(f)})"

    def prepare(self, worker: Worker) -> None:
        """Compile the loop."""
        edges = worker.graph.held_out
        self.scores = np.empty(len(edges))
        loops = EdgeLoops(worker, self.label, edges, edges.walk_given(), worker.program.edge.roles[0], "score")
        self._kernel = loops.score(self.f, self.scores)

    def run(self, worker: Worker, block: Block | None = None) -> None:
        """Fill `scores`."""
        self._kernel(self.scores)
