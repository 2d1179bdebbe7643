"""Mirrors and masters of a cut vertex type: mirrors send changes to masters, masters fold these and
answer with new values, and mirrors install the answer.

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

import math
from collections import defaultdict, deque
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from tux.messages.encoding import (
    NEVER,
    Arrays,
    FieldElements,
    Flagged,
    bits,
    empty_arrays,
    fill_elements,
    pack,
    unpack,
)
from tux.program.combining import COMBINE, MEANS, PAIRED
from tux.program.fields import Field
from tux.rows.table import RowTable, freeze
from tux.sync.row_loops import (
    acknowledge,
    add,
    add_deltas,
    compare_rows,
    copy_rows,
    mark_changed,
    put_master_values,
    put_values,
    read_rows,
    take_changes,
    take_deltas,
)

UP, DOWN = ("shared", "delta"), ("value", "shared")


def of_kinds(table: RowTable, kinds: tuple[str, ...]) -> list[str]:
    """List the names of the fields of some kinds, in the order in which they were declared."""
    return [name for name, field in table.declared.items() if field.kind in kinds]


def row_bytes(table: RowTable, kinds: tuple[str, ...]) -> int:
    """Count the bytes that the fields of some kinds have in one row."""
    return sum(
        a.itemsize * math.prod(a.shape[1:])
        for a in (table.arrays[name] for name in of_kinds(table, kinds))
    )


def is_mean(array: np.ndarray, field: Field) -> bool:
    """Return whether masters take means of the changes of a field. A field of width 0 has none."""
    return field.kind == "shared" and field.combine in MEANS and math.prod(array.shape[1:]) > 0


def flatten_rows(array: np.ndarray) -> np.ndarray:
    """View `array` (n, *shape) as (n, width)."""
    return array.reshape(len(array), math.prod(array.shape[1:]))


NO_EDGES = np.float32(1e-20)
"""The weight of a replica without edges: nothing beside one that has some."""

NO_ROWS = np.empty(0, np.int32)
NO_ROWS.flags.writeable = False


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
    """The worker's replicas of one cut type: they pack changes for the masters, and install the
    masters' answers.

    `rows` arguments are local row numbers, int32 (r,), each at most once. Messages to and from one
    home come and go in order.
    """

    def __init__(self, table: RowTable) -> None:
        self.table = table
        self._up, self._down = table.columns(UP), table.columns(DOWN)
        self.base = {
            name: array.copy() for name, array, field in self._up if field.kind == "shared"
        }
        self.pending = {name: np.zeros_like(base) for name, base in self.base.items()}
        # An element is in one message a clock and synchronisation, so 16 bits are enough for any
        # slack that is allowed.
        self.unacked = {name: np.zeros(base.shape, np.uint16) for name, base in self.base.items()}
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
        """Take changes as `take` does, and make a message of them."""
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


FromWorker = tuple[np.ndarray, list[FieldElements], np.ndarray | None]
"""A worker's contribution: rows, changes of the fields that come up, weights."""


class Masters:
    """The server's rows of one cut type: it folds contributions into them and reads answers from
    them. `rows` are master row numbers.
    """

    def __init__(self, table: RowTable) -> None:
        self.table = table
        self._up, self._down = table.columns(UP), table.columns(DOWN)
        self.needs_weights = any(
            is_mean(array, field) and field.combine == "mean" for _, array, field in self._up
        )
        self.row_bytes = row_bytes(table, DOWN)
        # An element is dirty if its version equals the current one; bumping the version clears all
        # flags in O(1).
        self.version = np.uint8(1)
        self._versions = {name: np.zeros(array.shape, np.uint8) for name, array, _ in self._down}
        self._rows_down = [
            (name, array.dtype, bits(flatten_rows(array)), flatten_rows(self._versions[name]))
            for name, array, _ in self._down
        ]
        self._marked = set(self._versions)  # fields that may have dirty elements
        nothing = unpack(empty_arrays(self.up), self.up, NO_ROWS)
        self.fold([(NO_ROWS, nothing, np.empty(0, np.float32))])
        with self.changing(NO_ROWS):
            self.pack_values(NO_ROWS)
        self.change_and_flag(lambda: None, NO_ROWS)
        self.clear_dirty()

    @property
    def up(self) -> Arrays:
        """The fields whose changes come up."""
        return [array for _, array, _ in self._up]

    def fold(self, contributions: Iterable[FromWorker]) -> None:
        """Fold (rows, changes of the fields `up`, weights) of each worker, in worker order.

        Weights (r,) are local edges in the block; "mean" adds sum n_r change_r / sum n_r over the
        replicas of a row that sent it, "replica_mean" the same with n_r = 1. Of a vertex without
        edges, n_r is the same small number everywhere.
        """
        contributions = list(contributions)
        means = {
            name: self._mean(name, field, number, contributions)
            for number, (name, array, field) in enumerate(self._up)
            if is_mean(array, field)
        }
        for _, up, _ in contributions:
            for (name, own, field), sent in zip(self._up, up, strict=True):
                if sent is NEVER or not sent.width or name in means:
                    continue
                at = sent.of(own)
                if field.kind == "shared":
                    versions = sent.of(self._versions[name])
                    self._marked.add(name)
                    add(at, versions, self.version, sent.rows, sent.values)
                elif field.combine == "sum":
                    add_deltas(at, sent.rows, sent.values)
                elif field.combine in PAIRED:  # of the context's one row
                    own[...] = COMBINE[field.combine](own, fill_elements(sent, own, field.identity))
                else:
                    at[sent.rows] = COMBINE[field.combine](at[sent.rows], sent.values)
        for name, (rows, change) in means.items():
            self.table.arrays[name][rows] += change

    def _mean(
        self, name: str, field: Field, number: int, contributions: Sequence[FromWorker]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Average the changes of a field, `number` among those that come up. Return the rows that
        some workers have sent, and the weighted mean (r, *shape) of their changes. Changed elements
        become dirty.
        """
        own, versions = self.table.arrays[name], self._versions[name]
        self._marked.add(name)
        rows = np.unique(np.concatenate([NO_ROWS, *(sent for sent, _, _ in contributions)]))
        total, weight = np.zeros((len(rows), *own.shape[1:])), np.zeros(len(rows))
        for sent_rows, up, weights in contributions:
            counts = np.ones(len(sent_rows), np.float32)
            if field.combine == "mean":
                assert weights is not None
                counts = np.maximum(weights, NO_EDGES)
            at = np.searchsorted(rows, sent_rows)
            weight[at] += counts
            sent = up[number]
            if sent is NEVER or not sent.width:
                continue
            each = np.zeros(len(rows), np.float32)
            each[at] = counts
            wide = math.prod(own.shape[1:]) // sent.width  # parts of a row that are sent alone
            here = np.searchsorted(rows, sent.rows // wide)
            sent.of(total)[here * wide + sent.rows % wide] += sent.values * each[here][:, None]
            dirty = sent.of(versions)
            dirty[sent.rows] = np.where(sent.values != 0, self.version, dirty[sent.rows])
        return rows, total / weight.reshape(-1, *[1] * (own.ndim - 1))

    @contextmanager
    def changing(self, rows: np.ndarray, writes: Container[str] | None = None) -> Iterator[None]:
        """Mark as dirty each element of the `value` and `shared` fields of `rows` that the body
        changes. If `writes` is given, it changes no other fields than these.
        """
        rows = freeze(rows.astype(np.int32, copy=False))
        before = self._copy_before(rows, writes)
        yield
        for name, _, own, versions in self._rows_down:
            if name in before and mark_changed(versions, self.version, rows, own, before[name]):
                self._marked.add(name)

    def change_and_flag(
        self, body: Callable[[], None], rows: np.ndarray, writes: Container[str] | None = None
    ) -> list[Flagged]:
        """Do ``with changing(rows, writes): body()``, and return the result of
        ``values_and_flags(rows)`` afterwards. This reads the rows once less.
        """
        rows = freeze(rows.astype(np.int32, copy=False))
        before = self._copy_before(rows, writes)
        body()
        after = self.values_and_flags(rows)
        for number, (name, dtype, own, _) in enumerate(self._rows_down):
            if name not in before:
                continue
            now, changed = before[name], np.empty(before[name].shape, np.uint8)
            if compare_rows(own, rows, now, changed):
                dirty = after[number][1]
                after[number] = now.view(dtype), changed if dirty is None else changed | dirty
        return after

    def _copy_before(
        self, rows: np.ndarray, writes: Container[str] | None
    ) -> dict[str, np.ndarray]:
        """Copy the bits of `rows`, of each field that is written."""
        before = {}
        for name, _, own, _ in self._rows_down:
            if writes is None or name in writes:
                before[name] = np.empty((len(rows), own.shape[1]), own.dtype)
                copy_rows(own, rows, before[name])
        return before

    def values_and_flags(self, rows: np.ndarray) -> list[Flagged]:
        """Copy the `value` and `shared` fields of `rows`, with flags of their dirty elements. A
        field without any has no values.
        """
        fields: list[Flagged] = []
        rows = freeze(rows.astype(np.int32, copy=False))
        for name, dtype, own, versions in self._rows_down:
            shape = len(rows) if name in self._marked else 0, own.shape[1]
            out, dirty, changes = np.empty(shape, dtype), np.empty(shape, np.uint8), 0
            if name in self._marked:
                changes = read_rows(own, versions, self.version, rows, bits(out), dirty)
            fields.append((out, dirty if changes else None))
        return fields

    def pack_values(self, rows: np.ndarray) -> Arrays:
        """Make a message of the result of `values_and_flags`."""
        return pack(self.values_and_flags(rows))

    def clear_dirty(self) -> None:
        """Mark every element as clean. Call this when all answers are made."""
        self._marked.clear()
        if self.version == 255:
            for versions in self._versions.values():
                versions[...] = 0
        self.version = np.uint8(self.version % 255 + 1)
