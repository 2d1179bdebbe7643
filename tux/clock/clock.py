"""Stale Synchronous Parallel clocks of one worker (TUX2, section 3.2), and the contributions that a
master waits for. `Clock.may_start` decides that a clock may start. State machines without time or
sockets.

A clock is one mini-batch, or one run of stages outside mini-batches: segments of steps, each but
perhaps the last ended by synchronisations whose answers come from the masters. The rules:

1. Clock t starts when clocks 0 .. t - slack - 1 are finished: all their segments have run and all
   their answers are installed.
2. Blocks of one visit to a mini-batch run beside each other. Another clock starts when all segments
   before it have run. One that waits starts when all clocks before it are finished, and none starts
   beside one that is alone (`ClockOrder`).
3. A segment after the first runs when the answers to the one before it are installed. Older clocks
   go first.
4. A master folds a synchronisation when it has the contributions of all workers, in worker
   order.

`tux.clock.schedule` gives each clock its `ClockOrder`, and pauses where the next clock depends on
answers; `tux.engine.clock_loop` lets segments that may run go first, and a checkpoint that is due.

So at clock t a worker has seen, of every worker's contributions, all of clocks up to t - slack - 1,
and none after t - 1. At slack 0 this is BSP. Without a bound ("inf") it is asynchronous: clocks
start up to `MOST_SLACK`, which bounds what is kept for a late worker, and an epoch of training when
all but the one before it are finished.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Payload = TypeVar("Payload")

ENDLESS = "inf"
"""The slack of workers that do not wait for each other."""

MOST_SLACK = 10_000
"""The largest slack, in clocks; a mirror counts its unanswered messages in 16 bits."""

ASSUMED = 8
"""The slack that programs see, and by which blocks are made, where there is no bound."""


def assumed_slack(slack: int | str) -> int:
    """Return the slack that programs see."""
    return ASSUMED if isinstance(slack, str) else slack


class ClockOrder(NamedTuple):
    """The order of a clock among the others of a pass (rule 2).

    `visit`: a number that is the same for all blocks of one pass over a mini-batch, which may run
    beside each other, and different for each other clock. `waits`: it starts when all earlier
    clocks are finished. `alone`: it waits, and no other clock starts beside it.
    """

    visit: int
    waits: bool = False
    alone: bool = False


@dataclass
class OpenClock:
    """The state of a clock that has started and is not finished: its number of segments, its order,
    the segments that ran, and the answers still to come.
    """

    segments: int
    order: ClockOrder
    ran: int = 0
    waiting: int = 0


class Clock:
    """One worker's clocks of one pass, numbered from 0. Events: `start`, `end_segment`,
    `count_answer`; questions: `may_start`, `next_segment`, `awaits`, `is_unanswered`,
    `segments_run`, `idle`.
    """

    def __init__(self, slack: int) -> None:
        self.slack = slack
        self.started = 0  # clocks 0 .. started - 1 have started
        self.finished = 0  # clocks 0 .. finished - 1 are finished
        self.most_stale = 0  # the largest number of unfinished clocks at a start
        self._open: dict[
            int, OpenClock
        ] = {}  # those in finished .. started - 1 that are not finished

    def may_start(self, order: ClockOrder) -> bool:
        """Return whether the next clock may start, by rules 1 and 2."""
        if self.idle:
            return True
        beside = not order.waits and not any(
            other.order.alone or other.order.visit != order.visit and other.ran < other.segments
            for other in self._open.values()
        )
        return beside and self.within_slack

    @property
    def within_slack(self) -> bool:
        """True if the clocks are finished that must be before the next one starts (rule 1)."""
        return self.started - self.finished <= self.slack

    def start(self, segments: int, order: ClockOrder) -> int:
        """Start the next clock, and return its number."""
        if not self.may_start(order):
            raise RuntimeError(
                f"clock {self.started} started with {self.finished} finished at slack "
                f"{self.slack}, {order}"
            )
        self.most_stale = max(self.most_stale, self.started - self.finished)
        number = self.started
        self._open[number] = OpenClock(segments, order)
        self.started += 1
        self._advance()  # a clock without segments is over at once
        return number

    def next_segment(self) -> tuple[int, int] | None:
        """Find the oldest clock whose next segment may run, by rule 3. Return its number and that
        of the segment; None if there is none.
        """
        for number in sorted(self._open):
            clock = self._open[number]
            if clock.waiting == 0 and clock.ran < clock.segments:
                return number, clock.ran
        return None

    def end_segment(self, number: int, answers: int) -> None:
        """Note that a segment of clock `number` has run, for which so many `answers` will come."""
        clock = self._open[number]
        clock.ran += 1
        clock.waiting = answers
        self._advance()

    def awaits(self, number: int) -> bool:
        """Return whether answers to the last segment of clock `number` are still to come."""
        return number in self._open and self._open[number].waiting > 0

    @property
    def is_unanswered(self) -> bool:
        """True if answers to some clock are still to come."""
        return any(clock.waiting for clock in self._open.values())

    def segments_run(self, number: int) -> int:
        """Return the number of segments of clock `number`, which is not finished, that have run."""
        return self._open[number].ran

    def count_answer(self, number: int) -> None:
        """Note that an answer for clock `number` is installed. RuntimeError if none is awaited."""
        clock = self._open.get(number)
        if clock is None or clock.waiting == 0:
            raise RuntimeError(f"clock {number} got an answer that it did not wait for")
        clock.waiting -= 1
        self._advance()

    def _advance(self) -> None:
        for number in [
            n
            for n, clock in self._open.items()
            if clock.ran == clock.segments and clock.waiting == 0
        ]:
            del self._open[number]
        self.finished = min(self._open, default=self.started)

    @property
    def idle(self) -> bool:
        """True if every clock that started is finished."""
        return self.finished == self.started


class PendingContributions(Generic[Payload]):
    """Contributions of all workers, collected by key until each worker has sent one (rule 4)."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._contributions: dict[tuple[int, int], dict[int, Payload]] = {}
        # the clock of the last contribution, by worker and synchronisation
        self._last: dict[tuple[int, int], int] = {}

    def add(self, key: tuple[int, int], worker: int, payload: Payload) -> list[Payload] | None:
        """Add the contribution of `worker` for `key` (clock, synchronisation). Return all of the
        key in worker order when it is the last, else None.

        A worker contributes to one synchronisation clock by clock; ValueError if it does so twice
        for one clock, or goes back.
        """
        clock, sync_id = key
        last = self._last.get((worker, sync_id), -1)
        if not 0 <= worker < self.workers:
            raise ValueError(f"there is no worker {worker}")
        if clock <= last:
            raise ValueError(
                f"it is for clock {clock}, and worker {worker} has contributed to clock {last}"
            )
        self._last[worker, sync_id] = clock
        sent = self._contributions.setdefault(key, {})
        sent[worker] = payload
        if len(sent) < self.workers:
            return None
        return [payload for _, payload in sorted(self._contributions.pop(key).items())]

    def missing(self) -> list[tuple[tuple[int, int], list[int]]]:
        """List each key that is not complete, with the workers that it waits for."""
        return [
            (key, [w for w in range(self.workers) if w not in sent])
            for key, sent in sorted(self._contributions.items())
        ]
