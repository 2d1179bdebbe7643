"""Masters: which of the parts that hold a vertex keeps its true value and answers the others.

Every replica but the master's own sends a row up and gets one down at each synchronisation. So the
parts' traffic in sum does not depend on the masters, but its spread does: a part that holds h cut
vertices has at least h rows to move each way, and each master with r replicas adds r-2. What else
masters cost is the work of Apply: one row each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import hash_values
from tux.partition.common.capacity import check_parts
from tux.partition.common.ends import ends
from tux.partition.replicas import Replicas, replicas

METHODS = ("load", "random")
SLACK = 1.02  # a part may have this multiple of the mean load before locality stops counting


def masters(
    src: np.ndarray,
    dst: np.ndarray,
    parts: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    method: str = "load",
) -> np.ndarray:
    """Choose the part that masters each vertex, (n,) int16, where edge i, (src[i], dst[i]), is in
    part parts[i] of k.

    Vertices are numbered as `tux.partition.common.ends.ends` does: 0 to the largest number that
    occurs; with `bipartite` the sources and then the targets, each of the two types placed for
    itself; sparse 64-bit numbers by rank. The master of a vertex that has edges is a part that
    holds it.

    "load": the part with most of the vertex's edges, unless that would have more than 1.02 of the
    mean of masters, or of rows to synchronise; then the one with the least of both among those that
    hold the vertex. Vertices without edges go where masters are fewest. There is no chance in it:
    `seed` plays no role. "random": any holder, each as likely, and any part where there is none.

    Time and memory are linear in vertices, edges and k. ValueError for impossible arguments.
    """
    check_parts(k)
    edges = ends(src, dst, bipartite)
    held = replicas(edges, parts, k)
    if not bipartite:
        return homes(held, k, seed, method=method)
    sides = [held.between(0, edges.sources), held.between(edges.sources, edges.vertices)]
    return np.concatenate(
        [homes(side, k, seed + at, method=method) for at, side in enumerate(sides)]
    )


def homes(held: Replicas, k: int, seed: int = 0, *, method: str = "load") -> np.ndarray:
    """Choose the masters (n,) int16 of the vertices of one type, given the parts that hold them;
    see `masters`. Raise ValueError for an unknown method.
    """
    if method not in METHODS:
        raise ValueError(f"masters by {method!r}: it can be {', '.join(METHODS)}")
    counts = held.counts
    if method == "random":
        draw = hash_values(np.arange(len(counts)), seed)
        home = (draw % np.uint64(k)).astype(np.int16)
        some = np.flatnonzero(counts)
        home[some] = held.part[
            held.first[some] + (draw[some] % counts[some].astype(np.uint64)).astype(np.int64)
        ]
        return home
    home = np.full(len(counts), -1, np.int16)
    loads = loads_of(held, k)
    alone = np.flatnonzero(counts == 0)
    whole = np.flatnonzero(counts == 1)
    home[whole] = held.part[held.first[whole]]
    # by counting, as these are 16 bits
    order = np.argsort(-np.minimum(counts, 32_767).astype(np.int16), kind="stable")
    order = order[: len(counts) - len(alone) - len(whole)]
    order = order.astype(np.int32 if len(counts) < 2**31 else np.int64)
    mirrors = int(loads.rows.sum()) - len(order)
    choose(held, order, loads, len(counts) - len(alone), mirrors, home)
    home[alone] = np.repeat(np.arange(k, dtype=np.int16), fill_evenly(loads.mastered, len(alone)))
    return home


class Loads(NamedTuple):
    """The loads of parts. `mastered` (k,): masters that each part has so far; `rows` (k,): rows
    that it moves each way at a synchronisation, of mirrors and of masters. Both int64.
    """

    mastered: np.ndarray
    rows: np.ndarray


def loads_of(held: Replicas, k: int) -> Loads:
    """Return the loads before any vertex of several replicas has its master: whole vertices have no
    choice and come first.
    """
    counts = held.counts
    whole = held.part[held.first[:-1][counts == 1]]
    cut = held.part[np.repeat(counts > 1, counts)]
    return Loads(np.bincount(whole, minlength=k), np.bincount(cut, minlength=k))


def choose(
    held: Replicas, order: np.ndarray, loads: Loads, vertices: int, mirrors: int, home: np.ndarray
) -> None:
    """Write to `home` the masters of the vertices `order`, of several replicas each, and add them
    to `loads`.

    They come by falling number of replicas, so that the heavy ones find room. The means are those
    of the whole type: `vertices` have edges, with `mirrors` replicas beside their masters.
    """
    k = len(loads.mastered)
    means = max(vertices / k, 1e-9), max(2 * mirrors / k, 1e-9)
    most = max(np.ceil(means[0]), SLACK * means[0]), max(np.ceil(means[1]), SLACK * means[1])
    _choose(held.first, held.part, held.edges, order, *loads, home, means, most)


@cached_njit
def _choose(first, part, edges, order, mastered, rows, home, means, most):  # type: ignore[no-untyped-def]
    mean_masters, mean_rows = means
    most_masters, most_rows = most
    for v in order:
        more = first[v + 1] - first[v] - 2
        best, least = -1, np.inf  # the least loaded
        # the one with most edges; of those, the least loaded
        near, largest, nearest = -1, -1, np.inf
        for j in range(first[v], first[v + 1]):
            p = part[j]
            load = mastered[p] / mean_masters + rows[p] / mean_rows
            if load < least:
                best, least = p, load
            if edges[j] > largest or (edges[j] == largest and load < nearest):
                near, largest, nearest = p, edges[j], load
        if mastered[near] + 1 <= most_masters and (more == 0 or rows[near] + more <= most_rows):
            best = near
        home[v] = best
        mastered[best] += 1
        rows[best] += more


def fill_evenly(load: np.ndarray, count: int) -> np.ndarray:
    """Share out `count` equal things so that the least loaded parts are filled up evenly: return
    the number of each part (k,) int64.
    """
    order = np.argsort(load, kind="stable")
    levels = load[order]
    # to lift those before to each level
    room = levels * np.arange(len(load)) - np.concatenate([[0], np.cumsum(levels)[:-1]])
    lifted = int(np.searchsorted(room, count, side="right"))
    level, rest = divmod(count + int(levels[:lifted].sum()), lifted)
    out = np.zeros(len(load), np.int64)
    out[order[:lifted]] = level - levels[:lifted]
    out[order[:rest]] += 1
    return out
