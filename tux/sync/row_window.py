"""The rows that a worker keeps for a few steps: pulled when a step touches them first, changed by
all of these steps, and pushed once (`tux.sync.pull`).

The lists of a step are in an order, and each field belongs to the rows of the lists up to its last
one. The level of a row is the first list that has it; so it has the fields whose last list is not
before its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.messages.encoding import Arrays
from tux.rows.table import allocate_aligned
from tux.sync.pulled_rows import insert_positions, tabulate_with_room

NEVER_TOUCHED = np.int8(127)
"""A level that has no fields."""


class StepRows(NamedTuple):
    """The rows that a step touches: the place of each in its window, and its level there (t,).
    `asked`: those that are pulled for this step; `sent`: those whose changes go at its end.
    """

    window: RowWindow
    places: np.ndarray
    levels: np.ndarray
    asked: np.ndarray
    sent: np.ndarray


class RowWindow:
    """The rows of the steps from `first` on. `fields` (n, width) have the types and widths of
    values, `last` the last list of each.

    rows (room, width) by field: what the steps see and change. base: what of it the masters have,
    or get by what has been sent. positions (count,): of the vertices.
    """

    def __init__(self, first: int, fields: Arrays, last: Sequence[int], none: np.ndarray) -> None:
        self.first, self.last = first, last
        self.slots, self.positions = tabulate_with_room(none, 0), none
        # the level with which each row was asked for, and that of its changes that are not sent
        self._levels, self._unsent = np.empty(0, np.int8), np.empty(0, np.int8)
        self.rows, self._base = ([array[:0] for array in fields] for _ in range(2))

    def touch(
        self, positions: np.ndarray, levels: np.ndarray, often: np.ndarray, *, ends: bool
    ) -> StepRows:
        """Take in the rows of the next step, all different; `often` (t,) says which it touches
        often. `ends`: it is the window's last.
        """
        count = len(self.positions)
        if len(self.slots) < 2 * (count + len(positions)):
            self.slots = tabulate_with_room(self.positions, len(positions))
        places = insert_positions(self.slots, positions, count)
        new = places >= count
        self.positions = np.concatenate([self.positions, positions[new]])
        self._levels, self._unsent = (
            np.concatenate([each, np.full(int(new.sum()), NEVER_TOUCHED)])
            for each in (self._levels, self._unsent)
        )
        asked = often | (levels < self._levels[places])
        self._levels[places] = np.minimum(self._levels[places], levels)
        return StepRows(self, places, levels, asked, often & (not ends))

    def make_room(self) -> None:
        """Make room for all rows that have been taken in."""
        room = len(self.positions)
        for arrays in (self.rows, self._base):
            for f, array in enumerate(arrays):
                if len(array) < room:
                    wide = max(room, len(array) * 3 // 2)
                    arrays[f] = allocate_aligned((wide, array.shape[1]), array.dtype, zero=True)
                    arrays[f][: len(array)] = array

    def put_values(self, field: int, places: np.ndarray, values: np.ndarray) -> None:
        """Put the masters' values (r, width) of some rows in place. Changes that are not sent stay
        added to them.
        """
        _replace_values(self.rows[field], self._base[field], places, values)

    def note_changes(self, touched: StepRows) -> None:
        """Note that a step may have changed its rows."""
        places = touched.places
        self._unsent[places] = np.minimum(self._unsent[places], touched.levels)

    def unsent(self, places: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of rows with changes that are not sent, of all or of some, and their
        levels. They count as sent from now on.
        """
        if places is None:
            places = np.flatnonzero(self._unsent < NEVER_TOUCHED)
        levels = self._unsent[places]
        self._unsent[places] = NEVER_TOUCHED
        return places, levels

    def take_changes(self, field: int, places: np.ndarray) -> np.ndarray:
        """Return the changes (r, width) of some rows that are not sent."""
        return _take_changes(self.rows[field], self._base[field], places)


@cached_njit
def order_by_home(positions, levels, home, workers, lists):  # type: ignore[no-untyped-def]
    """Return the order of rows (r,) by home, and by level in each, and the number of rows of each
    (workers, lists).
    """
    counts = np.zeros((workers, lists), np.int64)
    for i in range(len(positions)):
        counts[home[positions[i]], levels[i]] += 1
    after, total = np.empty((workers, lists), np.int64), 0
    for h in range(workers):
        for level in range(lists):
            after[h, level] = total
            total += counts[h, level]
    order = np.empty(len(positions), np.int64)
    for i in range(len(positions)):
        h, level = home[positions[i]], levels[i]
        order[after[h, level]] = i
        after[h, level] += 1
    return order, counts


@cached_njit
def _replace_values(rows, base, places, values):  # type: ignore[no-untyped-def]
    """Replace the values of some rows. What has changed since stays added."""
    for j in range(len(places)):
        at = places[j]
        for k in range(rows.shape[1]):
            change = rows[at, k] - base[at, k]
            base[at, k] = values[j, k]
            # a value without a change must stay as it is, to the bit
            rows[at, k] = values[j, k] + change if change != 0 else values[j, k]


@cached_njit
def _take_changes(rows, base, places):  # type: ignore[no-untyped-def]
    """Return what has changed of some rows; the base follows."""
    out = np.empty((len(places), rows.shape[1]), rows.dtype)
    for j in range(len(places)):
        at = places[j]
        for k in range(rows.shape[1]):
            out[j, k] = rows[at, k] - base[at, k]
            base[at, k] = rows[at, k]
    return out
