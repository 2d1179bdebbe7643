"""The rules of Stale Synchronous Parallel (TUX2, section 3.2), asked of the traces of one start of
a run's workers. It shares no code with the engine: it knows only the records (`tux.clock.trace`).

The traces of all workers are replayed side by side. What comes from another worker is taken when
its sending has been taken: so nothing may come before it was sent. Messages of one kind between two
members are a channel, which loses, doubles and reorders none. The rules:

1. A worker starts clock t when its clocks up to t - slack - 1 are finished: all their segments have
   run, and all their answers are installed. A segment after the first waits for the answers to the
   one before it.
2. A server answers a clock when it has folded the contributions of all workers to it, each once, in
   the order of clocks. A request for rows it answers when it has folded what all workers have
   pushed in clocks up to t - slack - 1.
3. A worker runs its clocks, and the segments of each, once and in order. It installs each answer
   once, in order, and not while a segment runs. A pass begins, and a state is kept, when all clocks
   are finished; a run that goes on begins with the clock of a kept state. All workers run the same
   passes, each at the same slack, which is at most that of the run. After its end it runs nothing.
4. A record has the numbers of its event alone: the others are 0.

A trace that was cut, as that of a worker that was killed, is right up to its cut. What others have
heard of the worker after it is taken as it is.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from tux.base.errors import DataError
from tux.clock.trace import EVENT_NUMBERS, RECORD, ClockEvent, WorkerTrace
from tux.messages.message import Kind

ROWS = 4096
"""Records that are tuples at a time."""
UNAWAITED = (Kind.PULL_REQUEST, Kind.PUSH)
"""Messages that a server may take when its worker has ended, and what it has noted was sent."""
SERVED = (ClockEvent.PASSED, ClockEvent.FOLDED, ClockEvent.ANSWERED)
"""Events of the server."""


@dataclass
class TracedClock:
    """A clock that is not finished: its segments, those that ran, and answers to come, each as its
    synchronisation and its server.
    """

    segments: int
    ran: int = 0
    awaited: set[tuple[int, int]] = field(default_factory=set)

    @property
    def is_finished(self) -> bool:
        """True if all has run, and all is installed."""
        return self.ran == self.segments and not self.awaited


class TracedWorker:
    """A worker as far as its records have been taken."""

    def __init__(self, trace: WorkerTrace) -> None:
        self.trace, self.at, self.count = trace, 0, len(trace.records)  # `at`: the next record
        self._first = 0
        self._rows: list[tuple[int, ...]] = []  # some records as tuples, which take more memory
        self.next: int | None = None  # the clock that starts next; None: it is not known
        self.slack = 0
        self.clocks: dict[int, TracedClock] = {}  # that may not be finished
        self.sending, self.running = -1, False  # the clock whose segment ran last, or runs
        self.kept: set[int] = set()
        self.passes, self.has_ended = 0, False

    @property
    def row(self) -> tuple[int, ...]:
        """The next record, or the last one if there is no other: the numbers of a RECORD."""
        at = min(self.at, self.count - 1)
        if not 0 <= at - self._first < len(self._rows):
            self._first = at
            self._rows = self.trace.records[at : at + ROWS].tolist()
        return self._rows[at - self._first]

    def list_unfinished(self) -> list[int]:
        """List the clocks that are not finished, in order."""
        self.clocks = {n: clock for n, clock in self.clocks.items() if not clock.is_finished}
        return sorted(self.clocks)


class TraceReplay:
    """The traces of one start, taken record by record. DataError where they break a rule.

    `firsts`: the clocks with which it may begin.
    """

    def __init__(self, traces: Sequence[WorkerTrace], firsts: Collection[int]) -> None:
        self._workers = {each.rank: TracedWorker(each) for each in traces}
        self._all = range(traces[0].workers)
        self._firsts = firsts
        self._passes: list[tuple[int, int]] = []  # the first clock and the slack of each
        self.stalest = 0  # unfinished clocks before one that started, at most
        # clocks of messages under way, by kind, sender, receiver and synchronisation
        self._channels: dict[tuple[int, int, int, int], deque[int]] = defaultdict(deque)
        # of contributions, by server, synchronisation and clock: the workers that are folded, and
        # those that are still to be answered
        self._folded: dict[tuple[int, int, int], set[int]] = defaultdict(set)
        self._owed: dict[tuple[int, int, int], set[int]] = {}
        self._last: dict[tuple[int, int], int] = {}  # the clock folded last, by server and sync
        # clocks of pushes, by worker, server and sync, from the last one on that must be in; and
        # the last one that a server has folded, by server, sync and worker
        self._pushes: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        self._pushed: dict[tuple[int, int, int], int] = {}

    def run(self) -> None:
        """Take all records."""
        for worker in self._workers.values():
            self._check_numbers(worker)
        moved = True
        while moved:
            moved = False
            for worker in self._workers.values():
                while worker.at < worker.count and self._take(worker):
                    worker.at += 1
                    moved = True
        for worker in self._workers.values():
            if worker.at < worker.count:
                raise self._rule_error(worker, "it comes before it was sent, or was never sent")
        self._check_rest()

    def _check_numbers(self, worker: TracedWorker) -> None:
        """Demand that no record has a number which is not of its event."""
        records = worker.trace.records
        for event, names in EVENT_NUMBERS.items():
            rows = np.flatnonzero(records["event"] == event)
            for name in set(RECORD.names or ()) - {"event", *names}:
                extra = rows[records[name][rows] != 0]
                if len(extra):
                    worker.at = int(extra[0])
                    found = records[name][worker.at]
                    raise self._rule_error(worker, f"it has the {name} {found}, and needs none")

    def kept_clocks(self) -> set[int]:
        """Return the clocks before which all workers have kept their states."""
        return set.intersection(*(each.kept for each in self._workers.values()))

    @property
    def clocks(self) -> int:
        """The number of clocks that have started, from the beginning of the run."""
        return max(each.next or 0 for each in self._workers.values())

    def _take(self, worker: TracedWorker) -> bool:
        """Take a worker's next record; False: that of another worker must be taken before."""
        event, kind, segment, peer, sync, value, clock = worker.row
        if event not in SERVED:
            self._demand(worker, not worker.has_ended, "it comes after the end of the run")
        match event:
            case ClockEvent.PASS:
                self._begin_pass(worker, clock, value)
            case ClockEvent.START:
                self._start(worker, clock, segment, sync, value)
            case ClockEvent.RAN:
                begun = worker.running and clock == worker.sending
                right = begun and worker.clocks[clock].ran == segment
                self._demand(worker, right, f"segment {segment} has run, which has not begun")
                worker.clocks[clock].ran, worker.running = segment + 1, False
            case ClockEvent.SENT:
                self._send(worker, kind, peer, sync, clock)
            case ClockEvent.PASSED:
                rank = worker.trace.rank
                if not self._receive(worker, Kind.TOTALS, rank, sync, clock):
                    return False
                self._channels[kind, rank, 0, sync].append(clock)
            case ClockEvent.FOLDED:
                return self._fold(worker, kind, peer, sync, clock)
            case ClockEvent.ANSWERED:
                return self._answer(worker, kind, peer, sync, clock)
            case ClockEvent.INSTALLED:
                return self._install(worker, kind, peer, sync, clock)
            case ClockEvent.KEPT:
                self._demand_finished(worker, "a state is kept")
                self._demand(worker, clock == worker.next, f"{worker.next} starts next")
                worker.kept.add(clock)
            case ClockEvent.END:
                self._demand_finished(worker, "the run ends")
                worker.has_ended = True
            case _:
                raise self._rule_error(worker, f"{event} is no event")
        return True

    # ---- the worker

    def _begin_pass(self, worker: TracedWorker, clock: int, slack: int) -> None:
        self._demand_finished(worker, "a pass begins")
        if worker.next is None:
            begins = f"the workers begin with it, and states are kept before {sorted(self._firsts)}"
            self._demand(worker, clock in self._firsts, begins)
        else:
            self._demand(worker, clock == worker.next, f"{worker.next} starts next")
        too_large = f"a pass begins at slack {slack}, and that of the run is {worker.trace.slack}"
        self._demand(worker, slack <= worker.trace.slack, too_large)
        if worker.passes == len(self._passes):
            self._passes.append((clock, slack))
        first, of_others = self._passes[worker.passes]
        other = f"a pass begins at slack {slack}, and that of others at {of_others}, clock {first}"
        self._demand(worker, (clock, slack) == (first, of_others), other)
        worker.next, worker.slack, worker.passes = clock, slack, worker.passes + 1

    def _start(
        self, worker: TracedWorker, clock: int, segment: int, segments: int, lag: int
    ) -> None:
        self._demand(worker, not worker.running, "a segment begins while another one runs")
        before = worker.list_unfinished()
        if segment == 0:
            self._demand(worker, clock == worker.next, f"it starts, and {worker.next} is next")
            worker.clocks[clock] = TracedClock(segments)
            worker.next = clock + 1
        own = worker.clocks.get(clock, TracedClock(0, -1))
        ready = own.segments == segments and own.ran == segment and not own.awaited
        self._demand(worker, ready, f"segment {segment} begins out of turn")
        stale = clock - min(before, default=clock)
        told = f"{lag} clocks up to it are told to be unfinished, and it is {stale}"
        self._demand(worker, lag == stale, told)
        if segment == 0:
            late = f"it starts at slack {worker.slack}, and clock {clock - stale} is not finished"
            self._demand(worker, stale <= worker.slack, late)
            self.stalest = max(self.stalest, stale)
        worker.sending, worker.running = clock, segments > 0

    def _send(self, worker: TracedWorker, kind: int, peer: int, sync: int, clock: int) -> None:
        own, rank = worker.clocks.get(clock), worker.trace.rank
        right = own and clock == worker.sending and not worker.running
        self._demand(worker, right, "something is sent, and no segment of it has just run")
        assert own
        self._channels[kind, rank, peer, sync].append(clock)
        if kind == Kind.PUSH:
            self._pushes[rank, peer, sync].append(clock)
            return
        answer = (sync, 0 if kind == Kind.TOTALS else peer)
        self._demand(worker, answer not in own.awaited, "it is sent twice")
        own.awaited.add(answer)

    def _install(self, worker: TracedWorker, kind: int, peer: int, sync: int, clock: int) -> bool:
        self._demand(worker, not worker.running, "an answer is installed while a segment runs")
        own = worker.clocks.get(clock)
        awaited = own and (sync, peer) in own.awaited
        self._demand(
            worker, awaited, f"an answer of worker {peer} is installed that is not awaited"
        )
        if not self._receive(worker, kind, peer, sync, clock):
            return False
        assert own
        own.awaited.remove((sync, peer))
        return True

    # ---- the server

    def _fold(self, worker: TracedWorker, kind: int, peer: int, sync: int, clock: int) -> bool:
        rank = worker.trace.rank
        if not self._receive(worker, kind, peer, sync, clock):
            return False
        if kind == Kind.PUSH:
            self._pushed[rank, sync, peer] = clock
            return True
        key, last = (rank, sync, clock), self._last.get((rank, sync), -1)
        self._demand(worker, clock >= last, f"it is folded after clock {last}")
        self._demand(worker, key not in self._owed, f"worker {peer} is folded behind the last one")
        self._last[rank, sync] = clock
        self._folded[key].add(peer)
        if len(self._folded[key]) == len(self._all):
            self._owed[key] = self._folded.pop(key)
        return True

    def _answer(self, worker: TracedWorker, kind: int, peer: int, sync: int, clock: int) -> bool:
        rank = worker.trace.rank
        if kind == Kind.PULL_ANSWER:
            if not self._receive(worker, Kind.PULL_REQUEST, peer, sync, clock):
                return False
            self._check_pushes(worker, peer, sync, clock)
        else:
            key = rank, sync, clock
            if peer not in (owed := self._owed.get(key, set())):
                has = sorted(self._folded.get(key, owed))
                early = f"worker {peer} is answered again, or too early: {has} are folded"
                raise self._rule_error(worker, early)
            owed.remove(peer)
            if not owed:
                del self._owed[key]
        self._channels[kind, rank, peer, sync].append(clock)
        return True

    def _check_pushes(self, worker: TracedWorker, peer: int, sync: int, clock: int) -> None:
        """Demand that a server which answers `peer` has folded old enough pushes of all workers:
        they have the same clocks on all.
        """
        rank, slack = worker.trace.rank, worker.trace.slack
        pushes = self._pushes[peer, rank, sync]
        while len(pushes) > 1 and pushes[1] < clock - slack:
            del pushes[0]
        if pushes and pushes[0] < clock - slack:
            for each in self._all:
                last = self._pushed.get((rank, sync, each), -1)
                old = f"it lacks what worker {each} has pushed in clock {pushes[0]}"
                self._demand(worker, last >= pushes[0], old)

    # ---- channels

    def _receive(self, worker: TracedWorker, kind: int, peer: int, sync: int, clock: int) -> bool:
        """Take the oldest message of a channel, which must be of this clock; False if there is
        none yet. Whether a trace that was cut, or is missing, has sent it is not known.
        """
        channel = self._channels[kind, peer, worker.trace.rank, sync]
        if channel:
            oldest = f"it comes from worker {peer}, whose message of clock {channel[0]} is next"
            self._demand(worker, channel[0] == clock, oldest)
            channel.popleft()
            return True
        sender = self._workers.get(peer)
        return sender is None or (
            sender.at == sender.count and (kind == Kind.PULL_ANSWER or not sender.trace.is_whole)
        )

    def _check_rest(self) -> None:
        """Demand that all has come that was sent, where no trace was cut. What is pushed last, no
        worker waits for.
        """
        for (kind, source, dest, sync), channel in self._channels.items():
            receiver = self._workers.get(dest)
            if channel and receiver and receiver.trace.is_whole and kind not in UNAWAITED:
                lost = f"what worker {source} has sent to it for synchronisation {sync} is lost"
                raise self._rule_error(receiver, lost, channel[0])

    # ---- demands

    def _demand_finished(self, worker: TracedWorker, what: str) -> None:
        left = worker.list_unfinished()
        self._demand(worker, not left and not worker.running, f"{what}, and {left} are unfinished")

    def _demand(self, worker: TracedWorker, right: object, what: str) -> None:
        if not right:
            raise self._rule_error(worker, what)

    def _rule_error(self, worker: TracedWorker, what: str, clock: int | None = None) -> DataError:
        """Return the error of a worker's next record, which breaks a rule."""
        row = worker.row
        names = {each: name.lower() for name, each in vars(ClockEvent).items() if name.isupper()}
        event = names.get(row[0], "unknown")
        at = row[6] if clock is None else clock
        return DataError(
            f"the clocks of worker {worker.trace.rank} broke a rule at clock {at}, {event}: {what}",
            where=f"{worker.trace.path}, record {worker.at}",
            do="this is a fault of tux, unless the file was changed: report it, with the folder",
        )
