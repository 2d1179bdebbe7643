"""The turns of the two threads of a member that may use its sockets: the socket thread, and the
main thread while it has nothing to compute. Knows no sockets.

A main thread that waits for messages takes the sockets, so that no message has to go from thread to
thread. It keeps them while it computes for a short time, since two changes of threads would take
longer. Before it computes for a long time it hands them over, so that messages are served
meanwhile. A main thread that has not told how long it will be away loses them to the socket thread
after `IDLE_SOCKET_SECONDS`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

WAITING_COMPUTE_SECONDS = 0.0005
"""Seconds of computing (of the processor) in which messages may wait: a few changes of threads
take about as long.
"""

IDLE_SOCKET_SECONDS = 0.02
"""Seconds after which the socket thread takes sockets that the main thread keeps but does not
use.
"""


class Absence:
    """An estimate of the time for which the main thread will compute: the longest of the last
    times, each of which counts half as much as the next one.
    """

    def __init__(self) -> None:
        self._expected = 1.0
        self._since: float | None = None  # when it began to compute

    @property
    def is_short(self) -> bool:
        """True if messages may wait for its end."""
        return self._expected < WAITING_COMPUTE_SECONDS

    def begin(self, now: float) -> None:
        """Note that the main thread computes from now on."""
        self._since = now

    def end(self, now: float) -> None:
        """Note that the main thread computes no longer."""
        if self._since is not None:
            self._expected = max(now - self._since, self._expected / 2)
            self._since = None


class HandOver:
    """A lock that is held by the thread that uses the sockets, and the turn of one of the threads.
    `wake` ends the socket thread's poll.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._lock = threading.Lock()  # held during a round; it also orders the memory accesses
        self._changed = threading.Condition()
        self._is_mains = False
        self._taken = 0  # how often the main thread has taken the sockets

    # ---- in the main thread

    def take(self, seconds: float) -> bool:
        """Take the sockets for a round; False if the socket thread is still busy after so many
        seconds.
        """
        if self.take_if_free():
            return True
        with self._changed:
            self._is_mains = True
        self._wake()
        return self._lock.acquire(timeout=seconds)

    def take_if_free(self) -> bool:
        """Take the sockets for a round, if this needs no change of threads."""
        self._taken += 1
        return self._is_mains and self._lock.acquire(blocking=False)

    def leave(self) -> None:
        """End a round. The main thread keeps its turn."""
        self._lock.release()

    def hand_over(self) -> None:
        """Give the socket thread the turn."""
        if self._is_mains:
            with self._changed:
                self._is_mains = False
                self._changed.notify()

    # ---- in the socket thread

    def await_turn(self) -> None:
        """Wait for this thread's turn, and take the sockets for a round; `leave` ends it."""
        while True:
            with self._changed:
                while self._is_mains:
                    self._wait_or_lose_patience()
            self._lock.acquire()
            if not self._is_mains:
                return
            self._lock.release()

    def _wait_or_lose_patience(self) -> None:
        taken = self._taken
        told = self._changed.wait(IDLE_SOCKET_SECONDS)
        if not told and taken == self._taken and not self._lock.locked():
            self._is_mains = False
