"""The part with the least load, found while loads grow by any amount: a tournament among the parts,
the lower number winning a tie.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit


def tournament(k: int, load: np.ndarray | None = None) -> np.ndarray:
    """Return the winners (2 w,) int32 among k parts, w the next power of two: parts at w to w+k-1,
    the match of 2j and 2j+1 at j. Without `load` (k,) all have the same.

    The winner of all, the least loaded part, is at 1; -1 stands where there is no part.
    """
    width = 1 << (k - 1).bit_length()
    winners = np.full(2 * width, -1, np.int32)
    winners[width : width + k] = np.arange(k)
    for j in range(width - 1, 0, -1):
        left, right = winners[2 * j], winners[2 * j + 1]
        even = load is None or right < 0 or load[left] <= load[right]
        winners[j] = left if even else right  # lower numbers are on the left
    return winners


@cached_njit
def replay_matches(winners, load, part):  # type: ignore[no-untyped-def]
    """Play again the matches that `part` had won, after its load (k,) grew. The others stand: their
    winner has not changed.
    """
    j = (len(winners) // 2 + part) // 2
    while j > 0 and winners[j] == part:
        left, right = winners[2 * j], winners[2 * j + 1]
        winners[j] = left if right < 0 or load[left] <= load[right] else right
        j //= 2
