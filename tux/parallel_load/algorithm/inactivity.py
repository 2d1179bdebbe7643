"""The time for which a wait may go on for loaders that share a folder."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


class Inactivity:
    """A deadline of `seconds` in which no loader shows that it works, for one who waits for others.
    What a loader has read and what it sends are new files in the `folder` that all share, so its
    time changes.
    """

    def __init__(self, folder: Path, seconds: float) -> None:
        self.left, self._seconds, self._folder = seconds, seconds, folder
        self._changed = self._time()

    def count_wait(self, seconds: float) -> None:
        """Subtract so many seconds of waiting. They are counted by those who wait, not by a clock,
        which also runs while this process is stopped.
        """
        self.left -= seconds
        if (changed := self._time()) != self._changed:
            self.left, self._changed = self._seconds, changed

    def _time(self) -> int:
        with suppress(OSError):  # it was removed: others tell that
            return self._folder.stat().st_mtime_ns
        return 0
