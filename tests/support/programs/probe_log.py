"""The notes of the probe: every read of every worker, with the place and the clock, and the blocks
that workers ran.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from support.machines.team import walked_edges
from support.programs.probe_programs import OF_TAU, OF_VERTICES, ProbeSlots
from support.programs.programs import Calling

from tux.program.stage import Stage

EVERYTHING = -1
"""Stands for the block of a clock outside a mini-batch."""


class SlotReading(NamedTuple):
    """The values that a worker saw at one place of clock t. They must contain all of clocks before
    `least`, and the worker's own of clocks before `own`.
    """

    place: str
    t: int
    least: int
    own: int
    count: np.ndarray  # (rows, W)
    sum: np.ndarray


@dataclass
class Log:
    """A record of a run: each worker's blocks in their order, and its reads by table and slots."""

    slack: int
    blocks: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    # edges walked, if not all of a block
    shares: dict[int, list[np.ndarray | None]] = field(default_factory=lambda: defaultdict(list))
    reads: dict[tuple[int, str, ProbeSlots], list[SlotReading]] = field(
        default_factory=lambda: defaultdict(list)
    )
    # clocks of own changes so far
    written: dict[tuple[int, ProbeSlots], int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    # the number of the pass that random numbers depend on, by clock
    passes: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    # all clocks before this one were over when the pass began, or the repetition after `until`
    since: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    # how often Apply ran, by clock, as each clock's GlobalSync was told
    applied: list[int] = field(default_factory=list)

    def look(self, worker, place, t, settled=()):
        """Note what all rows show. `settled`: tables and slots for which the answers of this
        very clock are in.
        """
        for name, table in worker.tables.items():
            known = 1 if name == "tau" else worker.graph.vertices[name].n_train
            for kind in OF_TAU if name == "tau" else OF_VERTICES:
                least = (
                    t + 1
                    if (name, kind) in settled
                    else max(t - self.slack, self.since[worker.rank])
                )
                seen = [table.arrays[f][:known].copy() for f in kind[:2]]
                self.reads[worker.rank, name, kind].append(
                    SlotReading(place, t, least, self.written[worker.rank, kind], *seen)
                )

    def note_end(self, worker):
        """Note that all clocks so far are over on this worker, and what it shows."""
        self.since[worker.rank] = self.calls[worker.rank, "start"]
        self.look(worker, "over", self.since[worker.rank])


class Watch(Stage):
    """A stage that reads all rows, while messages go on arriving.

    `wrote`: what the Exchange before it has changed. At the start of a clock it tells the rows
    which worker and clock this is.
    """

    def __init__(self, log, busy, place, *, wrote=(), settled=()):
        self.log, self.busy, self.place, self.wrote, self.settled = log, busy, place, wrote, settled

    def prepare(self, worker, batch=None):
        self.worker = worker
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
            self.log.passes[worker.rank].append(worker.pass_number)
            self.log.shares[worker.rank].append(
                walked_edges(worker, self.exchange.prepared, block)
                if block and block.rounds > 1
                else None
            )
        if self.place == "beat":
            for slot, amount in (("beats", 1), ("sent", 1), ("beats_sum", t), ("sent_sum", t)):
                worker.tables["tau"].arrays[slot][0, worker.rank] += amount
            for kind in OF_TAU:
                self.log.written[worker.rank, kind] = t + 1
