"""The rows that a worker pulls for a step, by the positions of their vertices: tables that grow
with what is pulled, not with the graph.

A table is a hash table with open addressing. Its `slots` (capacity, 2) have a position and the
place that it has in the list of those that are pulled; -1, 0 is a free slot. At least half of them
are free.
"""

from __future__ import annotations

import numpy as np

from tux.base.compiled import cached_njit

FIRST = 1 << 10
"""Slots of a table that is to grow: 8 KB, in the first-level cache."""
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio (Knuth, 6.4)


@cached_njit
def _slot_of(slots, position):  # type: ignore[no-untyped-def]
    """Return the slot that has a position, or the free one in which it would be."""
    last = np.uint64(len(slots) - 1)
    at = ((np.uint64(position) * MIX) >> np.uint64(32)) & last
    while slots[at, 0] != position and slots[at, 0] >= 0:
        at = (at + np.uint64(1)) & last
    return at


@cached_njit
def _tabulate(positions, count, capacity):  # type: ignore[no-untyped-def]
    """Return the table of the first `count` of some distinct positions."""
    slots = np.empty((capacity, 2), positions.dtype)
    slots[:, 0], slots[:, 1] = -1, 0
    for place in range(count):
        at = _slot_of(slots, positions[place])
        slots[at, 0], slots[at, 1] = positions[place], place
    return slots


@cached_njit
def tabulate_with_room(positions, others):  # type: ignore[no-untyped-def]
    """Return the table of distinct positions as `tabulate` does, with room for `others` more."""
    capacity = 2
    while capacity < 2 * (len(positions) + others):
        capacity *= 2
    return _tabulate(positions, len(positions), capacity)


@cached_njit
def tabulate(positions):  # type: ignore[no-untyped-def]
    """Return the table of some distinct positions (r,), whose rows are their places in this
    list.
    """
    return tabulate_with_room(positions, 0)


@cached_njit
def find_touched(lists, ends):  # type: ignore[no-untyped-def]
    """Find the positions that occur in `lists` (m,), where -1 is none; list l ends before ends[l].
    Return each once, in the order in which they occur first, with the first list that has it (r,)
    int8 and how often it occurs in all of them (r,) int32.
    """
    positions = np.empty(len(lists), lists.dtype)
    first, times = np.empty(len(lists), np.int8), np.zeros(len(lists), np.int32)
    slots, total, number = _tabulate(positions, 0, FIRST), 0, 0
    for i in range(len(lists)):
        while i >= ends[number]:
            number += 1
        position = lists[i]
        if position >= 0:
            at = _slot_of(slots, position)
            place = slots[at, 1]
            if slots[at, 0] < 0:
                place = total
                slots[at, 0], slots[at, 1] = position, place
                positions[place], first[place] = position, number
                total += 1
                if 2 * total > len(slots):
                    slots = _tabulate(positions, total, 2 * len(slots))
            times[place] += 1
    return positions[:total].copy(), first[:total].copy(), times[:total].copy()


@cached_njit
def insert_positions(slots, positions, count):  # type: ignore[no-untyped-def]
    """Look up the places of distinct `positions` in a table that has `count` and room for all.
    Those that it lacks get the next places. Return the places (r,).
    """
    out = np.empty(len(positions), np.int64)
    for i in range(len(positions)):
        at = _slot_of(slots, positions[i])
        if slots[at, 0] < 0:
            slots[at, 0], slots[at, 1] = positions[i], count
            count += 1
        out[i] = slots[at, 1]
    return out


@cached_njit
def look_up_rows(lists, slots):  # type: ignore[no-untyped-def]
    """Look up the rows (m,) int32 of positions, all of which are in a table or -1, which is -1."""
    out = np.empty(len(lists), np.int32)
    for i in range(len(lists)):
        out[i] = slots[_slot_of(slots, lists[i]), 1] if lists[i] >= 0 else -1
    return out


@cached_njit
def add_to_rows(own, slots, positions, changes):  # type: ignore[no-untyped-def]
    """Add `changes` (c, width) of positions (c,) to those of the rows of `own` that are in a
    table.
    """
    for j in range(len(positions)):
        at = _slot_of(slots, positions[j])
        if slots[at, 0] >= 0:
            for k in range(own.shape[1]):
                own[slots[at, 1], k] += changes[j, k]
