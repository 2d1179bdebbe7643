"""The transport of a worker: how its messages leave, and how those of others come."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tux.messages.message import Message


class Transport:
    """A transport that reaches nobody, as of a worker that is alone. A worker of a job gets one
    that has sockets and overrides the first four (`tux.cluster.job.worker_process`). Workers in one
    process share one that only sends (`tux.cluster.simulated`), as it hands messages to them. In a
    rehearsal each has a time of its own (`tux.cluster.rehearsal`).
    """

    def send(self, message: Message) -> None:
        """Send a message to the member that it names."""
        raise RuntimeError("a worker without a transport sent a message")

    def receive(self) -> Message:
        """Wait for the worker's next message, and return it."""
        raise RuntimeError("a worker without a transport waits for a message")

    def take_arrived(self) -> Iterable[Message]:
        """Return the worker's messages that have arrived, without waiting."""
        return ()

    def computes(self) -> None:
        """Hear that the worker begins to compute, and will not ask for messages for a while."""

    def now(self) -> float:
        """Return the time in seconds, by which the worker's work is timed."""
        return time.perf_counter()


NOBODY = Transport()
