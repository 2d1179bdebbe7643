"""The probe: vertices that count clocks, so that a read tells exactly which clocks of which workers
it has seen.

Every vertex holds a count and a sum of clock numbers for each worker. In each clock a worker adds 1
and the clock's number to its own slots of all vertices that it touches, once, in an Exchange, in
place (`shared`) and as a `delta` that Apply adds to a `value`; it does the same with the context
and GlobalSync. What is gathered bears its clock, so each Apply and GlobalSync tells whether it was
given what belongs to one clock alone. Programs, graphs, cuts, stages and the order of all events
are drawn from a seed.
"""

from __future__ import annotations

import numpy as np
from support.mutants.ssp import Book, check
from support.programs.probe_log import EVERYTHING, Log
from support.programs.probe_programs import OF_TAU, OF_VERTICES, OneTypeProbe, TwoTypesProbe

from tux.arrays.networks import from_arrays
from tux.cluster.simulated import SimulatedCluster
from tux.engine.worker import Worker
from tux.graph.cut import cut
from tux.graph.local import LocalGraph
from tux.messages.message import Kind

UNBOUNDED = 10**6
"""Clocks that no worker is apart."""


class Simulation:
    """A scenario with its workers, ready to run; the same seed draws the order of events.
    `arrivals`: how many messages may arrive while a worker computes.
    """

    arrivals = 0, 0, 1, 3, 10

    def __init__(self, scenario, slack=None):
        self.scenario = s = scenario
        slack = s.slack if slack is None else slack
        program = self.make_program()
        self.data = from_arrays(*s.pairs, ends=program.edge.ends)
        self.parts = cut(self.data, None, s.parts, s.workers, s.seed)
        options = {"seed": s.seed, "jit": False, "slack": slack, "workers": s.workers}
        self.workers = [
            Worker(program, LocalGraph.of(program, part), rank=rank, **options)
            for rank, part in enumerate(self.parts)
        ]
        self.cluster = SimulatedCluster(self.workers, s.seed)
        self.log = Log(slack if isinstance(slack, int) else UNBOUNDED)
        self.epochs = []
        self.prepare()
        # of blocks, in positions of the enumerated end
        first = self.epochs[0][0]
        batch = first.inside[0] if s.repeat else first
        self.cuts, self.role = batch.cuts, batch.role

    def make_program(self):
        """Return the program of all workers."""
        kind = OneTypeProbe if self.scenario.one_type else TwoTypesProbe
        return kind(slots=self.scenario.workers)

    def prepare(self):
        """Prepare the stages of an epoch on each worker."""
        s = self.scenario
        self.epochs = [s.stages(each.program, self.log, self.busy) for each in self.workers]
        self.steps = [
            worker.prepare(stages) for worker, stages in zip(self.workers, self.epochs, strict=True)
        ]

    def busy(self, worker):
        """Let some messages arrive while this worker computes: at any server, and for this worker,
        but none that would wake another.
        """
        cluster = self.cluster
        for _ in range(cluster.draw.choice(self.arrivals)):
            ready = [
                at
                for at, queue in cluster.channels.items()
                if at[1] == worker.rank or queue[0].kind in (Kind.CONTRIBUTION, Kind.TOTALS)
            ]
            if ready:
                cluster.deliver(cluster.draw.choice(ready))

    def run(self):
        """Run two passes of several epochs; within a pass no worker waits for an epoch's end."""
        self.cluster.finish({worker.rank: self.passes(worker) for worker in self.workers})
        assert not self.cluster.channels and not any(worker.inbox for worker in self.workers), (
            "messages are left over"
        )
        return self

    def passes(self, worker):
        """Run the passes of a worker; yield whenever it waits."""
        s, steps, log = self.scenario, self.steps[worker.rank], self.log
        for number in range(2):
            yield from worker.execute(steps * (1 if s.repeat else s.epochs))
            log.note_end(worker)
            worker.epoch = number + 1

    def positions(self, name):
        """Return the position of each vertex of a type in its one order."""
        return np.argsort(self.parts[0].types[name].order)

    def home(self, name):
        """Return the master's worker of each position."""
        out = np.empty(self.parts[0].types[name].vertices, int)
        for rank, part in enumerate(self.parts):
            out[part.types[name].masters] = rank
        return out

    def books(self, name):
        """Return (made, sent): what clocks have changed in each row of a table, and what they have
        sent to its master.
        """
        log, workers, clocks = self.log, self.scenario.workers, len(self.log.blocks[0])
        changed = np.zeros((2, clocks, 1 if name == "tau" else len(self.home(name)), workers), int)
        sent = np.zeros_like(changed)
        for w in range(workers):
            waiting = np.zeros(changed.shape[::2], int)
            for t, block in enumerate(log.blocks[w]):
                touched, gone = self.rows(name, w, block)
                if log.shares[w] and (ends := log.shares[w][t]) is not None and name != "tau":
                    touched = np.unique(
                        [end for of, end in zip(self.data.ends, ends, strict=True) if of == name]
                    )
                changed[0, t, touched, w], changed[1, t, touched, w] = 1, t
                waiting += changed[:, t, :, w]
                sent[:, t, gone, w], waiting[:, gone] = waiting[:, gone], 0
        return [
            Book(*np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0), (0, 0), (0, 0))))
            for each in (changed, sent)
        ]

    def rows(self, name, worker, block):
        """Return positions that a worker touches in a block, and those whose changes it sends."""
        if name == "tau":
            return [0], [0]
        ends = [
            (of, self.positions(of)[end])
            for of, end in zip(self.data.ends, (self.data.src, self.data.dst), strict=True)
        ]
        of, end = ends[self.role in ("dst", "hub")]
        chosen = self.scenario.parts == worker
        if block != EVERYTHING:
            chosen &= (end >= self.cuts[block]) & (end < self.cuts[block + 1])
        touched = np.unique(np.concatenate([rows[chosen] for kind, rows in ends if kind == name]))
        if block == EVERYTHING or len(self.cuts) == 2:
            return touched, np.arange(len(self.home(name)))
        return touched, np.arange(self.cuts[block], self.cuts[block + 1]) if of == name else touched

    def expected_applies(self):
        """Return by clock how often Apply's function must have run: for each vertex whose master
        somebody asked, once an Apply.
        """
        out = []
        for blocks in zip(*(self.log.blocks[w] for w in range(self.scenario.workers)), strict=True):
            out.append(0)
            for number, (name, part) in enumerate(self.parts[0].types.items()):
                home = self.home(name)
                asked = [self.rows(name, w, block)[1] for w, block in enumerate(blocks)]
                mine = [rows if part.cut else rows[home[rows] == w] for w, rows in enumerate(asked)]
                times = 1 if self.scenario.late and number else self.scenario.segments
                out[-1] += len(np.unique(np.concatenate(mine))) * times
        return out

    def check(self):
        """Check all assertions, over all reads and masters. Return how stale the stalest read at a
        clock's start was.
        """
        stalest = 0
        for name in [
            name for name in self.workers[0].tables if name != "tau" or self.scenario.sync
        ]:
            changed, sent = self.books(name)
            home = np.zeros(1, int) if name == "tau" else self.home(name)
            for worker, part in zip(self.workers, self.parts, strict=True):
                rows = np.zeros(1, int) if name == "tau" else part.types[name].rows
                for kind in OF_TAU if name == "tau" else OF_VERTICES[: 1 + self.scenario.segments]:
                    books = [Book(*(each[:, rows] for each in book)) for book in (changed, sent)]
                    reads = self.log.reads[worker.rank, name, kind]
                    stalest = max(
                        stalest, check(reads, *books, me=worker.rank, home=home[rows], own=kind.own)
                    )
                    if name in worker.server.tables:
                        masters = [worker.server.tables[name].arrays[f] for f in kind[:2]]
                        assert all(
                            (m == b[-1, home == worker.rank]).all()
                            for m, b in zip(masters, sent, strict=True)
                        ), "7: masters"
        self._check_context()
        return stalest

    def _check_context(self):
        """Assert that the values given to Applies and GlobalSyncs belong to their clocks, and that
        none is lost.
        """
        if self.scenario.sync:
            runs, mixtures = (
                {getattr(worker.tau, name) for worker in self.workers}
                for name in ("runs", "mixtures")
            )
        else:
            taus = [
                tau.arrays
                for worker in self.workers
                for tau in (worker.tables["tau"], worker.server.tau)
            ]
            runs, mixtures = (
                {sum(int(tau[name][0]) for tau in taus)} for name in ("applied", "mixed")
            )
        # With one type, what a block gathers at other ends waits for the block that these are in.
        assert self.scenario.one_type or mixtures == {0}, (
            "what one clock gathers comes to an Apply or a GlobalSync of another clock"
        )
        assert runs == {sum(self.expected_applies())}, (
            "each Apply runs once for each vertex, and none of its additions to the context is lost"
        )
        if self.log.applied:  # real processes have logs of their own
            assert self.log.applied == self.expected_applies(), (
                "what Applies add to the context comes to the GlobalSync of another clock"
            )
