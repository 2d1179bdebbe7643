"""Which part has the least load while loads grow by any amount: a tournament among the parts,
the lower number winning a tie.
"""

from __future__ import annotations

import numpy as np

from tux.partition.compiled import compiled


def tournament(k: int) -> np.ndarray:
    """Winners (2 w,) int32 among k parts without load, w the next power of two: parts at w to
    w+k-1, the match of 2j and 2j+1 at j.

    The winner of all, the least loaded part, is at 1; -1 stands where there is no part.
    """
    width = 1 << (k - 1).bit_length()
    winners = np.full(2 * width, -1, np.int32)
    winners[width : width + k] = np.arange(k)
    for j in range(width - 1, 0, -1):
        winners[j] = winners[2 * j]  # all loads are equal, and lower numbers are on the left
    return winners


@compiled
def grown(winners, load, part):  # type: ignore[no-untyped-def]
    """Play again the matches that `part` had won, after its load (k,) grew. The others stand:
    their winner has not changed.
    """
    j = (len(winners) // 2 + part) // 2
    while j > 0 and winners[j] == part:
        left, right = winners[2 * j], winners[2 * j + 1]
        winners[j] = left if right < 0 or load[left] <= load[right] else right
        j //= 2
