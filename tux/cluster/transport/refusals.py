"""Connections and messages from outside a job: counted on every member, and told to the user."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tux.base.text import one_line
from tux.cluster.transport.control import Beat

INTERVAL = 60.0
"""Seconds between two warnings."""


MOST_ENDED = 100
"""The number of machines, of those that ended before they joined, that are remembered."""

AGAIN = "it is waited for: correct this, and start it there again"
"""The advice about a machine that has ended before it joined."""


class RefusalCounts(Protocol):
    """The refusals of one member."""

    @property
    def refused(self) -> int:
        """The number of connections and messages."""

    @property
    def last_refused(self) -> str:
        """The last of them, in words."""


class Refusals:
    """The refusals of all workers as the launcher knows them, from their heartbeats.

    `warn(text)` shows a warning to the user. `role`: the word for a member.
    """

    def __init__(self, warn: Callable[[str], None], role: str = "worker") -> None:
        self._warn, self._role = warn, role
        self._beats: dict[int, Beat] = {}  # the last heartbeat of each worker
        self._shown, self._next_time = 0, 0.0
        self._ended: deque[str] = deque(maxlen=MOST_ENDED)
        self._gone: deque[str] = deque(maxlen=MOST_ENDED)

    def note(self, worker: int, beat: Beat) -> None:
        """Note a heartbeat, with the refusals of the worker so far."""
        self._beats[worker] = beat

    def note_departure(self, why: str, address: str) -> None:
        """Note that another machine, whose command was at that address, has ended before it joined,
        and why. It may say so several times.
        """
        if address not in self._gone:
            self._gone.append(address)
            self._ended.append(one_line(why))

    def warn(self, own: RefusalCounts, *, end: bool = False) -> None:
        """Warn of refusals by the launcher itself, its `own`, and by the workers: of the first at
        once, of more every minute and at the end. Warn of machines that have ended.
        """
        while self._ended:
            self._warn(f"{self._ended.popleft()}; {AGAIN}")
        beats: dict[str, RefusalCounts] = {"the launcher": own} | {
            f"{self._role} {rank}": beat for rank, beat in sorted(self._beats.items())
        }
        total = sum(beat.refused for beat in beats.values())
        if total <= self._shown or not (end or time.monotonic() > self._next_time):
            return
        where, last = next(
            (where, beat.last_refused) for where, beat in beats.items() if beat.refused
        )
        plural = "s" * (total > 1)
        self._warn(
            f"{total} connection{plural} or message{plural} from outside this job refused; "
            f"the last at {where}: {last}"
        )
        self._shown, self._next_time = total, time.monotonic() + INTERVAL
