"""Heartbeats: when they are due, and how long a member has been silent. A state machine; the
time is an argument.
"""

from __future__ import annotations

HEARTBEAT = 1.0
"""Seconds between heartbeats that the launcher and its workers exchange."""

SILENCE = 8.0
"""Seconds without a heartbeat after which the other side counts as lost."""


class Heartbeat:
    """What one member has heard of the others, and when it last sent a heartbeat itself."""

    def __init__(self, now: float) -> None:
        self.heard: dict[int, float] = {}  # when each member was last heard, of those that were
        self._last_beat = self._last_round = now - HEARTBEAT

    def due(self, now: float) -> bool:
        """Whether a heartbeat is due; the thread asks in every round.

        Between rounds that are far apart, this process was stopped or a handler was busy. The
        others are not to blame for that time.
        """
        deaf = now - self._last_round - HEARTBEAT
        self._last_round = now
        if deaf > HEARTBEAT:
            self.heard = {member: min(now, last + deaf) for member, last in self.heard.items()}
        if now - self._last_beat < HEARTBEAT:
            return False
        self._last_beat = now
        return True

    def silence(self, member: int, now: float) -> float:
        """Seconds since a member was last heard; 0 if it never was: it has not begun."""
        return now - self.heard.get(member, now)
