"""Edges whose parts follow from their own two ends: placed piece by piece, by several threads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tux.base.parallel import ENTRIES_PER_THREAD, spread, threads
from tux.partition.common.ends import Progress

Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""The parts (m,) int16 of edges between the vertices `src` and `dst`, (m,) each."""


def place_pieces(
    rule: Rule, src: np.ndarray, dst: np.ndarray, progress: Progress = None
) -> np.ndarray:
    """Place each edge by the rule, which is asked about some at a time; parts (m,) int16."""
    m, parts = len(src), np.empty(len(src), np.int16)

    def place(lo: int) -> None:
        piece = slice(lo, lo + ENTRIES_PER_THREAD)
        parts[piece] = rule(src[piece], dst[piece])

    step = ENTRIES_PER_THREAD * threads()
    for lo in range(0, m, step):
        hi = min(lo + step, m)
        spread(place, range(lo, hi, ENTRIES_PER_THREAD))
        if progress:
            progress(hi / m)
    return parts
