"""The masters that the contributions to a clock are about, where a message says which rows are
meant; and which of them each worker holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.messages.payloads import Rows


class TouchedMasters(NamedTuple):
    """`rows` (u,) int32: ascending numbers of the masters here. `held[w]` (d,) int32: which of
    them worker w holds, ascending; `own` (d,): those that this worker holds, as its own rows.
    """

    rows: np.ndarray
    held: list[np.ndarray]
    own: np.ndarray

    @staticmethod
    def of(
        sent: Sequence[np.ndarray], rows: Rows, rank: int, numbers: np.ndarray
    ) -> TouchedMasters:
        """Find the masters that each worker's contribution is about, in blocks of these
        `numbers`.
        """
        union = unite_sorted(sent)
        found = [find_places(rows.down(worker, numbers), union) for worker in range(len(sent))]
        own = rows.up(rank, numbers)[found[rank][0]]
        return TouchedMasters(union, [which for _, which in found], own)

    @property
    def size(self) -> int:
        """The number of entries of its arrays, which is the memory that it takes."""
        return len(self.rows) + len(self.own) + sum(map(len, self.held))


def unite_sorted(lists: Sequence[np.ndarray]) -> np.ndarray:
    """Return the numbers (u,) int32 that some of the ascending `lists` have, ascending."""
    lists = [each.astype(np.int32, copy=False) for each in lists]
    while len(lists) > 1:
        lists = [_merge_pair(*lists[i : i + 2]) for i in range(0, len(lists), 2)]
    return lists[0]


def _merge_pair(a: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    if b is None:
        return a
    out = np.empty(len(a) + len(b), np.int32)
    return out[: _merge(a, b, out)].copy()


def find_places(route: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find those of ascending `rows` that an ascending route has: return their places in it, and
    their places in `rows`, both int32.
    """
    at, which = np.empty((2, len(rows)), np.int32)
    count = _find(route, rows, at, which)
    return at[:count], which[:count]


@cached_njit
def _merge(a, b, out):  # type: ignore[no-untyped-def]
    """Write the numbers of ascending `a` and `b` to `out`, each once. Return how many they are."""
    i = j = count = 0
    while i < len(a) and j < len(b):
        x, y = a[i], b[j]
        out[count] = min(x, y)
        i += x <= y
        j += y <= x
        count += 1
    while i < len(a):
        out[count] = a[i]
        i += 1
        count += 1
    while j < len(b):
        out[count] = b[j]
        j += 1
        count += 1
    return count


@cached_njit
def _find(route, rows, at, which):  # type: ignore[no-untyped-def]
    """Find each of ascending `rows` in the ascending `route`: write its place there to `at`, and
    its place in `rows` to `which`. Return how many are found.
    """
    lo = count = 0
    for j in range(len(rows)):
        row, step, hi = rows[j], 1, lo
        # the next one is near the last one: steps that grow, then halves
        while hi < len(route) and route[hi] < row:
            lo, hi = hi + 1, hi + step
            step *= 2
        hi = min(hi, len(route))
        while lo < hi:
            middle = (lo + hi) >> 1
            if route[middle] < row:
                lo = middle + 1
            else:
                hi = middle
        if lo < len(route) and route[lo] == row:
            at[count], which[count] = lo, j
            count += 1
    return count
