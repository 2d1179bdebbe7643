"""The network between machines: when a message arrives. A state machine; the time is an argument.

Each machine has one link to a switch that is never busy. A link carries one message after the other
each way: a message waits until those before it have left its sender, and again until those before
it have come in at its receiver. Bytes go on while others of the message still come.
"""

from __future__ import annotations

from typing import NamedTuple

GBIT = 1e9 / 8
"""Bytes a second of a link of 1 Gbit/s."""


class NetworkLink(NamedTuple):
    """The link of each machine: bytes a second each way, and seconds from machine to machine. And
    the seconds of work that a machine has with a message and with a byte of it, both when it sends
    and when it receives, besides that of tux's own code: the system's, ZeroMQ's, encryption.
    """

    bandwidth: float
    delay: float
    per_message: float = 0.0
    per_byte: float = 0.0

    def work(self, size: int) -> float:
        """Return the seconds of work with a message of `size` bytes."""
        return self.per_message + size * self.per_byte


class Network:
    """The links of `machines`, and until when each is busy."""

    def __init__(self, link: NetworkLink, machines: int) -> None:
        self.link = link
        self._sends, self._receives = [0.0] * machines, [0.0] * machines

    def carry(self, at: float, source: int, dest: int, size: int) -> float:
        """Carry a message of `size` bytes that is ready at a time; return when all of it has
        arrived. Messages must be given in the order of their times.
        """
        seconds = size / self.link.bandwidth
        start = max(at, self._sends[source])
        self._sends[source] = start + seconds
        arrival = max(start + self.link.delay, self._receives[dest]) + seconds
        self._receives[dest] = arrival
        return arrival
