"""Heartbeats: when one is due, how long a member has been silent, and how long a wait may take
while others work. State machines; the time is an argument.
"""

from __future__ import annotations

HEARTBEAT = 1.0
"""Seconds between heartbeats that the members of a job exchange."""

SILENCE = 8.0
"""Seconds without a sign of life after which a member counts as lost."""


class Heartbeat:
    """What one member has heard of the others, and when its messages to them were last marked."""

    def __init__(self, now: float) -> None:
        self.heard: dict[int, float] = {}  # when each member was last heard, of those that were
        self.work = 0  # heartbeats of members that work
        self._beats: dict[int, int] = {}  # by member, the number of its last heartbeat
        self._last_beat = self._last_round = now - HEARTBEAT

    def due(self, now: float) -> bool:
        """Whether a probe is due; the thread asks in every round.

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

    def is_new(self, member: int, number: int) -> bool:
        """Whether no heartbeat of a member had this number or a larger one; now one has."""
        if number <= self._beats.get(member, -1):
            return False
        self._beats[member] = number
        return True

    def forgive(self, now: float) -> None:
        """A silence had a reason: it begins anew for all."""
        self.heard = dict.fromkeys(self.heard, now)

    def silence(self, member: int, now: float) -> float:
        """Seconds since a member was last heard; 0 if it never was: it has not begun."""
        return now - self.heard.get(member, now)


class Activity:
    """Whether a member works, as its heartbeats tell the others: since the last one it has handled
    messages, or its main thread has not waited for any.
    """

    def __init__(self) -> None:
        self.handled = 0  # twice the messages handled; odd in the midst of one
        self._told = 0
        self._waits = self._waited = False

    def begin_wait(self) -> None:
        """The main thread waits for a message."""
        self._waited = self._waits = True

    def end_wait(self) -> None:
        """It does so no longer."""
        self._waits = False

    def works(self) -> bool:
        """Whether the member has worked since the last call."""
        handled, idle = self.handled, self._waits or self._waited
        changed, self._told, self._waited = handled != self._told, handled, False
        return changed or handled % 2 == 1 or not idle


class Deadline:
    """How long a wait may still take: `seconds` in which no other member works. It is for silence,
    not for work, which may take hours.
    """

    def __init__(self, seconds: float, heartbeat: Heartbeat) -> None:
        self.seconds = self.left = seconds
        self._heartbeat, self._work = heartbeat, heartbeat.work

    def waited(self, seconds: float) -> None:
        """So many seconds more have passed. They are counted by those who wait, not by a clock,
        which also runs while this process is stopped.
        """
        if self._heartbeat.work == self._work:
            self.left -= seconds
        else:
            self.left, self._work = self.seconds, self._heartbeat.work
