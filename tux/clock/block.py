"""A block of a mini-batch: the rows and edges that its stages work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Block(NamedTuple):
    """Block `number` of a mini-batch over `role`: its rows lo..hi. `cuts` (blocks + 1,) are the
    boundaries of all blocks.

    In round `round` of `rounds`, its edges are those to one of so many shares of the other end.
    """

    role: str
    cuts: np.ndarray
    number: int
    round: int = 0
    rounds: int = 1
    share: float = 0.0  # of the round that is over

    @property
    def rows(self) -> tuple[int, int]:
        """The first row, and the row after the last."""
        return int(self.cuts[self.number]), int(self.cuts[self.number + 1])
