"""The parts of edges, as they follow from the parts that their ends have joined in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.parallel import slices, spread
from tux.partition.common.bits import lowest
from tux.partition.common.inlined import inline_njit

HIGH_BOTH = -1
"""The part of edges that no part takes while it grows."""
_COUNTED, _NONE = -2, -3
_HIGH, _LISTED = -1, -2
_BITS = 53  # parts of a word, which has its number above them
_AHEAD = 256  # edges


class Memberships(NamedTuple):
    """The parts that each vertex has joined, as words: bit b of the word w, which is the integer
    2^53 w + bits, stands for the part 53 w + b.

    `joined` (n,) int64: the only word of a vertex; 0 if it has joined no part; -1 if it is high: it
    counts as member of all parts beside one that has joined it; if it has several words, -2 minus
    their place in `more`. `more` int64: these words, ascending, and 0 after the last of a vertex.
    `last` (k,): the vertex that a full part took in last, of whose edges it has only the first
    `taken` (k,), or -1; `seen` (k,): how many of these were found so far. All int64.
    """

    joined: np.ndarray
    more: np.ndarray
    last: np.ndarray
    taken: np.ndarray
    seen: np.ndarray


@inline_njit
def _common(one, other, u, v, held, counts):  # type: ignore[no-untyped-def]
    """Return the part of the edge (u, v), whose ends have joined these; _NONE if there is none, and
    _COUNTED if its edges must be counted and `counts` is false.
    """
    one = other if one == _HIGH else one
    other = one if other == _HIGH else other
    if one == _HIGH:
        return HIGH_BOTH
    at, there = _LISTED - one, _LISTED - other  # negative for a word itself
    one = held.more[at] if at >= 0 else one
    other = held.more[there] if there >= 0 else other
    while one > 0 and other > 0:
        word, ahead = one >> _BITS, other >> _BITS
        both = one & other & ((1 << _BITS) - 1) if word == ahead else 0
        while both > 0:
            part = _BITS * word + lowest(np.uint64(both))
            if held.last[part] != u and held.last[part] != v:
                return part
            if not counts:
                return _COUNTED
            held.seen[part] += 1
            if held.seen[part] <= held.taken[part]:
                return part
            both &= both - 1  # the part was full
        if word <= ahead:
            at += 1
            one = held.more[at] if at > 0 else 0
        if ahead <= word:
            there += 1
            other = held.more[there] if there > 0 else 0
    # An array that is read here, after the loop, would cost two atomic operations a call.
    return _NONE


@cached_njit
def _find(src, dst, lo, hi, held, parts):  # type: ignore[no-untyped-def]
    """Find the parts of the edges lo .. hi - 1. Those whose edges must be counted get _COUNTED.

    What ends have joined is read for many edges before any is looked at: so the processor waits for
    many reads at once, not for each.
    """
    ones, others = np.empty(_AHEAD, np.int64), np.empty(_AHEAD, np.int64)
    rest = len(held.last) - 1
    for start in range(lo, hi, _AHEAD):
        count = min(_AHEAD, hi - start)
        for j in range(count):
            ones[j], others[j] = held.joined[src[start + j]], held.joined[dst[start + j]]
        for j in range(count):
            i = start + j
            part = _common(ones[j], others[j], src[i], dst[i], held, False)
            parts[i] = part if part != _NONE else rest


@cached_njit
def _find_counted(src, dst, held, parts):  # type: ignore[no-untyped-def]
    """Find the parts of the edges that must be counted, in their order."""
    rest = len(held.last) - 1
    for i in range(len(parts)):
        if parts[i] == _COUNTED:
            u, v = src[i], dst[i]
            part = _common(held.joined[u], held.joined[v], u, v, held, True)
            parts[i] = part if part != _NONE else rest


@cached_njit
def _count_words(vertices, word, words):  # type: ignore[no-untyped-def]
    """Count the words of these vertices, above the number of the last one and 1, in 16 bits."""
    for v in vertices:
        if words[v] & 65535 != word + 1:
            words[v] = (((words[v] >> 16) + 1) << 16) | (word + 1)


@cached_njit
def _group(vertices, part, joined, more):  # type: ignore[no-untyped-def]
    """Add a part to those of its vertices. Words in `more` come from the last to the first."""
    word = np.int64(part // _BITS)
    bit = (word << _BITS) | (np.int64(1) << (part % _BITS))
    for v in vertices:
        place = _LISTED - joined[v]
        if place < 0:
            joined[v] |= bit
        elif more[place] >> _BITS == word:
            more[place] |= bit
        else:
            more[place - 1] = bit
            joined[v] += 1


def gather_memberships(
    members: list[np.ndarray], last: np.ndarray, taken: np.ndarray, high: np.ndarray
) -> Memberships:
    """Gather the memberships from the vertices of each part, which `members` loses; `high` (n,)
    bool.
    """
    joined = np.zeros(len(high), np.int64)
    for part, vertices in enumerate(members):
        _count_words(vertices, part // _BITS, joined)
    joined >>= 16
    listed = joined > 1
    after = np.cumsum(joined[listed] + 1)
    joined[:] = 0
    joined[listed] = _LISTED - (after - 1)
    joined[high] = _HIGH
    more = np.zeros(after[-1] if len(after) else 0, np.int64)
    while members:
        _group(members.pop(), len(members), joined, more)
    return Memberships(joined, more, last, taken, np.zeros_like(last))


def parts_of_edges(src: np.ndarray, dst: np.ndarray, held: Memberships) -> np.ndarray:
    """Return the part (m,) int16 of each edge: the first one that both ends have joined and that
    had room, else the last of the k; HIGH_BOTH between two high vertices. Chunks of edges are asked
    about in their order.
    """
    parts = np.empty(len(src), np.int16)
    spread(lambda each: _find(src, dst, each.start, each.stop, held, parts), slices(len(src)))
    _find_counted(src, dst, held, parts)
    return parts
