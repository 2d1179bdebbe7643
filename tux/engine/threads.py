"""The threads of a worker: they run one kernel together.

The main thread is one of them; the others wait in between. What they share, and in which order, is
the kernel's affair (`tux.rows.turns`). To wake a thread takes as long as a small block, so whoever
waits looks at a board for some time before it sleeps.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

import numpy as np

from tux.base.errors import TuxError
from tux.rows.turns import STRIDE, has_changed

Work = Callable[[int], None]
"""The work of a thread, a function; it gets its number, 0 being the main thread's."""

Span = tuple[int, float, float]
"""The number of a thread, and when it began a job and ended it, by `time.perf_counter`."""

SPANS = 80
"""Spans of a thread that are kept."""

HEED = 0.1
"""Seconds after which a wait heeds a signal that came just before it began."""

YIELDS = 50
"""Times that a thread offers its core to others before it sleeps: about 50 us."""


class _Job:
    """A piece of work that each thread does once; `stop` makes all of them return soon. It is job
    `number` of those threads; `board` shows the last job of each, from place STRIDE on.

    Ctrl-C may interrupt the main thread between any two of its steps. So progress is kept in
    states, and each step may be done again.
    """

    def __init__(
        self,
        work: Work,
        stop: Callable[[], None],
        board: np.ndarray,
        number: int,
        spans: deque[Span],
    ) -> None:
        self._work, self._stop, self._board, self.number = work, stop, board, number
        self._spans = spans
        self.errors: list[BaseException] = []
        self.ended: set[int] = set()  # numbers of threads
        self.changed: SimpleQueue[None] = SimpleQueue()  # one entry after each change of `ended`

    def do(self, number: int) -> None:
        """Do the part of a thread, unless it has been done."""
        if number in self.ended:
            return
        try:
            start = time.perf_counter()
            self._work(number)
            if number:
                self._spans.append((number, start, time.perf_counter()))
        except BaseException as error:
            self.fail(error)
        self.ended.add(number)
        self.changed.put(None)
        if number:
            self._board[number * STRIDE] = self.number

    def fail(self, error: BaseException) -> None:
        """Make all threads return: others may wait for the work that this one has not done."""
        self._stop()
        self.errors.append(error)


class Threads:
    """A pool of `count` threads, the one that makes it included: only that one may give them
    work.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        # the last spans in which threads other than the main one were at work
        self.spans: deque[Span] = deque(maxlen=SPANS * min(count - 1, 16))
        self._owner = threading.get_ident()
        self._jobs: list[SimpleQueue[_Job | None]] = []
        # the number of the last job, and of the last one that each thread has ended
        self._board = np.zeros(count * STRIDE + 1, np.int64)
        self._given = 0

    def is_owner_thread(self) -> bool:
        """Return whether this is the thread that gives the others work."""
        return threading.get_ident() == self._owner

    def run(self, work: Work, stop: Callable[[], None]) -> None:
        """Run `work` on all threads and wait until all have returned. The first error is raised,
        Ctrl-C before others; `stop` is called as soon as there is one.
        """
        self._start()
        self._given += 1
        job = _Job(work, stop, self._board, self._given, self.spans)
        while len(job.ended) < self.count:
            try:
                for jobs in self._jobs:
                    jobs.put(job)
                self._board[0] = job.number
                job.do(0)
                for thread in range(1, self.count):
                    has_changed(self._board, thread * STRIDE, job.number - 1, YIELDS)
                while len(job.ended) < self.count:
                    with suppress(Empty):
                        job.changed.get(timeout=HEED)
            except BaseException as interrupt:  # Ctrl-C; rows must not change after it is raised
                job.fail(interrupt)
        if job.errors:
            raise next((e for e in job.errors if not isinstance(e, Exception)), job.errors[0])

    def _start(self) -> None:
        """Start the threads, when they are needed first."""
        if not self._jobs:
            weakref.finalize(self, _end, self._jobs)  # they end with this object
        while len(self._jobs) < self.count - 1:
            number = len(self._jobs) + 1
            jobs: SimpleQueue[_Job | None] = SimpleQueue()
            thread = threading.Thread(
                target=_do_jobs,
                args=(number, jobs, self._board),
                name=f"tux thread {number}",
                daemon=True,
            )
            try:
                thread.start()
            except RuntimeError as error:
                raise TuxError(
                    f"thread {number + 1} of {self.count} cannot be started: {error}",
                    do="choose fewer with --threads, or raise the limit of processes (ulimit -u)",
                ) from error
            self._jobs.append(jobs)


def _do_jobs(number: int, jobs: SimpleQueue[_Job | None], board: np.ndarray) -> None:
    """Do one job after the other, on one thread, until it gets None."""
    while (job := jobs.get()) is not None:
        job.do(number)
        done = job.number
        del job  # it holds arrays
        has_changed(board, 0, done, YIELDS)


def _end(queues: list[SimpleQueue[_Job | None]]) -> None:
    for jobs in queues:
        jobs.put(None)
