"""A block of a mini-batch: what its stages work on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Block(NamedTuple):
    """Block `number` of a mini-batch over `role`: its rows lo..hi. `cuts` (blocks + 1,) are the boundaries of all blocks."""

    role: str
    cuts: np.ndarray
    number: int

    @property
    def rows(self) -> tuple[int, int]:
        """First row and the row after the last."""
        return int(self.cuts[self.number]), int(self.cuts[self.number + 1])
