"""A machine of a rehearsal: a worker whose main thread computes in virtual time, and its socket
thread, which sends, receives and serves as that of `tux.cluster.transport` does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from tux.cluster.rehearsal.network import Network
from tux.cluster.rehearsal.virtual_time import VirtualThread, VirtualTime
from tux.engine.transport import Transport
from tux.engine.worker import Worker
from tux.messages.frames import decode, encode
from tux.messages.message import Message

JOB = 0
"""The number of the job in the frames of messages."""


class VirtualMachine(Transport):
    """The machine of worker `rank`, with `cores`; the transport of its worker.

    Where the worker has as many threads as the machine has cores, the socket thread takes its time
    from them while they compute.
    """

    worker: Worker

    def __init__(
        self,
        rank: int,
        machines: Sequence[VirtualMachine],
        times: VirtualTime,
        network: Network,
        cores: int,
    ) -> None:
        self.rank, self._machines = rank, machines
        self._times, self._network, self._cores = times, network, cores
        self._inbox: deque[Message] = deque()
        self._busy = 0.0  # until when the socket thread is
        self._serves_since: float | None = None  # by the real clock, while it handles a message
        self._waits = False  # the worker does, for a message
        self.sent = 0  # bytes to other machines
        self.thread = VirtualThread(times)  # the worker's main thread

    # ---- in the worker's main thread

    def now(self) -> float:
        """Return the virtual time, of the socket thread while it handles a message."""
        if self._serves_since is None:
            return self.thread.now
        return self._busy + self._times.clock() - self._serves_since

    def send(self, message: Message) -> None:
        """Send a message of the worker, or of its server while that handles another one."""
        if self._serves_since is not None:
            self._post(self.now(), message)
            return
        self.thread.pause()
        self._post(self.thread.at, message)
        self.thread.go_on()

    def computes(self) -> None:
        """End the thread before it computes, if the rehearsal is over."""
        self.thread.check_stop()

    def take_arrived(self) -> Iterable[Message]:
        """Return the messages that have arrived by now."""
        self.thread.pause()
        self.thread.yield_turn()
        arrived = list(self._inbox)
        self._inbox.clear()
        self.thread.go_on()
        return arrived

    def receive(self) -> Message:
        """Wait for the next message."""
        self.thread.pause()
        self.thread.yield_turn()
        if not self._inbox:
            self._waits = True
            self.thread.wait()
        message = self._inbox.popleft()
        self.thread.go_on()
        return message

    # ---- where the events happen

    def _post(self, at: float, message: Message) -> None:
        """Plan that the socket thread takes a message which is ready at a time."""
        to_itself = message.dest == self.rank
        self._times.plan(at, partial(self._handle if to_itself else self._pass_on, message))

    def _pass_on(self, message: Message, at: float) -> None:
        """Send a message to another machine."""
        start = self._times.clock()
        frames = encode(message, JOB)
        seconds = self._times.clock() - start
        size = sum(len(frame) for frame in frames)
        self.sent += size
        left = self._take_time(at, seconds + self._network.link.work(size))
        arrival = self._network.carry(left, self.rank, message.dest, size)
        other = self._machines[message.dest]
        self._times.plan(arrival, partial(other._receive_frames, frames, size))

    def _receive_frames(self, frames: list[Any], size: int, at: float) -> None:
        """Receive a message of another machine."""
        start = self._times.clock()
        message = decode(frames, JOB, len(self._machines))
        seconds = self._times.clock() - start
        self._handle(message, self._take_time(at, seconds + self._network.link.work(size)))

    def _handle(self, message: Message, at: float) -> None:
        """Hand a message to the server, and to the worker if it is meant for it."""
        self._busy = max(at, self._busy)
        self._serves_since = self._times.clock()
        served = self.worker.server.handle(message)
        seconds, self._serves_since = self._times.clock() - self._serves_since, None
        end = self._take_time(at, seconds)
        if not served:
            self._times.plan(end, partial(self._give, message))

    def _give(self, message: Message, at: float) -> None:
        """Give the worker a message."""
        self._inbox.append(message)
        if self._waits:
            self._waits = False
            self._times.plan(at, self.thread.resume)

    def _take_time(self, at: float, seconds: float) -> float:
        """Let the socket thread work from `at` on; return when it has ended."""
        start = max(at, self._busy)
        self._busy = start + seconds
        if self.thread.computes and self.worker.threads.count >= self._cores:
            self.thread.hold_up(seconds / self._cores)
        return self._busy
