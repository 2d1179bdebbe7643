"""The thread of a member that sends its heartbeats. It has sockets of its own and does nothing
else, so that a member is heard while its other threads load, compile, compute or serve.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import Beat, pack_beat
from tux.cluster.transport.wire import Dealers
from tux.messages.frames import encode

MOST_WAITING = 10
"""Heartbeats that wait for a member; more say nothing new."""


class BeatThread:
    """A thread that sends the result of `beat()` to the `partners` whose addresses are known, once
    an interval.

    The heartbeats of each member are numbered apart from its other messages: they travel by
    connections of their own, and may be lost.
    """

    def __init__(
        self,
        number: int,
        addresses: Sequence[str],
        job: int,
        partners: Sequence[int],
        dealers: Dealers,
        beat: Callable[[], Beat],
    ) -> None:
        self._number, self._addresses, self._job = number, addresses, job
        self._partners, self._dealers, self._beat = partners, dealers, beat
        self._sent = 0  # heartbeats
        self._stopped = False
        self._due, self._left = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._loop, name="tux heartbeats", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def send_now(self) -> None:
        """Send a heartbeat at once, and wait until it has left; after `stop`, do nothing."""
        for _ in range(2):  # the first to leave may have been made before the call
            self._left.clear()
            self._due.set()
            if self._thread.is_alive():
                self._left.wait(heartbeat.HEARTBEAT)

    def stop(self) -> None:
        """End the thread, and close its sockets."""
        self._stopped = True
        self._due.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _loop(self) -> None:
        while not self._stopped:
            self._send()
            self._left.set()
            self._due.wait(heartbeat.HEARTBEAT)
            self._due.clear()
        self._dealers.close(0)

    def _send(self) -> None:
        beat = self._beat()
        for partner in self._partners:
            address = self._addresses[partner]
            if address and self._dealers.connect(partner, address):
                message = pack_beat(beat, self._sent, self._number, partner)
                self._dealers.offer(partner, encode(message, self._job))
        self._sent += 1
