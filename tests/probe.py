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

import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from probe_programs import (
    FIRST,
    OF_TAU,
    OF_VERTICES,
    SECOND,
    TAKEN,
    OneType,
    Slots,
    TwoTypes,
    note,
    take,
)
from programs import Calling
from ssp import Book, check
from team import walked

from tux.arrays.networks import from_arrays
from tux.cluster.simulated import SimulatedCluster
from tux.engine.worker import Worker
from tux.graph.local import Graph
from tux.graph.parts import cut
from tux.program.stage import Stage
from tux.protocol.message import Kind
from tux.stages import Apply, Exchange, GlobalSync, MiniBatch

SLACKS = (0, 1, 2, 4, 8)
MOST_WORKERS = 4
EVERYTHING = -1
"""Stands for the block of a clock outside a mini-batch."""


class Read(NamedTuple):
    """What a worker saw at one place of clock t. All of clocks before `least` must be in it; its
    own are clocks before `own`.
    """

    place: str
    t: int
    least: int
    own: int
    count: np.ndarray  # (rows, W)
    sum: np.ndarray


@dataclass
class Log:
    """What happened: each worker's blocks in their order, and its reads by table and slots."""

    slack: int
    blocks: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    # edges walked, if not all of a block
    shares: dict[int, list[np.ndarray | None]] = field(default_factory=lambda: defaultdict(list))
    reads: dict[tuple[int, str, Slots], list[Read]] = field(
        default_factory=lambda: defaultdict(list)
    )
    # clocks of own changes so far
    written: dict[tuple[int, Slots], int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    # all clocks before this one were over when the pass began
    since: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    # how often Apply ran, by clock, as each clock's GlobalSync was told
    applied: list[int] = field(default_factory=list)

    def look(self, worker, place, t, settled=()):
        """Note what all rows show. `settled`: tables and slots for which the answers of this
        very clock are in.
        """
        for name, table in worker.tables.items():
            known = 1 if name == "tau" else worker.graph.vertices[name].known
            for kind in OF_TAU if name == "tau" else OF_VERTICES:
                least = (
                    t + 1
                    if (name, kind) in settled
                    else max(t - self.slack, self.since[worker.rank])
                )
                seen = [table.arrays[f][:known].copy() for f in kind[:2]]
                self.reads[worker.rank, name, kind].append(
                    Read(place, t, least, self.written[worker.rank, kind], *seen)
                )


class Watch(Stage):
    """A stage that reads all rows, while messages go on arriving.

    `wrote`: what the Exchange before it has changed. At the start of a clock it tells the rows
    which worker and clock this is.
    """

    def __init__(self, log, busy, place, *, wrote=(), settled=()):
        self.log, self.busy, self.place, self.wrote, self.settled = log, busy, place, wrote, settled

    def prepare(self, worker, batch=None):
        return Calling(worker, self.see)

    def see(self, worker, block):
        """Note what the rows show."""
        # segments of one kind run in the order of their clocks
        t = self.log.calls[worker.rank, self.place]
        self.log.calls[worker.rank, self.place] += 1
        for kind in self.wrote:
            self.log.written[worker.rank, kind] = t + 1
        self.busy(worker)
        self.log.look(worker, self.place, t, self.settled)
        for name, table in worker.tables.items():
            if name != "tau" and not self.wrote:
                table.arrays["me"][:], table.arrays["now"][:] = worker.rank, t
        if self.place == "start":
            self.log.blocks[worker.rank].append(block.number if block else EVERYTHING)
            self.log.shares[worker.rank].append(
                walked(worker, self.exchange.step, block) if block and block.rounds > 1 else None
            )
        if self.place == "beat":
            for slot, amount in (("beats", 1), ("sent", 1), ("beats_sum", t), ("sent_sum", t)):
                worker.tables["tau"].arrays[slot][0, worker.rank] += amount
            for kind in OF_TAU:
                self.log.written[worker.rank, kind] = t + 1


class Walk(Exchange):
    """An Exchange that remembers its step."""

    def prepare(self, worker, batch=None):
        self.step = super().prepare(worker, batch)
        return self.step


class Batch(MiniBatch):
    """A mini-batch that remembers the boundaries of its blocks, and the end that it enumerates."""

    def prepare(self, worker, batch=None):
        blocks = super().prepare(worker, batch)
        self.cuts, self.role = blocks.cuts, blocks.plan.role
        return blocks


@dataclass(frozen=True)
class Scenario:
    """All that a seed decides but the order of events."""

    seed: int
    workers: int
    slack: int
    one_type: bool  # both ends of an edge have one type
    over: str
    size: dict[str, int]  # of a block: "vertices" or "edges"; empty: one block
    segments: int  # Exchanges with Applies in a mini-batch
    # with two segments: all but the first type are applied in the second alone, and the context is
    # changed in the first
    late: bool
    plain: bool  # a clock outside the mini-batch in each epoch
    sync: bool  # a GlobalSync at the end of each clock
    order: str  # of blocks
    epochs: int
    pairs: np.ndarray  # (2, m): ends of the edges
    parts: np.ndarray  # (m,): worker of each edge

    @staticmethod
    def drawn(seed, workers=None, slack=None):
        """The scenario of a seed; seeds go round workers and slacks."""
        draw, rng = random.Random(seed), np.random.default_rng(seed)
        workers = 1 + seed % MOST_WORKERS if workers is None else workers
        slack = SLACKS[seed // MOST_WORKERS % len(SLACKS)] if slack is None else slack
        one_type = draw.random() < 0.3
        left, right = draw.randint(4, 12), draw.randint(4, 12) if one_type else draw.randint(1, 4)
        chosen = rng.random((left, right)) < draw.choice((0.15, 0.6, 1.0))
        chosen[0, 0] = True
        pairs = np.stack(np.nonzero(chosen))
        # at times the last worker has no edges at all
        active = max(1, workers - (draw.random() < 0.15))
        parts = (
            rng.integers(0, active, pairs.shape[1]) if draw.random() < 0.8 else pairs[0] % active
        )
        segments = 1 if one_type else draw.choice((1, 2))
        size = draw.choice(
            (
                {},
                {"vertices": 1},
                {"vertices": 2},
                {"vertices": 3},
                {"edges": max(1, len(parts) // 3)},
            )
        )
        return Scenario(
            seed,
            workers,
            slack,
            one_type,
            over=draw.choice(("src", "dst") if one_type else ("leaf", "hub")),
            size=size,
            segments=segments,
            late=segments == 2 and seed % 3 > 0,
            plain=draw.random() < 0.3,
            order=draw.choice(("shuffled", "fixed", "rotated", "rotated", "pipelined")),
            epochs=draw.randint(2, 3) if size else draw.randint(slack + 2, slack + 4),
            sync=draw.random() < 0.6,
            pairs=pairs,
            parts=parts.astype(np.int16),
        )

    def stages(self, program, log, busy):
        """One epoch of one worker."""
        names = list(program.vertices)

        def noted(tau):
            log.applied.append(int(tau.applied))
            note(tau)

        def synchronised(inside):
            first, second = program.udfs
            over = self.over if inside else ""
            out = [
                Watch(log, busy, "start"),
                Walk(first, over=over),
                Watch(log, busy, "end", wrote=(FIRST, TAKEN)),
            ]
            out[0].exchange = out[1]
            out += [Watch(log, busy, "beat")] if self.late and self.sync else []
            early = names[:1] if self.late else names
            out += [Apply(name, take) for name in early]
            settled = {(name, kind) for name in early for kind in (FIRST, TAKEN)}
            if self.segments == 2:
                out += [Watch(log, busy, "between", settled=settled), Exchange(second, over=over)]
                out += [
                    Watch(log, busy, "end again", wrote=(SECOND,), settled=settled),
                    *[Apply(name, take) for name in names],
                ]
                settled = {(name, kind) for name in names for kind in OF_VERTICES}
            out += [] if self.late or not self.sync else [Watch(log, busy, "beat", settled=settled)]
            return [*out, GlobalSync(noted)] if self.sync else out

        batch = Batch(*synchronised(True), over=self.over, order=self.order, **self.size)
        return [batch, *(synchronised(False) if self.plain else [])]


class Simulation:
    """A scenario with its workers, ready to run; the same seed draws the order of events."""

    def __init__(self, scenario):
        self.scenario = s = scenario
        kind = OneType if s.one_type else TwoTypes
        program = kind(slots=s.workers)
        self.data = from_arrays(*s.pairs, ends=program.edge.ends)
        self.parts = cut(self.data, None, s.parts, s.workers, s.seed)
        options = {"seed": s.seed, "jit": False, "slack": s.slack, "workers": s.workers}
        self.workers = [
            Worker(program, Graph.of(program, part), rank=rank, **options)
            for rank, part in enumerate(self.parts)
        ]
        self.cluster = SimulatedCluster(self.workers, s.seed)
        self.log = Log(s.slack)
        self.epochs = [s.stages(program, self.log, self.busy) for _ in self.workers]
        self.steps = [
            worker.prepare(stages) for worker, stages in zip(self.workers, self.epochs, strict=True)
        ]
        # of blocks, in positions of the enumerated end
        self.cuts, self.role = self.epochs[0][0].cuts, self.epochs[0][0].role

    def busy(self, worker):
        """Some messages arrive while this worker computes: at any server, and for this worker,
        but none that would wake another.
        """
        cluster = self.cluster
        for _ in range(cluster.draw.choice((0, 0, 1, 3, 10))):
            ready = [
                at
                for at, queue in cluster.channels.items()
                if at[1] == worker.rank or queue[0].kind in (Kind.CONTRIBUTION, Kind.TOTALS)
            ]
            if ready:
                cluster.deliver(cluster.draw.choice(ready))

    def run(self):
        """Two passes of several epochs each; within a pass no worker waits for an epoch's end."""
        self.cluster.finish({worker.rank: self._passes(worker) for worker in self.workers})
        assert not self.cluster.channels and not any(worker.inbox for worker in self.workers), (
            "messages are left over"
        )
        return self

    def _passes(self, worker):
        steps, log = self.steps[worker.rank], self.log
        for number in range(2):
            yield from worker.execute(steps * self.scenario.epochs)
            log.since[worker.rank] = log.calls[worker.rank, "start"]
            log.look(worker, "over", log.since[worker.rank])
            worker.epoch = number + 1

    def positions(self, name):
        """Position of each vertex of a type in its one order."""
        return np.argsort(self.parts[0].types[name].order)

    def home(self, name):
        """The master's worker of each position."""
        out = np.empty(self.parts[0].types[name].vertices, int)
        for rank, part in enumerate(self.parts):
            out[part.types[name].masters] = rank
        return out

    def books(self, name):
        """(made, sent): what clocks have changed in each row of a table, and what they have sent
        to its master.
        """
        log, workers, clocks = self.log, self.scenario.workers, len(self.log.blocks[0])
        made = np.zeros((2, clocks, 1 if name == "tau" else len(self.home(name)), workers), int)
        sent = np.zeros_like(made)
        for w in range(workers):
            waiting = np.zeros(made.shape[::2], int)
            for t, block in enumerate(log.blocks[w]):
                touched, gone = self.rows(name, w, block)
                if log.shares[w] and (ends := log.shares[w][t]) is not None and name != "tau":
                    touched = np.unique(
                        [end for of, end in zip(self.data.ends, ends, strict=True) if of == name]
                    )
                made[0, t, touched, w], made[1, t, touched, w] = 1, t
                waiting += made[:, t, :, w]
                sent[:, t, gone, w], waiting[:, gone] = waiting[:, gone], 0
        return [
            Book(*np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0), (0, 0), (0, 0))))
            for each in (made, sent)
        ]

    def rows(self, name, worker, block):
        """Positions that a worker touches in a block, and those whose changes it then sends."""
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

    def applied(self):
        """How often Apply's function must have run by clock: for each vertex whose master
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
        """All assertions, over all reads and masters. Returns how stale the stalest read at a
        clock's start was.
        """
        stalest = 0
        for name in [
            name for name in self.workers[0].tables if name != "tau" or self.scenario.sync
        ]:
            made, sent = self.books(name)
            home = np.zeros(1, int) if name == "tau" else self.home(name)
            for worker, part in zip(self.workers, self.parts, strict=True):
                rows = np.zeros(1, int) if name == "tau" else part.types[name].rows
                for kind in OF_TAU if name == "tau" else OF_VERTICES[: 1 + self.scenario.segments]:
                    books = [Book(*(each[:, rows] for each in book)) for book in (made, sent)]
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
        """What Applies and GlobalSyncs were given belongs to their clocks, and nothing of it is
        lost.
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
        assert runs == {sum(self.applied())}, (
            "each Apply runs once for each vertex, and none of its additions to the context is lost"
        )
        if self.log.applied:  # real processes have logs of their own
            assert self.log.applied == self.applied(), (
                "what Applies add to the context comes to the GlobalSync of another clock"
            )
