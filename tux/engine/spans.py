"""The spans of a worker's work, and its counts that samples tell (`tux.engine.timeline`)."""

from __future__ import annotations

from collections import deque

SPANS = 160
"""Spans of the main thread that are kept."""


MOST_STALE = 63
"""Unfinished clocks that are told apart where there may be any number."""


class Spans:
    """The last spans of the main thread of a worker, as (kind, start, end, clock), and its counts:
    bytes by receiver and by sender, and clocks begun by how many before them were not finished,
    which are `slack` at most, or more.
    """

    def __init__(self, workers: int, slack: int) -> None:
        self.clock = 0  # the clock under way, counted over the whole run
        self.sent, self.pulled = [0] * workers, [0] * workers
        self.stale = [0] * (slack + 1)
        self.last: deque[tuple[str, float, float, int]] = deque(maxlen=SPANS)

    def note(self, what: str, start: float, end: float) -> None:
        """Note a span of work of the main thread, by `Transport.now`."""
        self.last.append((what, start, end, self.clock))

    def count_start(self, unfinished: int) -> None:
        """Count a clock that starts while `unfinished` ones before it are not finished."""
        self.stale[min(unfinished, len(self.stale) - 1)] += 1
