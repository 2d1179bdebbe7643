"""The work of a worker over time, as samples that a page can show while the run goes on.

A sample has the work since the one before: seconds by kind, bytes by receiver, how stale the clocks
were, and memory; and the last spans of time on each of the worker's threads. These are kept in
rings, so a sample has about the same size however long an epoch is. Samples become rarer as the run
goes on: the number of all grows with the logarithm of its time.

A sample is told between two segments, by the main thread. Nothing waits for it.
"""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

import msgspec

from tux.base.memory import resident

if TYPE_CHECKING:
    from tux.engine.partition import Partition

KINDS = ("compute", "apply", "send", "wait", "serve")
"""The kinds of work in a span of time; a sample has their numbers."""

INTERVAL = 0.1
"""Seconds between two samples at first."""

SAMPLES = 200
"""Samples at an interval; after them it is twice as long."""

Entry = TypeVar("Entry")


class WorkerInfo(msgspec.Struct, forbid_unknown_fields=True):
    """The place and size of a worker: host, process, threads, and its part of the graph: edges; by
    vertex type its rows, and the number of masters among them.
    """

    host: str
    process: int
    threads: int
    edges: int
    rows: dict[str, int]
    masters: dict[str, int]


class Sample(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The work that a worker has done in the `seconds` before `at`."""

    at: float  # seconds since 1970
    seconds: float
    epoch: int  # epochs that have ended
    clock: int  # the clock under way, counted over the whole run
    spent: dict[str, float]  # seconds by kind; kinds may overlap, as threads do
    edges: int  # visited
    memory: int  # bytes
    sent: list[int] = []  # bytes by receiver; none where there is one worker
    pulled: list[int] = []  # bytes of answers by sender, of rows that the worker had asked for
    stale: list[int] = []  # clocks begun, by how many before them were not finished
    # by thread: kind, start in microseconds before `at`, length in microseconds, and clock (-1 if
    # unknown) of one span after the other
    lanes: dict[str, list[int]] = {}
    held: WorkerInfo | None = None  # in the first sample


class Timeline:
    """The samples of one worker's work, told while it runs its partition."""

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._tell: Callable[[Sample], None] | None = None
        self._begun = self._since = 0.0
        self._due = math.inf
        self._thread, self._before = 0, _Counts({}, 0, [], [], [])

    def tell_to(self, tell: Callable[[Sample], None]) -> None:
        """Set the function that gets the samples."""
        self._tell = tell

    def begin(self) -> None:
        """Begin to sample, as training begins on this thread."""
        if self._tell is None:
            return
        self._begun = self._since = time.perf_counter()
        self._before, self._thread = self._counts(), threading.get_ident()
        self._tell_sample(self._describe_worker())

    def look(self) -> None:
        """Tell a sample if one is due."""
        if time.perf_counter() >= self._due:
            self._tell_sample()

    def end(self) -> None:
        """Tell the last sample, as training is over."""
        if self._due < math.inf:
            self._tell_sample()
            self._due = math.inf

    def _tell_sample(self, held: WorkerInfo | None = None) -> None:
        assert self._tell is not None
        partition, end, at = self._partition, time.perf_counter(), time.time()
        now, before = self._counts(), self._before
        several = partition.workers > 1
        sample = Sample(
            at=round(at, 6),
            seconds=round(end - self._since, 6),
            epoch=partition.epoch,
            clock=partition.spans.clock,
            spent={
                what: round(s - before.spent.get(what, 0.0), 6) for what, s in now.spent.items()
            },
            edges=now.edges - before.edges,
            memory=resident(),
            sent=_less(now.sent, before.sent) if several else [],
            pulled=_less(now.pulled, before.pulled) if any(now.pulled) else [],
            stale=_less(now.stale, before.stale),
            lanes=self._lanes(end),
            held=held,
        )
        self._before, self._since = now, end
        self._due = end + until_next(at, end - self._begun)
        self._tell(sample)

    def _counts(self) -> _Counts:
        """Copy the worker's counts so far."""
        partition, spans = self._partition, self._partition.spans
        spent = {what: partition.seconds[what] for what in KINDS if what in partition.seconds}
        spent["serve"] = partition.server.seconds
        sent = [a + b for a, b in zip(spans.sent, partition.server.bytes_to, strict=True)]
        return _Counts(spent, partition.edges_visited, sent, [*spans.pulled], [*spans.stale])

    def _lanes(self, end: float) -> dict[str, list[int]]:
        """Collect the spans since the last sample, by thread."""
        lanes: dict[str, list[int]] = defaultdict(list)

        def add(lane: str, what: str, start: float, stop: float, clock: int) -> None:
            if start >= self._since:
                ago, length = round(1e6 * (end - start)), round(1e6 * (stop - start))
                lanes[lane] += KINDS.index(what), ago, length, clock

        for what, start, stop, clock in _take_all(self._partition.spans.last):
            if what in KINDS:
                add("main", what, start, stop, clock)
        for number, start, stop in _take_all(self._partition.threads.spans):
            add(f"thread {number}", "compute", start, stop, -1)
        # last: a main thread that waits serves meanwhile
        for thread, start, stop, clock in _take_all(self._partition.server.spans):
            lane = "main" if thread == self._thread else "sockets"
            add(lane, "serve", start, stop, clock)
        return dict(lanes)

    def _describe_worker(self) -> WorkerInfo:
        partition, vertices = self._partition, self._partition.graph.vertices
        return WorkerInfo(
            host=socket.gethostname(),
            process=os.getpid(),
            threads=partition.threads.count,
            edges=sum(map(len, (partition.graph.edges, *partition.graph.others.values()))),
            rows={name: each.n_train for name, each in vertices.items()},
            masters={
                name: each.n_train if each.part is None else len(each.part.masters)
                for name, each in vertices.items()
            },
        )


class _Counts(msgspec.Struct):
    """The counts of a worker since its start."""

    spent: dict[str, float]
    edges: int
    sent: list[int]
    pulled: list[int]
    stale: list[int]


def until_next(at: float, elapsed: float) -> float:
    """Return the seconds to the next sample of a run that has gone on for `elapsed` seconds. All
    workers make their samples at the same times `at`, so that these show the same clocks.
    """
    interval = INTERVAL
    while elapsed > SAMPLES * interval:
        interval *= 2
    left = interval - at % interval
    return left if left > interval / 4 else left + interval


def _less(now: list[int], before: list[int]) -> list[int]:
    return [a - b for a, b in zip(now, before, strict=True)]


def _take_all(ring: deque[Entry]) -> Iterator[Entry]:
    """Take all entries out of a ring, to which other threads may add meanwhile."""
    for _ in range(len(ring)):
        yield ring.popleft()
