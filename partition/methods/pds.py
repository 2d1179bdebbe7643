"""PDS: parts allowed to a vertex are a translate of a perfect difference set, any two of which
meet (PowerGraph's `pds` ingress).
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.difference_cover import difference_cover
from tux.partition.common.ends import Progress, ends

_CHUNK = 1 << 20


def pds(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
) -> np.ndarray:
    """Place each edge (u, v) in the least loaded part of S(u) and S(v), the lowest number of
    several; parts (m,) int16.

    S(v) = {(d + hash(v)) mod k : d in D}. Where k = p^2 + p + 1 with p prime (7, 13, 31, 57, 133,
    183, ...), D is a perfect difference set and two different S have one part in common. For any
    other k, D is a difference cover: a few members more, two S meet in one part or several, and
    each part is as likely as any other, which sets made for another k and folded would not give.

    Without `cap`, |A(v)| <= |D|: p + 1 where D is perfect, at most sqrt(1.5 k) + 6 for any k (3 for
    k = 4, 7 for 32, 15 for 128, 226 for 32,767), against 2 sqrt(k) in a grid.
    """
    edges = ends(src, dst, bipartite)
    limit = capacity(len(edges.src), k, cap)
    home = by_hash(np.arange(edges.vertices), k, seed)
    parts = place_by_homes(edges.src, edges.dst, home, np.zeros(k, np.int64), progress)
    return limit_parts(parts, k, limit)


def place_by_homes(
    src: np.ndarray, dst: np.ndarray, home: np.ndarray, load: np.ndarray, progress: Progress = None
) -> np.ndarray:
    """Place edges between vertices whose hashes are `home` (n,), when the parts have `load` (k,)
    int64 edges, to which these are added; parts (m,) int16.
    """
    m, (starts, members) = len(src), _meetings(len(load))
    parts = np.empty(m, np.int16)
    for lo in range(0, m, _CHUNK):
        a, b, out = (x[lo : lo + _CHUNK] for x in (src, dst, parts))
        _least_loaded(a, b, home, starts, members, load, out)
        if progress:
            progress((lo + len(a)) / m)
    return parts


def _meetings(k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return for each difference g mod k the members d of D with d - g in D too: D meets D + g
    there.
    """
    cover = np.array(difference_cover(k), np.int64)
    gaps = (cover[:, None] - cover[None, :]).ravel() % k
    order = np.argsort(gaps, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(gaps, minlength=k))])
    return starts, np.repeat(cover, len(cover))[order]


@cached_njit
def _least_loaded(src, dst, home, starts, members, load, parts):  # type: ignore[no-untyped-def]
    k = len(load)
    for i in range(len(src)):
        a = np.int64(home[src[i]])
        gap = home[dst[i]] - a
        if gap < 0:
            gap += k
        best = -1
        for j in range(starts[gap], starts[gap + 1]):
            p = members[j] + a
            if p >= k:
                p -= k
            if best < 0 or load[p] < load[best] or (load[p] == load[best] and p < best):
                best = p
        parts[i] = best
        load[best] += 1
