"""The parts of edges, as they follow from the parts that their ends have joined in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import slices, spread

NONE, HIGH_BOTH = -1, -2
"""Parts of edges that no part has taken, and that no part takes while it grows."""
_COUNTED = -3


class Memberships(NamedTuple):
    """The parts that each vertex has joined: those of v are ``joined[first[v]:first[v + 1]]``,
    ascending. `first` (n + 1,) int64, `joined` int16.

    `high` (n,) bool: vertices that count as members of all parts beside one that has joined it.
    `last` (k,): the vertex that a full part took in last, of whose edges it has only the first
    `taken` (k,), or -1; `seen` (k,): how many of these were found so far. All int64.
    """

    first: np.ndarray
    joined: np.ndarray
    high: np.ndarray
    last: np.ndarray
    taken: np.ndarray
    seen: np.ndarray


@cached_njit
def _find(src, dst, lo, hi, held, parts, counts):  # type: ignore[no-untyped-def]
    """Find the parts of the edges lo .. hi - 1. Those whose edges must be counted get _COUNTED;
    with `counts`, these alone are found, in their order.
    """
    first, joined, high = held.first, held.joined, held.high
    last, taken, seen = held.last, held.taken, held.seen
    for i in range(lo, hi):
        if counts and parts[i] != _COUNTED:
            continue
        u, v = (dst[i], src[i]) if high[src[i]] else (src[i], dst[i])
        if high[u]:
            parts[i] = HIGH_BOTH
            continue
        parts[i] = NONE
        a, b = first[u], first[v]
        while a < first[u + 1] and (high[v] or b < first[v + 1]):
            one = joined[a]
            other = one if high[v] else joined[b]
            if one < other:
                a += 1
            elif other < one:
                b += 1
            elif last[one] != u and last[one] != v:
                parts[i] = one
                break
            elif not counts:
                parts[i] = _COUNTED
                break
            else:
                seen[one] += 1
                if seen[one] <= taken[one]:
                    parts[i] = one
                    break
                a += 1  # the part was full


@cached_njit
def _group(vertices, part, first, joined):  # type: ignore[no-untyped-def]
    """Add a part to those of its vertices. `first[v + 1]` is the end of v's so far."""
    for v in vertices:
        joined[first[v + 1]] = part
        first[v + 1] += 1


def gather_memberships(
    members: list[np.ndarray], high: np.ndarray, last: np.ndarray, taken: np.ndarray
) -> Memberships:
    """Gather the memberships from the vertices of each part, which `members` loses."""
    first = np.zeros(len(high) + 1, np.int64)
    for vertices in members:
        first[1:][vertices] += 1  # each once
    joined = np.empty(int(first.sum()), np.int16)
    first[1:] = np.cumsum(first[1:]) - first[1:]  # the starts
    for part in range(len(members)):
        _group(members[part], part, first, joined)
        members[part] = members[part][:0]
    return Memberships(first, joined, high, last, taken, np.zeros_like(last))


def parts_of_edges(src: np.ndarray, dst: np.ndarray, held: Memberships) -> np.ndarray:
    """Return the part (m,) int16 of each edge: the first one that both ends have joined, if it had
    room; else NONE or HIGH_BOTH. Chunks of edges are asked about in their order.
    """
    parts = np.empty(len(src), np.int16)
    spread(
        lambda each: _find(src, dst, each.start, each.stop, held, parts, False), slices(len(src))
    )
    _find(src, dst, 0, len(src), held, parts, True)
    return parts
