"""Heartbeats: the times when one is due, the silence of members, and the time that a wait may take
while others work. State machines; the time is an argument.
"""

from __future__ import annotations

HEARTBEAT = 1.0
"""Seconds between heartbeats that the members of a job exchange."""

SILENCE = 8.0
"""Seconds without a sign of life after which a member counts as lost."""

STARTING = 120.0
"""Seconds that members of one machine may take to start in which none of them works."""


class Heartbeat:
    """The times at which one member has last heard the others, and has last sent them a probe."""

    def __init__(self, now: float) -> None:
        self.heard: dict[int, float] = {}  # when each member was last heard, of those that were
        self.work = 0  # heartbeats of members that work
        self._beats: dict[int, int] = {}  # by member, the number of its last heartbeat
        self._last_beat = self._last_round = now - HEARTBEAT

    def is_due(self, now: float) -> bool:
        """Return whether a probe is due; the thread asks in every round.

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
        """Return whether no heartbeat of a member had this number or a larger one; now one has."""
        if number <= self._beats.get(member, -1):
            return False
        self._beats[member] = number
        return True

    def forgive(self, now: float) -> None:
        """Let the silence of all members begin anew, as it had a reason."""
        self.heard = dict.fromkeys(self.heard, now)

    def silence(self, member: int, now: float) -> float:
        """Return the seconds since a member was last heard; 0 if it never was: it has not begun."""
        return now - self.heard.get(member, now)


class Activity:
    """The activity of a member, which its heartbeats tell the others. A member works if, since its
    last heartbeat, it has handled messages, or its main thread has not waited for any.
    """

    def __init__(self) -> None:
        self.handled = 0  # twice the messages handled; odd in the midst of one
        self._told = 0
        self._waits = self._waited = False

    def begin_wait(self) -> None:
        """Note that the main thread waits for a message."""
        self._waited = self._waits = True

    def end_wait(self) -> None:
        """Note that the main thread waits no longer."""
        self._waits = False

    def works(self) -> bool:
        """Return whether the member has worked since the last call."""
        handled, idle = self.handled, self._waits or self._waited
        changed, self._told, self._waited = handled != self._told, handled, False
        return changed or handled % 2 == 1 or not idle


class Deadline:
    """The time that is left for a wait: `seconds` in which no other member works. It limits
    silence, not work, which may take hours.
    """

    def __init__(self, seconds: float, heartbeat: Heartbeat) -> None:
        self.seconds = self.left = seconds
        self._heartbeat, self._work = heartbeat, heartbeat.work

    def count_wait(self, seconds: float) -> None:
        """Count so many seconds of waiting. The caller counts them, and not a clock, which also
        runs while this process is stopped.
        """
        if self._heartbeat.work == self._work:
            self.left -= seconds
        else:
            self.left, self._work = self.seconds, self._heartbeat.work
