"""The answers of machine 0 to other machines while it has no launcher: at its start, while it reads
data, and between two incarnations, while it reads a checkpoint. The others wait on, however long
that takes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tux.base.errors import Refused
from tux.base.text import one_line
from tux.cluster.rendezvous import joining
from tux.cluster.rendezvous.meeting import meeting_number
from tux.cluster.transport import heartbeat
from tux.cluster.transport.control import Bye, Control, Join, NotYet, ReadWhole
from tux.cluster.transport.refusals import AGAIN, MOST_ENDED
from tux.cluster.transport.wire import Sockets
from tux.messages.frames import MAX_FRAME_BYTES

WORKING_SECONDS = 0.001
"""Processor seconds between two looks from which on this machine is at work, and does not hang."""


class AnswerThread:
    """A thread that answers machines that ask to join at an `address` of this machine, until it is
    closed: there is no launcher yet, but one is being prepared. While this process hangs, as on a
    disk, it does not answer, so that nobody waits for it for ever.

    `loaded`: loaders of several machines have met already, or do not; machines that want to load
    their shares are told to read all. Refused if nobody can listen there.
    """

    def __init__(self, address: str, secret: bytes | None, *, loaded: bool = False) -> None:
        self.answered = 0
        self.ended: dict[str, str] = {}  # reasons of machines that end before they join, by address
        shared = secret or address.encode()
        self._answers: dict[int, Control] = {
            meeting_number(shared, b""): NotYet(),
            meeting_number(shared, b"", loading=True): ReadWhole() if loaded else NotYet(),
        }
        self._sockets = Sockets(address, MAX_FRAME_BYTES, secret, lambda what: None)
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
            for meeting, control in self._answers.items():
                if not isinstance(join := joining.decode_control(frames, meeting), Join):
                    continue
                if join.leaves and not join.nonce:
                    if len(self.ended) < MOST_ENDED:
                        self.ended[join.address] = one_line(join.lost)
                    joining.answer(self._sockets, join, Bye(), meeting)
                elif self._works:
                    joining.answer(self._sockets, join, control, meeting)
                    self.answered += 1

    def _look(self) -> None:
        """Check, once a heartbeat, whether the other threads have computed since the last check."""
        now = time.monotonic()
        if now - self._looked >= heartbeat.HEARTBEAT:
            spent = time.process_time() - time.thread_time()
            self._works = spent - self._spent >= WORKING_SECONDS
            self._looked, self._spent = now, spent


class Answers:
    """The answers at an `address` of this machine while it has no launcher. Nothing is done where
    all workers are of this machine. Where another process listens there, only a warning is given,
    as that may not last. `warn(text)` also tells, at the end, of machines that have ended
    meanwhile.
    """

    def __init__(
        self,
        address: str = "",
        secret: bytes | None = None,
        warn: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._address, self._secret, self._warn = address, secret, warn
        self._answering: AnswerThread | None = None

    def begin(self, *, loaded: bool = False) -> None:
        """Begin to answer, as `AnswerThread` does."""
        self.end()
        if self._address.startswith("tcp://"):
            try:
                self._answering = AnswerThread(self._address, self._secret, loaded=loaded)
            except Refused as error:
                if not loaded:  # at the start: later, loaders of this run may have been there
                    self._warn(f"{error.what}; if this lasts, the run ends when its data are read")

    def end(self) -> None:
        """Stop answering, and free the address."""
        if self._answering:
            self._answering.close()
            for why in self._answering.ended.values():
                self._warn(f"{why}; {AGAIN}")
        self._answering = None
