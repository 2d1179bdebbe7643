"""Mirrors of a cut vertex type: they send changes to its masters (`tux.sync.masters`), and install
the answer.

A mirror shows the master's value plus its own changes that no answer has covered yet. For each
`shared` field it has

    base     the value as of the last send: what the mirror would show if it had changed nothing
             since
    pending  the sum of changes that were sent and are not answered
    unacked  of how many sends that is

so that what it shows is base + changes since the last send. An answer with the master's value M for
changes c sets pending -= c, then base = M + pending, and shifts what is shown by as much as base
moved.

Only dirty elements are sent (`tux.messages.encoding`): up, those that the mirror has changed; down,
those that any worker's message or Apply has changed. A mirror that gets no value of an element has
sent none of it either, so it already shows what it should.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import NamedTuple

import numpy as np

from tux.messages.encoding import (
    NEVER,
    Arrays,
    FieldElements,
    Flagged,
    bits,
    empty_arrays,
    pack,
    unpack,
)
from tux.program.fields import Field
from tux.rows.table import RowTable, allocate_zeros, freeze
from tux.sync.fields import DOWN, NO_ROWS, UP, flatten_rows, row_bytes
from tux.sync.row_loops import acknowledge, put_master_values, put_values, take_changes, take_deltas


class MirrorState(NamedTuple):
    """The arrays (n, width) that a mirror has of a shared field beside the values that it shows."""

    base: np.ndarray
    pending: np.ndarray
    unacked: np.ndarray


class FlatField(NamedTuple):
    """The arrays (n, width) of a field that travels: the values shown; the identity of a delta; the
    arrays that only a shared field has.
    """

    shown: np.ndarray
    identity: np.generic
    mirrored: MirrorState | None


class Mirrors:
    """The worker's replicas of one cut type: they take changes for the masters, and install the
    masters' answers.

    `rows` arguments are local row numbers, int32 (r,), each at most once. Messages to and from one
    home come and go in order.
    """

    def __init__(self, table: RowTable) -> None:
        """Allocate what belongs to each row; `reset` follows when the rows have values."""
        self.table = table
        self._up, self._down = table.columns(UP), table.columns(DOWN)
        self.base = {
            name: np.empty_like(array) for name, array, field in self._up if field.kind == "shared"
        }
        self.pending = {
            name: allocate_zeros(base.shape, base.dtype) for name, base in self.base.items()
        }
        # An element is in one message a clock and synchronisation, so 16 bits are enough for any
        # slack that is allowed.
        self.unacked = {
            name: allocate_zeros(base.shape, np.uint16) for name, base in self.base.items()
        }
        self._flat_up = [self._flat_field(name, array, field) for name, array, field in self._up]
        self._flat_down = [
            self._flat_field(name, array, field) for name, array, field in self._down
        ]
        self._sent: dict[tuple[int, int], deque[list[FieldElements]]] = defaultdict(deque)
        self.row_bytes = row_bytes(table, UP)
        # this and the next lines compile, or load, kernels that training must not wait for
        self.pack(NO_ROWS, (-1, -1))
        self.install((-1, -1), unpack(empty_arrays(self.down), self.down, NO_ROWS))
        for _, _, mirrored in self._flat_up:
            if mirrored is not None:
                none = freeze(np.empty_like(mirrored.base[:0]))
                acknowledge(mirrored.pending, mirrored.unacked, NO_ROWS, none)

    @property
    def down(self) -> Arrays:
        """The fields whose values come down."""
        return [array for _, array, _ in self._down]

    def reset(self) -> None:
        """Start again after initialisation, when the masters hold the same values as these rows."""
        for name, array, _ in self._up:
            if name in self.base:
                self.base[name][...] = array
                self.pending[name][...] = 0
                self.unacked[name][...] = 0

    def take(
        self, rows: np.ndarray, channel: tuple[int, int], *, deltas: bool = True
    ) -> list[Flagged]:
        """Return the changes of the shared fields of `rows` since the last send, then their deltas,
        and clear the deltas.

        `channel` (synchronisation, home) is where the answer will come from. Without `deltas` these
        stay, and none of them is sent.
        """
        fields: list[Flagged] = []
        sent, rows = [], freeze(rows.astype(np.int32, copy=False))
        for shown, identity, mirrored in self._flat_up:
            shape = len(rows), shown.shape[1]
            values, dirty, changes = np.empty(shape, shown.dtype), np.empty(shape, np.uint8), 0
            if mirrored is not None:
                changes = take_changes(shown, *mirrored, rows, values, dirty)
                sent.append(
                    FieldElements(rows, freeze(values), shown.shape[1]) if changes else NEVER
                )
            elif deltas:
                changes = take_deltas(shown, identity, rows, values, dirty)
            fields.append((values, dirty if changes else None))
        self._sent[channel].append(sent)
        return fields

    def pack(self, rows: np.ndarray, channel: tuple[int, int], *, deltas: bool = True) -> Arrays:
        """Take changes as `take` does, and make a message of them, as a GlobalSync sends it."""
        return pack(self.take(rows, channel, deltas=deltas))

    def _flat_field(self, name: str, array: np.ndarray, field: Field) -> FlatField:
        """Collect the arrays of a field that travels; this is done once."""
        shown = flatten_rows(array)
        if name not in self.base:
            return FlatField(shown, shown.dtype.type(field.identity), None)
        own = self.base[name], self.pending[name], self.unacked[name]
        return FlatField(shown, shown.dtype.type(0), MirrorState(*map(flatten_rows, own)))

    def set_aside(self, rows: np.ndarray | slice) -> dict[str, np.ndarray]:
        """Return the changes of the shared fields of `rows` since the last send. They count as
        pending until `bring_back`.
        """
        aside = {}
        for name, shown, _ in self._up:
            if name in self.base:
                aside[name] = change = shown[rows] - self.base[name][rows]
                self.base[name][rows] = shown[rows]
                self.pending[name][rows] += change
                self.unacked[name][rows] += change != 0
        return aside

    def bring_back(self, rows: np.ndarray | slice, aside: dict[str, np.ndarray]) -> None:
        """Count these changes of `rows` as not sent again."""
        for name, change in aside.items():
            pending, unacked = self.pending[name], self.unacked[name]
            self.base[name][rows] -= change
            unacked[rows] -= change != 0
            pending[rows] = np.where(unacked[rows] > 0, pending[rows] - change, 0)

    def install(self, channel: tuple[int, int], down: list[FieldElements]) -> None:
        """Put the masters' values of the fields `down` into their rows. They answer the oldest send
        to that home, and their rows may be more than those sent.
        """
        shared = [mirrored for _, _, mirrored in self._flat_up if mirrored is not None]
        for mirrored, sent in zip(shared, self._sent[channel].popleft(), strict=True):
            if sent is not NEVER:
                acknowledge(mirrored.pending, mirrored.unacked, sent.rows, sent.values)
        for (shown, _, own), now in zip(self._flat_down, down, strict=True):
            if now is NEVER:
                continue
            if own is not None:
                base, pending = now.of(own.base), now.of(own.pending)
                put_master_values(now.of(shown), base, pending, now.rows, now.values)
            else:
                put_values(bits(now.of(shown)), now.rows, bits(now.values))
