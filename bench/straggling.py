"""The program of bench/stragglers.py: clocks of a known length, some of them slow, and a probe
vertex that shows what each worker has seen.

The probe (the one `item` of a star graph) holds a counter for each worker, which the worker raises
by one a clock. What a worker reads of the others' counters, compared with its own clock, is the
staleness that it observes.
"""

import time

import numpy as np

from tux import Context, Edge, Program, Vertex, param, shared, total, value
from tux.base.random import key, uniforms
from tux.clock.steps import Step
from tux.program.stage import Stage
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

MOST_STALE = 32


def touch(user, item):
    """Touch the probe and change nothing: the edge is there so that the probe is touched in every
    block.
    """
    item.seen[0] += 0


def keep(tau):
    """Add up the histogram of staleness, over workers and clocks."""
    for k in range(MOST_STALE):
        tau.observed[k] += tau.stale[k]


class Work(Stage, Step):
    """A stage that takes one clock-length, or `1 + delay` of them with probability `chance`, and
    reads and raises the probe's counters.
    """

    def __init__(self, program):
        self.program = program

    def prepare(self, worker, batch=None):
        """Draw which clocks are slow: a function of (seed, worker, clock)."""
        draws = uniforms(key(worker.seed, "slow", worker.rank), np.arange(100_000), 1)[:, 0]
        self.slow, self.now, self.worker = draws < self.program.chance, 0, worker
        return self

    def run(self, block=None):
        """Run a clock: sleep, then look at the counters of the others, and raise this worker's."""
        worker = self.worker
        time.sleep(self.program.length * (1 + self.program.delay * self.slow[self.now]))
        counters = worker.tables["item"].arrays["seen"][0]
        for other in range(worker.workers):
            if other != worker.rank:
                stale = min(max(int(self.now - counters[other]), 0), MOST_STALE - 1)
                worker.tables["tau"].arrays["stale"][0, stale] += 1
        counters[worker.rank] += 1
        self.now += 1


class StragglerProbe(Program):
    """Workers of which each is slow now and then."""

    length: float = param(0.01, "seconds of a clock", low=0, dtype="f8")
    delay: float = param(3.0, "clock-lengths that a slow clock takes longer", low=0)
    chance: float = param(0.25, "probability that a clock is slow, for each worker", low=0, high=1)
    clocks: int = param(100, "clocks an epoch", low=1)
    user = Vertex()
    item = Vertex(seen=shared("i8", 16))
    link = Edge("user", "item")
    tau = Context(stale=total("f8", MOST_STALE), observed=value("f8", MOST_STALE))

    def stages(self):
        """Return one pass over the star graph's users, `clocks` blocks of them."""
        users = 80 * self.clocks
        batch = MiniBatch(
            Work(self), Exchange(touch, over="user"), Apply("item"), vertices=users // self.clocks
        )
        return [batch, GlobalSync(keep)]
