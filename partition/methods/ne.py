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

Lists have no numbers of edges, and no edge is marked. An edge of v has no part yet if its other end
is not core, as its lists are cleaned when a part ends: of edges to others that have joined it. What
part an edge has follows from the parts that its ends have joined (`memberships.py`), in one more
reading of the edges.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import ENTRIES_PER_THREAD, slices, spread
from tux.partition.common.capacity import MOST_PARTS, capacity
from tux.partition.common.chunked import ChunkedEdges, Chunks, count_chunks, slice_edges
from tux.partition.common.ends import Progress, ends
from tux.partition.common.leftovers import HighEdges
from tux.partition.common.memberships import (
    HIGH_BOTH,
    gather_memberships,
    parts_of_edges,
)
from tux.partition.common.neighbours import VertexNeighbours, list_neighbours

MARK, KEY, BEFORE, AFTER = range(4)
HIGH, CORE = MOST_PARTS, MOST_PARTS + 1  # marks above every part
# 2^32 over the golden ratio: the first vertices of successive seeds lie far apart
_STEP = 2_654_435_761
FULL = 1.001  # of the mean
_CALLS = 64  # to `progress`
TRIED, FIRST, LAST, TAKEN, JOINED = range(5)


class _Growth(NamedTuple):
    """The state of the growth, which one part leaves to the next.

    Marked vertices wait in circular lists, one for each key, the last one filed first; row n + d is
    the head of the list of key d.
    """

    length: np.ndarray  # (n,) the number of each list's edges that may have no part yet, its first
    # (n + keys, 4): MARK, KEY (-1: in no list), BEFORE, AFTER; what a step reads of a vertex, in
    # one line of the cache
    row: np.ndarray
    # (5,) int64: vertices tried as first ones; the vertex that a full part could not finish, or -1,
    # the one that it took in last then, or -1, and the edges that it has of that one; and the
    # number of vertices that have joined it
    scan: np.ndarray
    joined: np.ndarray  # (n,) the vertices that have joined a part, in their order


@cached_njit
def _first_vertex(lists, growth, start):  # type: ignore[no-untyped-def]
    entry, first, length = lists.entry, lists.first, growth.length
    row, scan, n = growth.row, growth.scan, len(growth.length)
    if scan[FIRST] >= 0:
        v, scan[FIRST] = scan[FIRST], -1
        return v
    while scan[TRIED] < 2 * n:
        v = (scan[TRIED] + start) % n
        if row[v, MARK] < HIGH:
            keep = first[v]
            for j in range(first[v], first[v] + length[v]):
                if row[entry[j], MARK] != CORE:
                    entry[keep] = entry[j]
                    keep += 1
            length[v] = keep - first[v]
            if length[v] > 0 and (length[v] <= lists.mean or scan[TRIED] >= n):
                return v
        scan[TRIED] += 1
    return -1


@cached_njit
def _grow(lists, growth, b, limit, start):  # type: ignore[no-untyped-def]
    """Grow part b to `limit` edges. One function, as arrays are counted: calls cost more than
    steps.
    """
    entry, first, length = lists.entry, lists.first, growth.length
    row, scan, joined, count, n = growth.row, growth.scan, growth.joined, 0, len(growth.length)
    room, low, high = limit, len(row), n - 1
    scan[LAST] = -1
    while room > 0:
        while low <= high and row[low, AFTER] == low:
            low += 1
        w = row[low, AFTER] if low <= high else _first_vertex(lists, growth, start)
        if w < 0:
            break
        if low <= high:
            after = row[w, AFTER]
            row[low, AFTER], row[after, BEFORE], row[w, KEY] = after, low, -1
        for i in range(first[w] - 1, first[w] + length[w]):
            q = entry[i] if i >= first[w] else w
            if row[q, MARK] == b or row[q, MARK] >= HIGH:
                continue
            row[q, MARK], row[q, KEY] = b, -1
            joined[count] = q
            count += 1
            keep, before_q = first[q], room
            for j in range(first[q], first[q] + length[q]):
                t = entry[j]
                mark = row[t, MARK]
                if mark == CORE:
                    continue
                inside = mark == b or mark == HIGH
                if not inside or room <= 0:
                    entry[keep] = t
                    keep += 1
                    if inside and room == 0:
                        scan[LAST], scan[TAKEN], room = q, before_q, -1
                    continue
                room -= 1
                if mark == b and row[t, KEY] >= 0:
                    before, after = row[t, BEFORE], row[t, AFTER]
                    row[before, AFTER], row[after, BEFORE] = after, before
                    head = n + row[t, KEY] - 1
                    after = row[head, AFTER]
                    row[t, KEY], row[t, BEFORE], row[t, AFTER] = head - n, head, after
                    row[head, AFTER], row[after, BEFORE] = t, t
                    low = min(low, head)
            length[q] = keep - first[q]
            if q != w:
                head = n + length[q]
                after = row[head, AFTER]
                row[q, KEY], row[q, BEFORE], row[q, AFTER] = head - n, head, after
                row[head, AFTER], row[after, BEFORE] = q, q
                low, high = min(low, head), max(high, head)
            if room < 0:
                break
        if room < 0:
            scan[FIRST] = w
        else:
            row[w, MARK] = CORE
    for head in range(low, high + 1):
        row[head, BEFORE], row[head, AFTER] = head, head
    scan[JOINED] = count


@cached_njit
def _note_left(lists, growth, b):  # type: ignore[no-untyped-def]
    """Note in KEY, as -1 minus their number, the edges of its neighbours that part b has left of
    those to the vertex that it took in last: of several to one neighbour, the later ones.
    """
    entry, row, last = lists.entry, growth.row, growth.scan[LAST]
    if last >= 0:
        for j in range(lists.first[last], lists.first[last] + growth.length[last]):
            t = entry[j]
            if row[t, MARK] == b:
                row[t, KEY] = min(row[t, KEY], -1) - 1


@cached_njit
def _clean(lists, growth, lo, hi, b):  # type: ignore[no-untyped-def]
    """Drop from the lists of those that have joined part b, lo .. hi - 1, the edges that it has
    taken. KEY tells how many are left of all.
    """
    entry, first, length, row = lists.entry, lists.first, growth.length, growth.row
    last = growth.scan[LAST]
    some, count = np.empty(hi - lo, np.int64), 0
    for v in growth.joined[lo:hi]:
        some[count] = v
        count += (row[v, MARK] != CORE) & (v != last) & (row[v, KEY] != length[v])
    for v in some[:count]:
        keep, end, taken = first[v], first[v] + length[v], row[v, KEY] + 1
        if taken >= 0:
            for j in range(first[v], end):
                t, mark = entry[j], row[entry[j], MARK]
                entry[keep] = t
                keep += (mark != CORE) & (mark != b)
        else:
            for j in range(first[v], end):
                taken += entry[j] == last
            for j in range(first[v], end):
                t, mark = entry[j], row[entry[j], MARK]
                taken -= t == last
                entry[keep] = t
                keep += taken < 0 if t == last else (mark != CORE) & (mark != b)
        length[v] = keep - first[v]


def _clean_piece(lists: VertexNeighbours, growth: _Growth, b: int, piece: slice) -> None:
    _clean(lists, growth, piece.start, piece.stop, b)


def _begin_growth(lists: VertexNeighbours) -> _Growth:
    n, kind = len(lists.high), lists.entry.dtype
    length = np.diff(lists.first)
    most = int(length.max(initial=0))
    length = length.astype(np.int32 if most < 2**31 else np.int64)
    row = np.full((n + most + 1, 4), -1, kind)
    row[:n][lists.high, MARK] = HIGH
    row[n:, BEFORE] = row[n:, AFTER] = np.arange(n, len(row))
    return _Growth(length, row, np.array([0, -1, -1, 0, 0]), np.empty(n, kind))


def full(edges: int, k: int, cap: float | None) -> int:
    """Return the number of edges at which a part is full: 1.001 of the mean, or `cap` if that is
    less. More would leave the last parts empty.
    """
    return min(capacity(edges, k, FULL), capacity(edges, k, cap))


def _grow_parts(
    lists: VertexNeighbours, k: int, limit: int, seed: int, progress: Progress
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Grow all parts but the last. Return the vertices that have joined each, and of each the
    vertex that it took in last, and the edges that it has of that one, as `Memberships` has them.
    """
    growth, n = _begin_growth(lists), len(lists.high)
    start = seed * _STEP % max(n, 1)
    members: list[np.ndarray] = []
    last, taken = np.full(k, -1), np.zeros(k, np.int64)
    step = max(1, k // _CALLS)
    for b in range(k - 1):
        _grow(lists, growth, b, limit, start)
        joined = growth.joined[: growth.scan[JOINED]]
        if len(joined) == 0:
            break  # no edge is left for this part, nor for those after it
        joined.sort()  # so that what lies side by side is read in one go
        _note_left(lists, growth, b)
        pieces = slices(len(joined), ENTRIES_PER_THREAD // 16)
        spread(partial(_clean_piece, lists, growth, b), pieces)
        members.append(joined.copy())
        last[b], taken[b] = growth.scan[LAST], growth.scan[TAKEN]
        if progress and (b + 1) % step == 0:
            progress(0.9 * (b + 1) / k)
    return members, last, taken


def grow_parts(
    edges: ChunkedEdges,
    k: int,
    limit: int,
    seed: int = 0,
    tau: float = 100.0,
    progress: Progress = None,
) -> list[np.ndarray]:
    """Run NE++ on edges that are read three times. Return the parts of each chunk, (m,) int16 in
    all, with at most `limit` edges each; k limit >= m.
    """
    lists = list_neighbours(edges, tau)
    high, unlisted = lists.high, lists.unlisted
    grown = _grow_parts(lists, k, limit - unlisted // k, seed, progress)
    del lists
    held = gather_memberships(*grown, high)
    both_high, parts, done = HighEdges(high, k), [], 0
    for src, dst in edges:
        found = parts_of_edges(src, dst, held)
        if unlisted:
            both_high.add(src, dst, found)
        parts.append(found)
        done += len(src)
        if progress and len(src):
            progress(0.9 + 0.1 * done / edges.edges)
    if unlisted:
        _place_high(both_high, parts, limit)
    return parts


def _place_high(both_high: HighEdges, parts: list[np.ndarray], limit: int) -> None:
    """Write to the parts of chunks those of their edges between two high vertices."""
    placed = both_high.place(limit)
    for found in parts:
        left = found == HIGH_BOTH
        found[left], placed = np.split(placed, [np.count_nonzero(left)])


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
    edges, whatever larger `cap` is allowed. Several threads read the edges; one grows.

    Vertices of more than `tau` times the mean degree are never expanded and have no list, which
    saves memory and costs replicas when `tau` is small. Time is linear in the edges; memory beside
    the ends is 8 bytes an edge, some 36 a vertex and 4 a replica. ValueError for a `tau` that is
    not above 0.
    """
    _check_tau(tau)
    edges = ends(src, dst, bipartite)
    limit = full(len(edges.src), k, cap)
    return join_chunks(grow_parts(slice_edges(edges), k, limit, seed, tau, progress))


def ne_stream(
    chunks: Chunks,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    tau: float = 100.0,
) -> Iterator[np.ndarray]:
    """Cut edges that lie on disk, as `ne` does: the same parts, chunk by chunk, each (length of the
    chunk,) int16.

    ``chunks()`` begins a reading of all edges as arrays (src, dst), such as slices of memory-mapped
    files; it is called four times and must give the same each time. How edges are cut into chunks
    does not change their parts. Memory: 8 bytes an edge, some 36 a vertex, 4 a replica, and a few
    copies of one chunk. ValueError, beside those of `ne`, for vertices that are not numbered
    densely from 0, and for chunks that are not the same at every reading.
    """
    _check_tau(tau)
    edges = count_chunks(chunks, bipartite)
    yield from grow_parts(edges, k, full(edges.edges, k, cap), seed, tau, progress)


def join_chunks(parts: list[np.ndarray]) -> np.ndarray:
    """Join the parts of chunks, (m,) int16 in all, which `parts` loses."""
    joined, lo = np.empty(sum(map(len, parts)), np.int16), 0
    while parts:
        some = parts.pop(0)
        joined[lo : lo + len(some)] = some
        lo += len(some)
    return joined


def _check_tau(tau: float) -> None:
    if not tau > 0:
        raise ValueError(f"tau={tau}: it is a multiple of the mean degree, above 0")
