"""The threads of a worker: they run one kernel together.

The main thread is one of them; the others wait in between. What they share, and in which order, is
the kernel's affair (`tux.rows.turns`).
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[int], None]
"""What a thread is to do; it gets its number, 0 being the main thread's."""


class Threads:
    """`count` threads, the one that makes them included: only that one may give them work."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._owner = threading.get_ident()
        self._jobs: list[SimpleQueue[Work | None]] = []
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def here(self) -> bool:
        """Whether this is the thread that gives the others work."""
        return threading.get_ident() == self._owner

    def run(self, work: Work, stop: Callable[[], None]) -> None:
        """Call `work` on all threads and wait until all have returned. The first error is raised;
        `stop` is called before it is waited for the others, and makes them return soon.
        """
        if not self._jobs:
            self._start()
        for jobs in self._jobs:
            jobs.put(work)
        errors: list[BaseException] = []
        try:
            work(0)
        except BaseException as error:
            stop()
            errors.append(error)
        waiting = len(self._jobs)
        while waiting:
            failed: BaseException | None
            try:
                failed = self._ended.get()
                waiting -= 1
            except BaseException as interrupt:  # Ctrl-C; rows must not change after it is raised
                failed = interrupt
            if failed is not None:
                stop()
                errors.append(failed)
        if errors:
            raise next((e for e in errors if not isinstance(e, Exception)), errors[0])

    def _start(self) -> None:
        """Start the threads: when they are needed first."""
        for number in range(1, self.count):
            jobs: SimpleQueue[Work | None] = SimpleQueue()
            self._jobs.append(jobs)
            threading.Thread(
                target=_serve,
                args=(number, jobs, self._ended),
                name=f"tux thread {number}",
                daemon=True,
            ).start()
        weakref.finalize(self, _end, self._jobs)  # they do not outlive who gives them work


def _serve(
    number: int, jobs: SimpleQueue[Work | None], ended: SimpleQueue[BaseException | None]
) -> None:
    """What a thread does: one job after the other, until it gets None."""
    while (work := jobs.get()) is not None:
        error: BaseException | None = None
        try:
            work(number)
        except BaseException as raised:
            error = raised
        del work  # it holds arrays
        ended.put(error)


def _end(queues: list[SimpleQueue[Work | None]]) -> None:
    for jobs in queues:
        jobs.put(None)
