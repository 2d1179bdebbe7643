"""NE++: grow one part after the other along the edges, always over the vertex that brings the
fewest new neighbours.

Zhang et al., "Graph Edge Partitioning via Neighborhood Heuristic" (KDD 2017), in the in-memory form
of Mayer and Jacobsen, "Hybrid Edge Partitioner" (SIGMOD 2021). The rule, with R the edges that have
no part yet; tests/support/oracles/slow_ne.py is the same in plain Python:

    a vertex of more than tau times the mean degree is high; mark[v] = none; core = {}
    for part b = 0 .. k-2, until it has g = limit - (edges between two high vertices) // k edges:
        w = the marked vertex of lowest key, the one filed last; or, if there is none,
            the vertex that the part before could not finish; or the next vertex, not core and not
                high, with an edge in R:
            from 2,654,435,761 seed mod n on, once round for those with no more than the mean degree
                of edges in R, then once for any
        for q in w, then w's neighbours by its edges in R, in their order: unless q is high or
            mark[q] = b, let q join:
            mark[q] = b;  for each edge (q, t) in R, in order: if t is high, or core, or mark[t] =
                          b:
                the edge is of part b, and t is filed anew with key - 1, if it has one;
                    if b is full: w is not finished
            file q with the number of its edges in R, unless q = w
        w is core
    edges in R to part k-1, but those between two high vertices where most of their ends are: see
        `leftovers.py`

HEP lets a full part's last vertex spill into the next one. To stop there and to begin the next part
with that vertex instead gives parts that are full to the edge at any k, and fewer replicas
(wiki-Vote, k=128: 3.6 for 4.1); so do first vertices with few edges left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.partition.common.adjacency import Adjacency, adjacency, mean_degree
from tux.partition.common.capacity import MOST_PARTS, capacity
from tux.partition.common.ends import EdgeEnds, Progress, ends
from tux.partition.common.leftovers import place

MARK, KEY, BEFORE, AFTER = range(4)
HIGH, CORE = MOST_PARTS, MOST_PARTS + 1  # marks above every part
# 2^32 over the golden ratio: the first vertices of successive seeds lie far apart
_STEP = 2_654_435_761
FULL = 1.001  # of the mean
_CALLS = 64  # to `progress`


class _Growth(NamedTuple):
    """The state of the growth, which one part leaves to the next.

    Marked vertices wait in circular lists, one for each key, the last one filed first; row n + d is
    the head of the list of key d.
    """

    parts: np.ndarray  # (m,) int16, -1: no part yet
    last: np.ndarray  # (n,) int64, the end of each list's edges that may have no part yet
    # (n + keys, 4): MARK, KEY (-1: in no list), BEFORE, AFTER; what a step reads of a vertex, in
    # one line of the cache
    row: np.ndarray
    # (2,) int64: vertices tried as first ones, and the vertex that a full part could not finish or
    # -1
    scan: np.ndarray


@cached_njit
def _first_vertex(lists, growth, start, mean):  # type: ignore[no-untyped-def]
    entry, first, parts, last, row, scan = (
        lists.entry,
        lists.first,
        growth.parts,
        growth.last,
        growth.row,
        growth.scan,
    )
    n = len(last)
    if scan[1] >= 0:
        v, scan[1] = scan[1], -1
        return v
    while scan[0] < 2 * n:
        v = (scan[0] + start) % n
        if row[v, MARK] < HIGH:
            keep = first[v]
            for j in range(first[v], last[v]):
                if parts[entry[j, 1]] < 0:
                    entry[keep, 0], entry[keep, 1] = entry[j, 0], entry[j, 1]
                    keep += 1
            last[v] = keep
            if keep > first[v] and (keep - first[v] <= mean or scan[0] >= n):
                return v
        scan[0] += 1
    return -1


@cached_njit
def _grow(lists, growth, span, limit, start, mean):  # type: ignore[no-untyped-def]
    """Grow the parts span[0] .. span[1] - 1 to `limit` edges. One function, as arrays are
    counted: calls cost more than steps.
    """
    entry, first, parts, last, row, scan = (
        lists.entry,
        lists.first,
        growth.parts,
        growth.last,
        growth.row,
        growth.scan,
    )
    n = len(last)
    for b in range(span[0], span[1]):
        room, low, high = limit, len(row), n - 1
        while room > 0:
            while low <= high and row[low, AFTER] == low:
                low += 1
            w = row[low, AFTER] if low <= high else _first_vertex(lists, growth, start, mean)
            if w < 0:
                break
            if low <= high:
                after = row[w, AFTER]
                row[low, AFTER], row[after, BEFORE], row[w, KEY] = after, low, -1
            for i in range(first[w] - 1, last[w]):
                q = entry[i, 0] if i >= first[w] else w
                if (
                    row[q, MARK] == b
                    or row[q, MARK] >= HIGH
                    or (i >= first[w] and parts[entry[i, 1]] >= 0)
                ):
                    continue
                row[q, MARK], row[q, KEY] = b, -1
                keep = first[q]
                for j in range(first[q], last[q]):
                    t, e = entry[j, 0], entry[j, 1]
                    if parts[e] >= 0:
                        continue
                    mark = row[t, MARK]
                    inside = mark == b or mark >= HIGH
                    if not inside or room <= 0:
                        entry[keep, 0], entry[keep, 1] = t, e
                        keep += 1
                        if inside:
                            room = -1
                        continue
                    parts[e] = b
                    room -= 1
                    if mark == b and row[t, KEY] >= 0:
                        before, after = row[t, BEFORE], row[t, AFTER]
                        row[before, AFTER], row[after, BEFORE] = after, before
                        head = n + row[t, KEY] - 1
                        after = row[head, AFTER]
                        row[t, KEY], row[t, BEFORE], row[t, AFTER] = head - n, head, after
                        row[head, AFTER], row[after, BEFORE] = t, t
                        low = min(low, head)
                last[q] = keep
                if q != w:
                    head = n + keep - first[q]
                    after = row[head, AFTER]
                    row[q, KEY], row[q, BEFORE], row[q, AFTER] = head - n, head, after
                    row[head, AFTER], row[after, BEFORE] = q, q
                    low, high = min(low, head), max(high, head)
                if room < 0:
                    break
            if room < 0:
                scan[1] = w
            else:
                row[w, MARK] = CORE
        for head in range(low, high + 1):
            row[head, BEFORE], row[head, AFTER] = head, head


def _begin_growth(lists: Adjacency, m: int) -> _Growth:
    n, listed = len(lists.degree), np.diff(lists.first)
    row = np.full((n + int(listed.max(initial=0)) + 1, 4), -1, lists.entry.dtype)
    row[:n][lists.degree > listed, MARK] = HIGH
    row[n:, BEFORE] = row[n:, AFTER] = np.arange(n, len(row))
    return _Growth(np.full(m, -1, np.int16), lists.first[1:].copy(), row, np.array([0, -1]))


def full(edges: int, k: int, cap: float | None) -> int:
    """Return the number of edges at which a part is full: 1.001 of the mean, or `cap` if that is
    less. More would leave the last parts empty.
    """
    return min(capacity(edges, k, FULL), capacity(edges, k, cap))


def grow_parts(
    edges: EdgeEnds, lists: Adjacency, k: int, limit: int, seed: int = 0, progress: Progress = None
) -> np.ndarray:
    """Run NE++ on edges with these lists, which it leaves in disorder; parts (m,) int16 with at
    most `limit` edges, k limit >= m.
    """
    m = len(edges.src)
    growth = _begin_growth(lists, m)
    high = growth.row[: edges.vertices, MARK] == HIGH
    unlisted = high[edges.src] & high[edges.dst] if high.any() else np.zeros(0, bool)
    start = seed * _STEP % max(edges.vertices, 1)
    step = max(1, k // _CALLS) if progress else k
    for b in range(0, k - 1, step):
        span = (b, min(b + step, k - 1))
        _grow(
            lists,
            growth,
            span,
            limit - np.count_nonzero(unlisted) // k,
            start,
            mean_degree(lists.degree),
        )
        if progress:
            progress(span[1] / k)
    growth.parts[growth.parts < 0] = k - 1
    if unlisted.any():
        place(edges, growth.parts, np.flatnonzero(unlisted), k, limit)
    return growth.parts


def ne(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    tau: float = 100.0,
) -> np.ndarray:
    """Run NE++; parts (m,) int16, of which none has more than max(ceil(m/k), floor(1.001 m/k))
    edges, whatever larger `cap` is allowed.

    Vertices of more than `tau` times the mean degree are never expanded and have no list, which
    saves memory and costs replicas when `tau` is small. Time is linear in the edges, memory about
    35 bytes an edge and 50 a vertex, whatever k. ValueError for a `tau` that is not above 0.
    """
    if not tau > 0:
        raise ValueError(f"tau={tau}: it is a multiple of the mean degree, above 0")
    edges = ends(src, dst, bipartite)
    limit = full(len(edges.src), k, cap)
    return grow_parts(edges, adjacency(edges, tau), k, limit, seed, progress)
