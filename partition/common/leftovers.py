"""Edges for which growth had no rule: each to the part with room that holds most of its ends."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.grouped import group_by_key
from tux.partition.common.least_loaded import replay_matches, tournament


@cached_njit
def _place(pairs, chosen, starts, held, size, load, limit, winners):  # type: ignore[no-untyped-def]
    seen = np.full(len(load), -1, np.int64)  # the last edge whose first end was found in a part
    for i in range(len(pairs)):
        best, most = winners[1], 0
        for side in range(2):
            v = pairs[i, side]
            for p in held[starts[v] : starts[v] + size[v]]:
                there = 2 if seen[p] == i else 1
                if side == 0:
                    seen[p], there = i, 1
                fewer = load[p] < load[best] or (load[p] == load[best] and p < best)
                if load[p] < limit and (there > most or (there == most and fewer)):
                    best, most = p, there
        chosen[i] = best
        load[best] += 1
        replay_matches(winners, load, best)
        for v in pairs[i]:
            if not (held[starts[v] : starts[v] + size[v]] == best).any():
                held[starts[v] + size[v]] = best
                size[v] += 1


class HighEdges:
    """The edges between two `high` vertices, (n,) bool, of which k parts take none while they grow:
    they are placed when the others are known.
    """

    def __init__(self, high: np.ndarray, k: int) -> None:
        self.k, self.high = k, high
        self._number = np.cumsum(high) - 1  # of high vertices
        self._load = np.zeros(k, np.int64)
        self._pairs: list[np.ndarray] = []
        self._held = np.empty(0, np.int64)  # number of a vertex times k plus a part that holds it

    def add(self, src: np.ndarray, dst: np.ndarray, parts: np.ndarray) -> None:
        """Take the next edges with their parts, (m,) each; a part below 0: it has none yet."""
        known = parts >= 0
        self._load += np.bincount(parts[known], minlength=self.k)
        self._pairs.append(np.stack([self._number[src[~known]], self._number[dst[~known]]], 1))
        found = [self._held]
        for side in (src, dst):
            rows = np.flatnonzero(known & self.high[side])
            found.append(self._number[side[rows]] * self.k + parts[rows])
        self._held = np.unique(np.concatenate(found))

    def place(self, limit: int) -> np.ndarray:
        """Return the parts of the edges that had none, in their order, so that no part has more
        than `limit`; k limit >= m.

        Among parts with room, those that hold both ends come first, then those that hold one, then
        any; of equals the one with fewest edges, then the first.
        """
        pairs = np.concatenate(self._pairs)
        number = np.concatenate([self._held // self.k, *pairs.T])
        new = np.full(2 * len(pairs), -1)  # room for the parts to come
        n = int(self._number[-1]) + 1
        starts, held = group_by_key(number, np.concatenate([self._held % self.k, new]), n)
        size = np.bincount(self._held // self.k, minlength=n)
        winners = tournament(self.k, self._load)
        chosen = np.empty(len(pairs), np.int16)
        _place(pairs, chosen, starts, held, size, self._load, limit, winners)
        return chosen
