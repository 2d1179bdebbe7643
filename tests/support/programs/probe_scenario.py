"""All that a seed decides of a probe but the order of events: graph, cut, program and stages."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
from support.programs.probe_log import EVERYTHING, Watch
from support.programs.probe_programs import FIRST, OF_VERTICES, SECOND, TAKEN, note, take

from tux.stages import Apply, Exchange, GlobalSync, MiniBatch, Repeat

SLACKS = (0, 1, 2, 4, 8)
MOST_WORKERS = 4
ORDERS = ("shuffled", "fixed", "rotated", "rotated", "pipelined")


class RememberedExchange(Exchange):
    """An Exchange that remembers its step."""

    def prepare(self, worker, batch=None):
        self.prepared = super().prepare(worker, batch)
        return self.prepared


class RememberedBatch(MiniBatch):
    """A mini-batch that remembers the boundaries of its blocks, and the end that it enumerates."""

    def prepare(self, worker, batch=None):
        blocks = super().prepare(worker, batch)
        self.cuts, self.role = blocks.cuts, blocks.plan.role
        return blocks


@dataclass(frozen=True)
class ProbeScenario:
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
    repeat: str  # what makes the epochs of a pass: "" (its steps so often), "times" or "until"
    epochs: int
    pairs: np.ndarray  # (2, m): ends of the edges
    parts: np.ndarray  # (m,): worker of each edge

    @staticmethod
    def draw_scenario(seed, workers=None, slack=None):
        """Draw the scenario of a seed. Successive seeds go through all numbers of workers and all
        slacks.
        """
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
        over = draw.choice(("src", "dst") if one_type else ("leaf", "hub"))
        plain, order = draw.random() < 0.3, draw.choice(ORDERS)
        epochs = draw.randint(2, 3) if size else draw.randint(slack + 2, slack + 4)
        sync, repeat = draw.random() < 0.6, draw.choice(("", "", "times", "until"))
        return ProbeScenario(
            seed,
            workers,
            slack,
            one_type,
            over=over,
            size=size,
            segments=segments,
            late=segments == 2 and seed % 3 > 0,
            plain=plain or repeat == "until",  # the last stage is to be a GlobalSync
            order=order,
            repeat=repeat,
            epochs=epochs,
            sync=sync or repeat == "until",
            pairs=pairs,
            parts=parts.astype(np.int16),
        )

    def stages(self, program, log, busy):
        """Return the stages of one epoch of one worker."""
        names = list(program.vertices)

        def note_applies(tau):
            log.applied.append(int(tau.applied))
            note(tau)

        def segment_stages(inside):
            first, second = program.udfs
            over = self.over if inside else ""
            out = [
                Watch(log, busy, "start"),
                RememberedExchange(first, over=over),
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
            return [*out, GlobalSync(note_applies)] if self.sync else out

        batch = RememberedBatch(
            *segment_stages(True), over=self.over, order=self.order, **self.size
        )
        stages = [batch, *(segment_stages(False) if self.plain else [])]
        if self.repeat == "times":
            return [Repeat(*stages, times=self.epochs)]
        if self.repeat == "until":
            return [Repeat(*stages, until=self.enough(stages[1], log))]
        return stages

    def enough(self, watch, log):
        """Look at all rows as `until` of one worker does, and end every pass after its epochs."""
        asked = []

        def enough(tau):
            assert log.blocks[watch.worker.rank][-1] == EVERYTHING, "8: the last clock has not run"
            log.note_end(watch.worker)
            asked.append(tau)
            return len(asked) % self.epochs == 0

        return enough
