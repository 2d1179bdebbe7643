"""Turns in virtual time: threads that compute one at a time, and events, in the order of their
times.

Only one of all threads runs at any moment. It has the whole machine, so the seconds that it takes
are those of a machine of its own; they pass in its virtual time alone. Before it looks at anything
that others may have done, it gives the turn back until all that is earlier has happened.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any


class RehearsalStopped(BaseException):  # noqa: N818  a signal, not a fault
    """A signal that ends a thread which waits for its turn."""


class VirtualTime:
    """The events to come. `run` lets them happen, on the thread that calls it. `clock` tells the
    real seconds of the thread that has the turn.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.clock = clock
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._number = count()  # events of one time happen in the order in which they were planned
        self.turn = threading.Semaphore(0)  # released when a thread gives the turn back

    def plan(self, at: float, happen: Callable[[float], None]) -> None:
        """Plan that ``happen(at)`` is called at a virtual time."""
        heappush(self._events, (at, next(self._number), happen))

    def is_first(self, at: float) -> bool:
        """Return whether nothing is planned before a time."""
        return not self._events or self._events[0][0] > at

    def run(self) -> None:
        """Let all happen that is planned, and what this plans."""
        while self._events:
            at, _, happen = heappop(self._events)
            happen(at)


class VirtualThread:
    """A thread that works in turns. `at` is its virtual time when it last gave the turn back.
    Before `begin` it has the real time.
    """

    def __init__(self, times: VirtualTime) -> None:
        self.times, self.at = times, 0.0
        self.is_over = self.computes = self._stops = False
        self._thread: threading.Thread | None = None
        self.error: BaseException | None = None
        self._resumed = 0.0  # by the real clock
        self._go = threading.Semaphore(0)

    # ---- in the thread

    @property
    def now(self) -> float:
        """The virtual time of this thread, which has the turn."""
        return self.at + (self.times.clock() - self._resumed)

    def pause(self) -> None:
        """Stop the clock: what follows is no work of the worker."""
        self.at, self.computes = self.now, False

    def go_on(self) -> None:
        """Start the clock again."""
        self._resumed, self.computes = self.times.clock(), True

    def yield_turn(self) -> None:
        """Let all that is earlier happen; the clock is stopped."""
        if self.times.is_first(self.at):
            return
        self.computes = True  # until its time has come, as others see it
        self.times.plan(self.at, self.resume)
        self._give_turn()
        self.computes = False

    def wait(self) -> None:
        """Give the turn back until `resume` is planned by others; the clock is stopped."""
        self._give_turn()

    def check_stop(self) -> None:
        """Raise RehearsalStopped if the thread is to end."""
        if self._stops:
            raise RehearsalStopped

    def _give_turn(self) -> None:
        self.times.turn.release()
        self._go.acquire()
        self.check_stop()

    def _run(self, work: Callable[[], Any]) -> None:
        self._go.acquire()
        self.go_on()
        try:
            self.check_stop()
            work()
        except RehearsalStopped:
            pass
        except BaseException as error:  # it is raised where the events happen
            self.error = error
        self.pause()
        self.is_over = True
        self.times.turn.release()

    # ---- where the events happen

    def begin(self, work: Callable[[], Any]) -> None:
        """Start the thread, which runs ``work()``, and plan its first turn at time 0."""
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()
        self.times.plan(0.0, self.resume)

    def stop(self) -> None:
        """End the thread where it waits, or when it gives the turn back, and wait for that."""
        self._stops = True
        self._go.release()
        if self._thread is not None:
            self._thread.join()

    def resume(self, at: float) -> None:
        """Give the thread the turn, and take it back; later, if it has been held up meanwhile."""
        if self.at > at:
            self.times.plan(self.at, self.resume)
            return
        self.at = at
        self._go.release()
        self.times.turn.acquire()
        if self.error is not None:
            raise self.error

    def hold_up(self, seconds: float) -> None:
        """Delay the thread, which computes: others of its machine have taken so many seconds of
        it.
        """
        self.at += seconds
