"""What machine 0 tells other machines while it has no launcher: at its start, while it reads data,
and between two incarnations, while it reads a checkpoint. They wait on, however long that takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from tux.base.errors import Refused
from tux.cluster import heartbeat, joining
from tux.cluster.control import Join, NotYet
from tux.cluster.wire import Sockets
from tux.protocol.frames import LARGEST

LEAST = 0.001
"""Processor seconds between two looks from which on this machine is at work, and does not hang."""


class Answering:
    """Answers those who ask to join at an `address` of this machine, until it is closed: there is
    no launcher yet, but one is being prepared. Nothing is answered while this process hangs, as on
    a disk, so that nobody waits for it for ever.

    Refused if nobody can listen there.
    """

    def __init__(self, address: str, secret: bytes | None) -> None:
        self.answered = 0
        self._meeting = joining.number(secret or address.encode(), b"")
        self._sockets = Sockets(address, LARGEST, secret, lambda what: None)
        self._works, self._looked, self._spent = True, time.monotonic(), 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="tux answers", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Free the address; a second call does nothing."""
        self._stop.set()
        self._sockets.wake()
        self._thread.join()

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._look()
            if self._sockets.poll(max(int(500 * heartbeat.HEARTBEAT), 1)):
                self._answer()
        self._sockets.close(0)

    def _answer(self) -> None:
        while (frames := self._sockets.receive()) is not None:
            join = joining.heard(frames, self._meeting)
            if isinstance(join, Join) and self._works:
                with suppress(Refused):  # what it says is no address
                    self._sockets.send_once(join.address, joining.told(NotYet(), self._meeting))
                    self.answered += 1

    def _look(self) -> None:
        """See, once a heartbeat, whether the other threads have computed since the last look."""
        now = time.monotonic()
        if now - self._looked >= heartbeat.HEARTBEAT:
            spent = time.process_time() - time.thread_time()
            self._works = spent - self._spent >= LEAST
            self._looked, self._spent = now, spent


def answer(address: str, secret: bytes | None) -> Callable[[], None]:
    """Answer other machines that ask at the `address`, until the function is called that this
    returns. Nothing is done where all workers are of this machine, and where somebody else listens
    there: the launcher will say so if that lasts.
    """
    if address.startswith("tcp://"):
        with suppress(Refused):
            return Answering(address, secret).close
    return lambda: None
