"""Runs the clocks of one pass over a program's steps: starts them as the slack allows, runs their
segments, sends contributions, and installs answers.

`tux.clock.clock` decides whether a clock may start; `tux.clock.schedule` makes the clocks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple, Protocol

from tux.clock.clock import Clock
from tux.clock.schedule import ClockTask, Schedule, segments
from tux.clock.steps import Step
from tux.clock.trace import ClockEvent
from tux.engine.partition import Partition
from tux.engine.timeline import Timeline
from tux.messages.message import BadMessage, Kind, Message
from tux.sync.gathered import UnsentByClock, UnsentRows, list_unsent_rows


class EndedEpoch(NamedTuple):
    """An epoch whose clocks are all finished on this worker, while its pass goes on. `clocks`:
    those of the pass up to its end. `metrics`: of the context's version that its last GlobalSync
    has made. `most_stale`: so far.
    """

    number: int
    clocks: int
    metrics: dict[str, float]
    most_stale: int


class PassEpochs(Protocol):
    """An object that knows the epochs of a pass: whether another one follows, and whether the
    state of the worker is kept between two clocks.
    """

    number: int
    """The epoch whose clocks start."""

    skip: int
    """Clocks of the first epoch that have ended before, of which nothing is left to do."""

    def goes_on(self, known: int) -> bool | None:
        """Return whether the next epoch follows in this pass, and count it; None: it is known when
        another message has been taken. `known`: the last epoch that is finished on every worker
        which asks this, whatever the order of messages; 0 if there is none.
        """

    def keeps_state(self) -> bool | None:
        """Return whether the state between the last clock and the next is kept; None: it is known
        when another message has been taken. The loop asks until it is known.
        """

    def keep(self, loop: ClockLoop) -> Iterator[None]:
        """Keep the state after ``loop.turns`` clocks of the epoch; yield while messages must be
        taken.
        """


class EpochEnd(NamedTuple):
    """The end of an epoch of a pass: its number, and how many clocks of the pass have started up to
    there, and among them those of the schedule.
    """

    number: int
    started: int
    scheduled: int


class ClockLoop:
    """One pass over `steps` on one worker. Rows change only during `run`, between segments, never
    while a kernel reads them.

    With `epochs`, the pass may have several, one after the other: clocks go on over the end of an
    epoch as the slack allows. And the worker's state may be kept between two clocks. Then all
    clocks so far are finished first, and all that they have pushed to masters is folded there.
    """

    def __init__(
        self,
        worker: Partition,
        steps: Sequence[Step],
        slack: int,
        timeline: Timeline,
        epochs: PassEpochs | None = None,
    ) -> None:
        self.worker, self.clock, self._epochs = worker, Clock(slack), epochs
        self._timeline = timeline
        self.first = worker.all_clocks  # number of the pass's first clock among those of the run
        if worker.trace:
            worker.trace.note(ClockEvent.PASS, self.first, value=slack)
        self._tasks: dict[int, ClockTask] = {}  # of the clocks that are not finished
        self._schedule = Schedule(steps)
        # of the epochs of this pass that others follow: not told to have ended, and not known to
        # have ended on all workers
        self._untold: deque[EpochEnd] = deque()
        self._unknown: deque[EpochEnd] = deque()
        self._known = 0  # the last epoch that is known to have
        # the epoch of the context's version here, and metrics of versions before it, by epoch
        self._version = epochs.number if epochs else 0
        self._metrics: dict[int, dict[str, float]] = {}
        self.turns = epochs.skip if epochs else 0  # clocks of the epoch that have begun
        self._begin_epoch()
        self._is_due = self._closed = False  # a state is to be kept; its blocks are closed
        self._closings = 0  # clocks that have closed blocks for a state
        self._next: ClockTask | None = None  # None: not known yet, or there is none
        self._gathered = UnsentByClock()
        self._ran = (0, 0)  # clock and position of the segment that ran last
        self._looked = False  # True if messages that arrived while it ran have been taken
        # the clock of the last answer, by synchronisation and sender
        self._answered: dict[tuple[int, int], int] = {}

    @property
    def scheduled_clocks(self) -> int:
        """The number of clocks of the schedule that have started. A clock that closes blocks so
        that a state can be kept does not count: records are the same whether states are kept or
        not.
        """
        return self.clock.started - self._closings

    def run(self) -> Iterator[EndedEpoch | None]:
        """Run all clocks; yield None whenever nothing can go on before another message is taken,
        and each epoch that has ended while others follow.
        """
        self._look_ahead()
        while True:
            self._install()
            yield from self._ended_epochs()
            ready = self.clock.next_segment()
            if ready is not None:
                if not self._has_news():
                    self._run_segment(*ready)
            elif self._is_due:
                yield from self._keep()
            elif self._next is not None and self.clock.may_start(self._next.order):
                wanted = self._is_wanted()
                if wanted is None:
                    yield None
                elif wanted:
                    self._is_due = True
                else:
                    self._start(self._next)
                    self.turns += 1
                    self._look_ahead()
            elif self._over and self._may_go_on():
                self._begin_epoch()
                self._look_ahead()
            elif self._over and not self._asks and self.clock.idle:
                return
            elif self._next is None and not self._over and self.clock.idle:
                self._look_ahead()
            else:
                yield None  # `Worker.take_next` waits until a message comes

    def _begin_epoch(self) -> None:
        """Begin the next epoch, or the pass: ask the schedule for its clocks."""
        epochs = self._epochs
        number = epochs.number - 1 if epochs else None
        self._upcoming = islice(self._schedule.clocks(number), self.turns, None)
        self._decided = self.turns  # whether a state is kept is decided up to this turn
        self._over = False  # the epoch has no more clocks
        self._asks = epochs is not None  # whether another epoch follows is not known

    def _may_go_on(self) -> bool:
        """Return whether another epoch follows in this pass, and is to begin now. This is decided
        when its first clock could start by the slack, so alike on all workers.
        """
        if self._epochs is None or not self._asks or not self.clock.within_slack:
            return False
        started, ended = self.clock.started, self._epochs.number
        least = started - self.clock.slack
        if self.worker.is_asynchronous:  # all epochs but the last one
            least = self._unknown[-1].started if self._unknown else 0
            if self.clock.finished < least:
                return False
        while self._unknown and self._unknown[0].started <= least:
            self._known = self._unknown.popleft().number
        goes_on = self._epochs.goes_on(self._known)
        self._asks = goes_on is None
        if goes_on:
            end = EpochEnd(ended, started, self.scheduled_clocks)
            self._untold.append(end)
            self._unknown.append(end)
            self.turns = 0
        return bool(goes_on)

    def _ended_epochs(self) -> Iterator[EndedEpoch]:
        """Yield the epochs that have ended since the last call, while others follow."""
        while self._untold and self._untold[0].started <= self.clock.finished:
            end = self._untold.popleft()
            metrics = self._metrics.pop(end.number, None)
            yield EndedEpoch(
                end.number,
                end.scheduled,
                self.worker.metrics() if metrics is None else metrics,
                self.clock.most_stale,
            )

    def _has_news(self) -> bool:
        """Return whether messages have arrived since a segment has run; they are taken. To look
        takes a round of the sockets, so a worker to which no answer is to come does not look.
        """
        if self._looked or not self.clock.is_unanswered:
            return False
        self._looked = True
        self.worker.inbox.extend(self.worker.transport.take_arrived())
        return bool(self.worker.inbox)

    def _start(self, task: ClockTask) -> None:
        finished = self.clock.finished
        self._tasks = {number: t for number, t in self._tasks.items() if number >= finished}
        self.worker.spans.count_start(self.clock.started - finished)
        self._tasks[number := self.clock.start(len(task.segments), task.order)] = task
        if not task.segments:
            self._trace_start(number, 0)

    def _is_wanted(self) -> bool | None:
        """Return whether the state before the next clock is kept; None: not known yet."""
        if self._epochs is None or self._decided == self.turns:
            return False
        wanted = self._epochs.keeps_state()
        if wanted is not None:
            self._decided = self.turns
        return wanted

    def _keep(self) -> Iterator[None]:
        """Do the next step of keeping the state: finish clocks, then run those that close the
        blocks so far, then keep it.
        """
        assert self._epochs is not None and self._next is not None
        if not self.clock.idle:
            yield
        elif self._next.closing and not self._closed:
            self._closed = True
            self._closings += 1
            self._start(replace(self._next, block=None, segments=segments(self._next.closing)))
        else:
            if self._version != self._epochs.number:
                self.worker.forget_metrics()  # as the state may be that of another pass's begin
            yield from self._epochs.keep(self)
            self._is_due = self._closed = False

    def _look_ahead(self) -> None:
        """Ask the schedule for the next clock; it may pause until all clocks are finished."""
        try:
            self._next = next(self._upcoming)
        except StopIteration:
            self._next, self._over = None, True
        if self._next is not None and self._epochs is not None:
            self._next.epoch = self._epochs.number

    def _run_segment(self, number: int, position: int) -> None:
        """Run the steps of a segment, then send the messages of its synchronisations."""
        worker, task = self.worker, self._tasks[number]
        worker.running, worker.spans.clock = task.number, self.first + number
        worker.running_epoch = task.epoch
        self._switch_to(number, position)
        self._trace_start(number, position)
        segment = task.segments[position]
        if segment.here:
            worker.transport.computes()
        for step in segment.here:
            step.run(task.block)
        if worker.trace:
            worker.trace.note(ClockEvent.RAN, self.first + number, segment=position)
        with worker.timing("send"):
            if first := segment.first_folded():
                worker.server.hold_context(self.first + number, first)
            # The context goes first: it is added up here before it goes on.
            answers = sum(
                sync.send(self.first + number, task.block)
                for sync in sorted(segment.syncs, key=lambda each: each.is_apply)
            )
            worker.send_enqueued()
        self.clock.end_segment(number, answers)
        if worker.trace:
            worker.trace.look()
        self._timeline.look()
        self._looked = False

    def _trace_start(self, number: int, position: int) -> None:
        """Note that a segment of a clock begins, or that a clock without segments starts."""
        if trace := self.worker.trace:
            trace.note(
                ClockEvent.START,
                self.first + number,
                sync=len(self._tasks[number].segments),
                segment=position,
                value=max(number - self.clock.finished, 0),
            )

    def _switch_to(self, number: int, position: int) -> None:
        """Put into the rows the deltas and changes of clock `number`, and no others."""
        before, after = self._ran
        with self.worker.timing("send"):
            self._gathered.switch_to(
                number, self._unsent(before, after) if before != number else ()
            )
        self._ran = number, position

    def _unsent(self, number: int, position: int) -> list[UnsentRows]:
        """List the rows that the segments of a clock after `position` will send."""
        if number not in self._tasks:
            return []
        task = self._tasks[number]
        later = task.segments[position + 1 :]
        return list_unsent_rows(
            (step for segment in later for step in (*segment.here, *segment.syncs)),
            task.block,
            self.worker.tables,
            self.worker.mirrors,
        )

    def _install(self) -> None:
        """Put answers that have arrived into the rows. Messages of a later pass stay."""
        worker, later = self.worker, []
        if not worker.inbox:
            return
        while worker.inbox:
            message = worker.inbox.popleft()
            if message.kind is Kind.ANSWER or message.kind is Kind.PULL_ANSWER:
                with worker.timing("send"):
                    self._check_awaited(message)
                    self._note_version(message)
                    worker.syncs[message.sync_id].install(message)
                if worker.trace:
                    worker.trace.note(
                        ClockEvent.INSTALLED,
                        message.clock,
                        message.source,
                        message.sync_id,
                        message.kind,
                    )
                self.clock.count_answer(message.clock - self.first)
            else:
                later.append(message)
        worker.inbox.extend(later)

    def _note_version(self, message: Message) -> None:
        """Keep the metrics of the context's version before an answer brings that of a later epoch.
        All answers of an epoch come before those of the next one, as all workers send in the order
        of epochs.
        """
        epoch = self._tasks[message.clock - self.first].epoch
        if epoch is None or self.worker.syncs[message.sync_id].table != "tau":
            return
        if epoch != self._version:
            if any(end.number == self._version for end in self._untold):
                self._metrics[self._version] = self.worker.metrics()
            self._version = epoch

    def _check_awaited(self, message: Message) -> None:
        """Raise BadMessage unless this answer is still to come: to the segment of its clock that
        ran last, and from a sender whose last answer to this synchronisation was to an earlier
        clock.
        """
        number, sync_id = message.clock - self.first, message.sync_id
        if not self.clock.awaits(number):
            raise BadMessage(message, f"no answer is waited for at clock {message.clock}")
        segment = self._tasks[number].segments[self.clock.segments_run(number) - 1]
        channel = sync_id, message.source
        awaited = (sync_id, message.kind) in [(s.sync_id, s.answer) for s in segment.syncs]
        if not awaited or self._answered.get(channel, -1) >= message.clock:
            raise BadMessage(
                message, f"clock {message.clock} waits for no answer of {sync_id} from there"
            )
        self._answered[channel] = message.clock
