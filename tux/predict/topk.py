"""The best items for each of many queries, by inner products: recommendations and similar items.

    score[i, j] = offset + query_bias[i] + item_bias[j] + queries[i] . items[j]

Scores are computed in blocks of `QUERIES` queries and `ITEMS` items, each by one matrix product of
32 bits on one thread, and a block is looked through while it is in a core's cache. Of each query
only the best n are kept. All threads of the process work on blocks. Besides factors and results
each needs QUERIES * ITEMS * 4 bytes.

The scores of what was found are then computed again in 64 bits, so that they do not depend on the
other queries. Results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import numpy as np
from threadpoolctl import threadpool_limits

from tux.arrays.ragged import take_lists
from tux.base.compiled import cached_njit
from tux.base.errors import UsageError
from tux.base.parallel import spread, threads

QUERIES, ITEMS = 256, 512
"""Scores of so many queries and items, half a megabyte, are computed at a time."""

CHUNK = 64  # scores that are compared at once, by vector instructions; a divisor of ITEMS
TASKS = 4  # for each thread: so many ranges are made of the items if there are few queries

Excluded = tuple[np.ndarray, np.ndarray]
"""Items that may not be found: of query i ``positions[offsets[i] : offsets[i + 1]]``."""

Progress = Callable[[float], None]


def recommend(
    queries: np.ndarray,
    items: np.ndarray,
    n: int,
    *,
    exclude: Excluded | None = None,
    query_bias: np.ndarray | None = None,
    item_bias: np.ndarray | None = None,
    offset: float = 0.0,
    progress: Progress = lambda share: None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the `n` items of the highest scores for each query: their positions and scores, (Q,
    min(n, N)) int64 and float32, the best first.

    `queries` (Q, r) and `items` (N, r), `query_bias` (Q,) and `item_bias` (N,). Of equal scores the
    lower position is first. Where a query has fewer items than that, as others are excluded or have
    a score of NaN or -infinity, the rest is -1 and -infinity. `progress` is told the share of the
    work that is done, from 0 to 1. Raises UsageError for arrays that do not fit.
    """
    queries, items = _matrix(queries, "queries"), _matrix(items, "items")
    for name, bias, of in (("query_bias", query_bias, queries), ("item_bias", item_bias, items)):
        if bias is not None and np.shape(bias) != of.shape[:1]:
            raise UsageError(f"{name} has shape {np.shape(bias)}, not {of.shape[:1]}")
    own = np.zeros(len(queries)) if query_bias is None else np.asarray(query_bias, np.float64)
    bias = None if item_bias is None else np.asarray(item_bias, np.float64)
    return _best_items(queries, items, n, exclude, progress, own=own + offset, bias=bias)


def similar(
    vectors: np.ndarray, rows: np.ndarray, n: int, *, progress: Progress = lambda share: None
) -> tuple[np.ndarray, np.ndarray]:
    """Find the `n` other rows of `vectors` (N, r) that are nearest to each of `rows` (Q,) by
    cosine, and the cosines: (Q, min(n, N - 1)) int64 and float32, as those of `recommend`.

    A vector of zeros has cosine 0 to all.
    """
    vectors, rows = _matrix(vectors, "vectors"), np.asarray(rows, np.int64)
    if rows.size and not (0 <= rows.min() and rows.max() < len(vectors)):
        raise UsageError(f"rows {rows.min()} to {rows.max()} of {len(vectors):,} vectors")
    scale = unit_scales(vectors)
    units = (vectors[rows] * scale[rows, None]).astype(np.float32)
    itself = np.arange(len(rows) + 1), rows
    most = min(n, max(len(vectors) - 1, 0)) if n > 0 else n
    if most == 0:
        return np.empty((len(rows), 0), np.int64), np.empty((len(rows), 0), np.float32)
    places, cosines = _best_items(units, vectors, most, itself, progress, scale=scale)
    return places, np.where(places < 0, cosines, cosines.clip(-1, 1))


def unit_scales(vectors: np.ndarray) -> np.ndarray:
    """Return the numbers by which vectors (N, r) get the length 1, (N,) float64; 0 for a vector of
    zeros.
    """
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.divide(1.0, length, out=np.zeros(len(length)), where=length > 0)


def group_by_query(query: np.ndarray, position: np.ndarray, queries: int) -> Excluded:
    """Group pairs of a query and an item, (m,) each, as the items that are excluded from each of
    `queries` queries; a pair may be there more than once.
    """
    width = int(position.max(initial=0)) + 1
    pairs = np.sort(query.astype(np.int64) * width + position)
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    offsets = np.searchsorted(pairs, np.arange(queries + 1, dtype=np.int64) * width)
    return offsets, pairs % width


def select_queries(exclude: Excluded, rows: np.ndarray) -> Excluded:
    """Select the excluded items of some of the queries, `rows` (k,)."""
    offsets, positions = exclude
    lists = take_lists(positions, offsets[rows], offsets[rows + 1] - offsets[rows])
    return lists.bounds, lists.values


def keep_positions(exclude: Excluded, kept: np.ndarray, items: int) -> Excluded:
    """Return what is excluded of the items at the places `kept` (k,) alone, ascending, of all
    `items`: by their places among these.
    """
    offsets, positions = exclude
    place = np.full(items, -1, np.int64)
    place[kept] = np.arange(len(kept))
    anew = place[positions]
    ends = np.concatenate([[0], np.cumsum(anew >= 0)])
    return ends[offsets], anew[anew >= 0]


def _matrix(array: np.ndarray, name: str) -> np.ndarray:
    matrix = np.ascontiguousarray(array, np.float32)
    if matrix.ndim != 2:
        raise UsageError(f"{name} has shape {matrix.shape}, not (rows, numbers)")
    return read_only(matrix)


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view of an array. If all arrays are of one kind, numba compiles only
    once.
    """
    array = array.view()
    array.flags.writeable = False
    return array


def _best_items(
    queries: np.ndarray,
    items: np.ndarray,
    n: int,
    exclude: Excluded | None,
    progress: Progress,
    *,
    own: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    scale: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best `n` by queries[i] . items[j] * scale[j] + bias[j] + own[i]."""
    if n < 1:
        raise UsageError(f"the best {n} are asked for", do="ask for 1 at least")
    if queries.shape[1] != items.shape[1]:
        raise UsageError(
            f"queries have {queries.shape[1]} numbers each, and items {items.shape[1]}"
        )
    n = min(n, len(items))
    offsets, positions = _sort_exclusions(exclude, len(queries))
    blocks = [slice(at, at + QUERIES) for at in range(0, len(queries), QUERIES)]
    ranges = _ranges(len(items), len(blocks))
    tasks = [(block, part) for block in blocks for part in ranges]
    extra = [None if each is None else each.astype(np.float32) for each in (scale, bias)]
    done, lock = 0, Lock()

    def search(task: tuple[slice, range]) -> np.ndarray:
        nonlocal done
        block, part = task
        asked = queries[block]
        own_offsets = read_only(offsets[block.start : block.start + len(asked) + 1])
        found = _search(asked, items, part, n, (own_offsets, positions), extra[0], extra[1])
        with lock:
            done += 1
            progress(done / len(tasks))
        return found

    best = np.empty((len(queries), n), np.int64)
    values = np.empty((len(queries), n), np.float32)
    if not best.size:
        return best, values
    # Each thread computes its own products: threads of the BLAS library would wait for one another.
    with threadpool_limits(1, "blas"):
        found = spread(search, tasks)
    per_block = len(ranges)

    def finish(at: int) -> None:
        block = blocks[at]
        places = np.concatenate(found[at * per_block : (at + 1) * per_block], axis=1)
        own_of = None if own is None else own[block]
        scores = exact_scores(queries[block], items, places, own_of, bias, scale)
        order = np.lexsort((places, -scores), axis=1)[:, :n]
        best[block] = np.take_along_axis(places, order, axis=1)
        values[block] = np.take_along_axis(scores, order, axis=1)

    spread(finish, range(len(blocks)))
    return best, values


def exact_scores(
    queries: np.ndarray,
    items: np.ndarray,
    places: np.ndarray,
    own: np.ndarray | None,
    bias: np.ndarray | None,
    scale: np.ndarray | None,
) -> np.ndarray:
    """Compute the scores of the items at `places` (q, k) in 64 bits, -infinity where that is -1;
    return them as float32.
    """
    scores = np.empty(places.shape)
    _products(queries, items, places, scores)
    if scale is not None:
        scores *= scale[places]
    if bias is not None:
        scores += bias[places]
    if own is not None:
        scores += own[:, None]
    return np.where(places < 0, -np.inf, scores).astype(np.float32)


def _ranges(items: int, blocks: int) -> list[range]:
    """Cut the items into tasks for threads: for each the first items of its blocks. It is one task
    for a block of queries if there are many of these.
    """
    count = max(1, -(-TASKS * threads() // max(blocks, 1))) if threads() > 1 else 1
    whole = -(-items // ITEMS)  # blocks of items
    count = min(count, max(whole, 1))
    cuts = [whole * at // count * ITEMS for at in range(count + 1)]
    return [range(lo, min(hi, items), ITEMS) for lo, hi in zip(cuts, cuts[1:], strict=False)]


def _sort_exclusions(exclude: Excluded | None, queries: int) -> Excluded:
    """Sort the excluded items of each query. UsageError for arrays that do not fit."""
    if exclude is None:
        return np.zeros(queries + 1, np.int64), read_only(np.empty(0, np.int64))
    offsets, positions = (np.ascontiguousarray(each, np.int64) for each in exclude)
    counts = np.diff(offsets)
    if len(offsets) != queries + 1 or offsets[-1] != len(positions) or (counts < 0).any():
        raise UsageError(
            f"what is excluded has {len(offsets)} offsets up to {offsets[-1:]}, for {queries} "
            f"queries and {len(positions)} positions",
            do="give the offsets of Q + 1 queries, from 0 to the number of positions",
        )
    rows = np.repeat(np.arange(queries), counts)
    if ((np.diff(positions) < 0) & (np.diff(rows) == 0)).any():
        positions = positions[np.lexsort((positions, rows))]
    return offsets, read_only(positions)


def _search(
    queries: np.ndarray,
    items: np.ndarray,
    starts: range,
    n: int,
    exclude: Excluded,
    scale: np.ndarray | None,
    bias: np.ndarray | None,
) -> np.ndarray:
    """Find the positions of the best `n` of a range of items for each query, (q, n) int64 in no
    order. Where a query has fewer, the rest is -1.
    """
    best = np.empty((len(queries), n), np.float32)
    places, counts = np.full((len(queries), n), -1), np.zeros(len(queries), np.int64)
    scores = np.empty((len(queries), ITEMS), np.float32)
    for first in starts:
        block = items[first : first + ITEMS]
        width = len(block)
        if width < ITEMS:
            # The same product for all blocks: equal items have equal scores, wherever they are.
            block = np.zeros((ITEMS, items.shape[1]), np.float32)
            block[:width] = items[first:]
        np.matmul(queries, block.T, out=scores)
        if scale is not None:
            scores[:, :width] *= scale[first : first + width]
        if bias is not None:
            scores[:, :width] += bias[first : first + width]
        _keep_best(scores, width, first, *exclude, best, places, counts)
    return places


@cached_njit
def _keep_best(scores, width, first, offsets, positions, best, places, counts):  # type: ignore[no-untyped-def]
    """Put the scores (q, ITEMS) of `width` items, the first of which is item `first`, into each
    query's heap of the best: `best` and `places` (q, n), of which `counts` (q,) entries are filled.
    The worst entry of a heap is at its top.
    """
    n = best.shape[1]
    for i in range(len(counts)):
        row, least = scores[i], best[i, 0] if counts[i] == n else np.float32(-np.inf)
        start = 0
        while start < width:  # in a loop over a range, the next one would not be vectorised
            above = np.int32(0)
            for j in range(CHUNK):
                above |= np.int32(row[start + j] > least)
            if above:
                for j in range(start, min(start + CHUNK, width)):
                    score, place = row[j], first + j
                    if score > least and not is_among(positions, offsets[i], offsets[i + 1], place):
                        if counts[i] < n:
                            push_score(best[i], places[i], counts[i], score, place)
                            counts[i] += 1
                        else:
                            replace_worst(best[i], places[i], score, place)
                        if counts[i] == n:
                            least = best[i, 0]
            start += CHUNK


@cached_njit
def is_among(positions, low, high, place):  # type: ignore[no-untyped-def]
    """Return whether a place is in ``positions[low:high]``, which ascend."""
    while low < high:
        middle = (low + high) // 2
        if positions[middle] < place:
            low = middle + 1
        elif positions[middle] > place:
            high = middle
        else:
            return True
    return False


@cached_njit
def _is_worse(score, place, other, other_place):  # type: ignore[no-untyped-def]
    return score < other or (score == other and place > other_place)


@cached_njit
def push_score(best, places, count, score, place):  # type: ignore[no-untyped-def]
    """Add a score and its place to a heap of `count`."""
    at = count
    while at > 0:
        above = (at - 1) // 2
        if not _is_worse(score, place, best[above], places[above]):
            break
        best[at], places[at] = best[above], places[above]
        at = above
    best[at], places[at] = score, place


@cached_njit
def replace_worst(best, places, score, place):  # type: ignore[no-untyped-def]
    """Replace the worst of a full heap by a better one."""
    n, at = len(best), 0
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and _is_worse(
            best[child + 1], places[child + 1], best[child], places[child]
        ):
            child += 1
        if not _is_worse(best[child], places[child], score, place):
            break
        best[at], places[at] = best[child], places[child]
        at = child
    best[at], places[at] = score, place


@cached_njit
def _products(queries, items, places, out):  # type: ignore[no-untyped-def]
    """Compute out[i, k] = queries[i] . items[places[i, k]], summed in 64 bits; 0 where there is
    none.
    """
    for i in range(places.shape[0]):
        for k in range(places.shape[1]):
            total, place = 0.0, places[i, k]
            if place >= 0:
                for d in range(queries.shape[1]):
                    total += np.float64(queries[i, d]) * np.float64(items[place, d])
            out[i, k] = total
