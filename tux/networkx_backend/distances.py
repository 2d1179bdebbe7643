"""Facts about the distances between all pairs of vertices, without the distances themselves."""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import spread
from tux.networkx_backend.lists import NeighbourLists, neighbour, pieces_of


@cached_njit
def _sum_distances(lists, sources, facts):  # type: ignore[no-untyped-def]
    """Write to facts[i] how many vertices `lists` lead to from sources[i], itself too, the sum of
    their distances in edges, and the largest of these.
    """
    n = len(lists.offsets) - 1
    depths, queue = np.full(n, -1, np.int64), np.empty(n, lists.kind.dtype)
    for i in range(len(sources)):
        queue[0], depths[sources[i]] = sources[i], 0
        count, at_queue, total = 1, 0, 0
        while at_queue < count:
            v = queue[at_queue]
            at_queue += 1
            for at in range(lists.offsets[v], lists.offsets[v + 1]):
                w = neighbour(lists, at)
                if depths[w] < 0:
                    depths[w] = depths[v] + 1
                    total += depths[w]
                    queue[count] = w
                    count += 1
        farthest = depths[queue[count - 1]]
        for at_queue in range(count):
            depths[queue[at_queue]] = -1
        facts[i, 0], facts[i, 1], facts[i, 2] = count, total, farthest


def sum_distances(lists: NeighbourLists, sources: np.ndarray) -> np.ndarray:
    """Return for each of the sources (k,): how many vertices `lists` lead to from it, itself too,
    the sum of their distances in edges, and the largest of these, (k, 3) int64.
    """
    facts = np.zeros((len(sources), 3), np.int64)
    spread(
        lambda piece: _sum_distances(lists, sources[piece], facts[piece]), pieces_of(len(sources))
    )
    return facts
