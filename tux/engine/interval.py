"""How often the state of a run is kept: every so many epochs, or seconds."""

from __future__ import annotations

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """One of the two is not 0."""

    epochs: int = 0
    seconds: float = 0.0

    @staticmethod
    def read(text: str) -> Interval | None:
        """What ``5`` (epochs) or ``30s`` says; None if it says neither."""
        number = text.removesuffix("s")
        try:
            if number == text:
                return Interval(epochs=int(text)) if int(text) >= 1 else None
            seconds = float(number)
        except ValueError:
            return None
        return Interval(seconds=seconds) if math.isfinite(seconds) and seconds > 0 else None

    def wants(self, epoch: int | None, last: int, seconds: float) -> bool:
        """Whether a state is kept at a mark: at the end of `epoch`, if one ends there, of `last`
        in all, and so many seconds after the one before.
        """
        if epoch == last:
            return True
        if self.epochs:
            return epoch is not None and epoch % self.epochs == 0
        return seconds >= self.seconds
