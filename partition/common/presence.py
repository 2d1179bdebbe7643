"""A(v), the parts that hold vertex v, while edges are being placed: words of 64 parts, only
those that are not empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.partition.common.bits import lowest
from tux.partition.common.inlined import inline_njit


class Presence(NamedTuple):
    """The parts that hold each vertex. The words of v are ``word[first[v] : first[v] +
    length[v]]``: bit b of word j says that part ``64 number[j] + b`` holds v.

    `first` (n,) int32 or, where the pool might get that long, int64; `length` (n,) int16; `number`
    (pool,) int16, ascending within a vertex, and `word` (pool,) uint64; `used` (1,) int64, how much
    of the pool is taken. Memory, whatever k: 6 bytes a vertex (10 with int64) and at most 40 a
    replica; up to 64 parts no more than 16 (20) a vertex in all.
    """

    first: np.ndarray
    length: np.ndarray
    number: np.ndarray
    word: np.ndarray
    used: np.ndarray


def presence(n: int, k: int) -> Presence:
    """Return the state in which no part of k holds any of n vertices yet."""
    words = (k + 63) // 64
    pool = n + 2 * words
    first = np.zeros(n, np.int32 if 3 * words * pool < 2**31 else np.int64)
    length = np.zeros(n, np.int16)
    return Presence(
        first, length, np.empty(pool, np.int16), np.empty(pool, np.uint64), np.zeros(1, np.int64)
    )


def enlarge(held: Presence, k: int) -> Presence:
    """Copy the state into a larger pool. Kernels cannot make room: they stop where `room` is false,
    and go on after this.
    """
    used = int(held.used[0])
    pool = used + used // 2 + 4 * ((k + 63) // 64)
    number, word = np.empty(pool, np.int16), np.empty(pool, np.uint64)
    number[:used], word[:used] = held.number[:used], held.word[:used]
    return held._replace(number=number, word=word)


@inline_njit
def room(word, used, k):  # type: ignore[no-untyped-def]
    """Return whether both ends of one more edge can be held, wherever it is placed."""
    return used[0] + 2 * ((k + 63) // 64) <= len(word)


@inline_njit
def hold(first, length, number, word, used, v, part, k):  # type: ignore[no-untyped-def]
    """Put `part` into A(v); return whether it was not there. There must be `room`."""
    wanted, bit = part >> 6, np.uint64(1) << np.uint64(part & 63)
    start, size, taken = first[v], np.int64(length[v]), used[0]
    at, end = start, start + size
    while at < end and number[at] < wanted:
        at += 1
    if at == end or number[at] != wanted:
        # places for 1, 2, 4, ... words: they are full, so v moves to twice as many
        if size & (size - 1) == 0:
            for j in range(size):
                number[taken + j] = number[start + j]
                word[taken + j] = word[start + j]
            at += taken - start
            start, taken = taken, taken + min(max(2 * size, 1), (k + 63) // 64)
        for j in range(start + size, at, -1):
            number[j] = number[j - 1]
            word[j] = word[j - 1]
        word[at] = 0
        size += 1
    # Stored in any case: an array whose last use is in a branch costs numba two atomic operations a
    # call.
    first[v], length[v], number[at], used[0] = start, size, wanted, taken
    new = word[at] & bit == 0
    word[at] |= bit
    return new


@inline_njit
def holds(first, length, number, word, v, part):  # type: ignore[no-untyped-def]
    """Return whether `part` is in A(v). There must be `room`, so that one word after the last can
    be looked at; for the reason, see the comment in `hold`.
    """
    wanted, bit = part >> 6, np.uint64(1) << np.uint64(part & 63)
    at, end = first[v], first[v] + length[v]
    while at < end and number[at] < wanted:
        at += 1
    return (at < end) & (number[at] == wanted) & (word[at] & bit != 0)


@inline_njit
def least_of(first, length, number, word, v, load):  # type: ignore[no-untyped-def]
    """Return the part of A(v) with the least `load` (k,), the lowest number of several; -1 if A(v)
    is empty.
    """
    best, low = -1, load[0]
    for j in range(first[v], first[v] + length[v]):
        bits, base = word[j], np.int64(number[j]) << 6
        while bits:
            p = base + lowest(bits)
            bits &= bits - np.uint64(1)
            if best < 0 or load[p] < low:
                best, low = p, load[p]
    return best


@inline_njit
def least_common(first, length, number, word, u, v, load):  # type: ignore[no-untyped-def]
    """Return the part that is in A(u) and in A(v) with the least `load` (k,), the lowest number of
    several; -1 if there is none.
    """
    best, low = -1, load[0]
    i, j = first[u], first[v]
    last_i, last_j = i + length[u], j + length[v]
    while i < last_i and j < last_j:
        if number[i] < number[j]:
            i += 1
        elif number[i] > number[j]:
            j += 1
        else:
            bits, base = word[i] & word[j], np.int64(number[i]) << 6
            while bits:
                p = base + lowest(bits)
                bits &= bits - np.uint64(1)
                if best < 0 or load[p] < low:
                    best, low = p, load[p]
            i += 1
            j += 1
    return best
