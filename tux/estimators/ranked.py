"""The best of many, by the ids of what was found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Ranked(NamedTuple):
    """Of each of q queries the n best, best first: ``ids, scores = model.recommend(users, n)``."""

    ids: np.ndarray  # (q, n)
    scores: np.ndarray  # (q, n) float32, -infinity where fewer than n were left to be found

    @classmethod
    def of(cls, ids: np.ndarray, found: tuple[np.ndarray, np.ndarray]) -> Ranked:
        """What was found at positions (q, n) among `ids`; a position of -1 is the last id."""
        places, scores = found
        return cls(ids[places], scores)
