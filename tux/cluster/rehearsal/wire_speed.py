"""Measures what messages between machines cost besides tux's own code: the work of the system, of
ZeroMQ and of encryption, for a message and for a byte.
"""

from __future__ import annotations

import secrets
import time
from typing import NamedTuple

import numpy as np

from tux.base.errors import TuxError
from tux.cluster.transport.wire import Sockets
from tux.messages.frames import MAX_FRAME_BYTES

SMALL, SMALL_COUNT = 200, 1000
"""Bytes of a small message, and how many are sent."""

LARGE, LARGE_COUNT = 1 << 22, 24
"""Bytes of a large message, and how many are sent."""

AT_ONCE = 8
"""Messages that are under way at once."""

LONGEST = 30.0
"""Seconds of the measurement, after which it fails."""


class WireSpeed(NamedTuple):
    """Seconds of a processor for a message and for a byte of it, at its sender as at its
    receiver.
    """

    per_message: float
    per_byte: float


def measure_wire_speed(*, encrypted: bool = True) -> WireSpeed:
    """Measure it by messages over TCP within this process, between two pairs of sockets as members
    of a job have them. Times are those of its processors, so it may be busy. TuxError if nothing
    arrives.
    """
    secret = secrets.token_bytes(32) if encrypted else None
    ends = [
        Sockets("tcp://127.0.0.1:*", MAX_FRAME_BYTES, secret, lambda text: None) for _ in range(2)
    ]
    try:
        ends[0].dealers.connect(1, ends[1].endpoint)
        _send(ends, SMALL, AT_ONCE)  # connects
        small, large = _send(ends, SMALL, SMALL_COUNT), _send(ends, LARGE, LARGE_COUNT)
    finally:
        for end in ends:
            end.close(0)
    per_byte = max(large - small, 0.0) / (LARGE - SMALL)
    return WireSpeed(max(small - SMALL * per_byte, 0.0), per_byte)


def _send(ends: list[Sockets], size: int, count: int) -> float:
    """Send `count` messages of `size` bytes; return the seconds of a processor that each took one
    of the ends.
    """
    body = np.zeros(size, np.uint8)
    deadline, start = time.monotonic() + LONGEST, time.process_time()
    sent = received = 0
    while received < count:
        while sent < min(count, received + AT_ONCE):
            ends[0].dealers.send(1, [b"head", body])
            sent += 1
        for end in ends:
            end.poll(1)
        while ends[1].receive() is not None:
            received += 1
        if time.monotonic() > deadline:
            raise TuxError(
                "no messages arrive over TCP within this machine",
                do="see whether connections to 127.0.0.1 are allowed",
            )
    return (time.process_time() - start) / (2 * count)
