"""The amount that a loader has read of several inputs, one after the other."""

from __future__ import annotations

from tux.io.source.text import Tell


class ReadSoFar:
    """The amount that a loader has read of the inputs of several edge types, for a function that is
    called with it.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._before, self._now = (0, 0.0), (0, 0.0)

    def tell(self, size: int, pieces: float) -> None:
        """Tell the amount read of the input of this edge type, and all before."""
        self._now = (self._before[0] + size, self._before[1] + pieces)
        self._tell(*self._now)

    def begin_next(self) -> None:
        """Count what follows as the input of another edge type."""
        self._before = self._now
