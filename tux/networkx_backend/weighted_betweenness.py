"""The dependency of shortest paths by weights on vertices (Brandes 2001), with networkx's bits."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.networkx_backend.dijkstra import pop, push
from tux.networkx_backend.lists import NeighbourLists, neighbour


class PathQueue(NamedTuple):
    """Pushes of a search: the distance of each, its vertex, and the one that it comes from; and
    their heap. (entries + 1,) each.
    """

    keys: np.ndarray
    vertices: np.ndarray
    origins: np.ndarray
    heap: np.ndarray


class PathTree(NamedTuple):
    """The vertices that a search reaches, in their `order`, how far and by how many paths `sigma`.

    The last steps of these paths to a vertex form a list: `last` is the newest of them, or -1;
    ``before[step]`` the one before, and ``origins[step]`` the vertex that it leaves. (n,) each,
    `before` and `origins` (entries,).
    """

    order: np.ndarray
    distances: np.ndarray
    is_done: np.ndarray
    sigma: np.ndarray
    last: np.ndarray
    before: np.ndarray
    origins: np.ndarray


@cached_njit
def _leave(lists, values, v, queue, tree, counts):  # type: ignore[no-untyped-def]
    """Follow the edges from a vertex that is done. `counts`: pushes in the heap, all pushes, and
    steps.
    """
    for at in range(lists.offsets[v], lists.offsets[v + 1]):
        w = neighbour(lists, at)
        further = tree.distances[v] + (values[at] if len(values) > 0 else 1.0)
        if not tree.is_done[w] and further < tree.distances[w]:
            size, pushes = counts[0], counts[1]
            tree.distances[w], tree.sigma[w], tree.last[w] = further, 0.0, -1
            queue.keys[pushes], queue.vertices[pushes], queue.origins[pushes] = further, w, v
            push(queue.keys, queue.heap, size, pushes)
            counts[0], counts[1] = size + 1, pushes + 1
        elif further == tree.distances[w]:
            tree.sigma[w] += tree.sigma[v]
        else:
            continue
        step = counts[2]
        tree.origins[step], tree.before[step] = v, tree.last[w]
        tree.last[w] = step
        counts[2] += 1


@cached_njit
def _search(lists, values, source, queue, tree):  # type: ignore[no-untyped-def]
    """Search from a source in the order of networkx; return how many vertices it reaches."""
    tree.distances[:] = np.inf
    tree.is_done[:] = False
    tree.sigma[:] = 0.0
    tree.last[:] = -1
    tree.distances[source], tree.sigma[source] = 0.0, 1.0
    queue.keys[0], queue.vertices[0], queue.origins[0], queue.heap[0] = 0.0, source, source, 0
    counts, count = np.array([1, 1, 0]), 0
    while counts[0] > 0:
        first = pop(queue.keys, queue.heap, counts[0])
        counts[0] -= 1
        v = queue.vertices[first]
        if not tree.is_done[v]:
            # as in networkx the source adds its paths to itself: all numbers of paths are even
            tree.sigma[v] += tree.sigma[queue.origins[first]]
            tree.is_done[v] = True
            tree.order[count] = v
            count += 1
            _leave(lists, values, v, queue, tree, counts)
    return count


@cached_njit
def _accumulate(lists, values, sources, endpoints, queue, tree, rows):  # type: ignore[no-untyped-def]
    """Write to rows[i] how far the shortest paths from the i-th source depend on each vertex.

    As in networkx this is `delta` when the steps to the vertex are followed. If edges have no
    length, `delta` grows afterwards, too.
    """
    delta = np.empty(len(lists.offsets) - 1)
    for i in range(len(sources)):
        row = rows[i]
        count = _search(lists, values, sources[i], queue, tree)
        delta[tree.order[:count]] = 0.0
        for place in range(count - 1, -1, -1):
            w = tree.order[place]
            share, step = (1 + delta[w]) / tree.sigma[w], tree.last[w]
            while step >= 0:
                delta[tree.origins[step]] += tree.sigma[tree.origins[step]] * share
                step = tree.before[step]
            row[w] = delta[w] + 1 if endpoints else delta[w]
        row[sources[i]] = count - 1 if endpoints else 0.0


def weighted_dependencies(
    lists: NeighbourLists, values: np.ndarray, sources: np.ndarray, endpoints: bool
) -> np.ndarray:
    """Return how far the shortest paths from each source depend on each vertex, (k, n) float64,
    where `values` along the lists are the lengths of edges:
    ``delta(v) = sum over w to which a step leads from v of sigma(v) / sigma(w) * (1 + delta(w))``.
    """
    n, kind, entries = lists.vertices, lists.kind.dtype, int(lists.offsets[-1])
    queue = PathQueue(
        np.empty(entries + 1),
        np.empty(entries + 1, kind),
        np.empty(entries + 1, kind),
        np.empty(entries + 1, np.int64),
    )
    tree = PathTree(
        np.empty(n, kind),
        np.empty(n),
        np.empty(n, np.bool_),
        np.empty(n),
        np.empty(n, np.int64),
        np.empty(entries, np.int64),
        np.empty(entries, kind),
    )
    rows = np.zeros((len(sources), n))
    _accumulate(lists, values, sources, endpoints, queue, tree, rows)
    return rows
