"""Masters of a cut vertex type: they fold the changes that its mirrors (`tux.sync.mirrors`) send,
and answer with new values.

Only elements are sent that a worker's message or an Apply has changed (`tux.messages.encoding`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager

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
    whole_rows,
)
from tux.program.combining import COMBINES, MEANS
from tux.program.fields import Field
from tux.program.merging import combine_values
from tux.rows.table import RowTable, allocate_zeros, freeze
from tux.sync.fields import DOWN, NO_ROWS, UP, flatten_rows, row_bytes
from tux.sync.row_loops import add, add_deltas, compare_rows, copy_rows, mark_changed, read_rows

NO_EDGES = np.float32(1e-20)
"""The weight of a replica without edges: nothing beside one that has some."""


def _add_weighted(
    total: np.ndarray, rows: np.ndarray, sent: FieldElements, weights: np.ndarray
) -> None:
    """Add the changes of one worker to `total` (r, *shape) of `rows` (r,), each times the weight of
    its row (r,).
    """
    wide = math.prod(total.shape[1:]) // sent.width  # parts of a row that are sent alone
    at = np.searchsorted(rows, sent.rows // wide)
    sent.of(total)[at * wide + sent.rows % wide] += sent.values * weights[at][:, None]


def is_mean(array: np.ndarray, field: Field) -> bool:
    """Return whether masters take means of the changes of a field. A field of width 0 has none."""
    return field.kind == "shared" and field.combine in MEANS and math.prod(array.shape[1:]) > 0


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
        self._versions = {
            name: allocate_zeros(array.shape, np.uint8) for name, array, _ in self._down
        }
        self._rows_down = [
            (name, array.dtype, bits(flatten_rows(array)), flatten_rows(self._versions[name]))
            for name, array, _ in self._down
        ]
        self._marked = set(self._versions)  # fields that may have dirty elements

    def compile_loops(self) -> None:
        """Compile, or load, the loops that training must not wait for: each runs on no rows. A
        worker without others needs none of them.
        """
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
        """Fold (rows, changes of the fields `up`, weights) of each worker, in worker order. Changes
        of shared fields are added up, deltas combined as they are declared.

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
                if field.kind == "shared":
                    versions = sent.of(self._versions[name])
                    self._marked.add(name)
                    add(sent.of(own), versions, self.version, sent.rows, sent.values)
                else:
                    self._combine(name, own, field, sent)
        for name, (rows, change) in means.items():
            self.table.arrays[name][rows] += change

    def _combine(self, name: str, own: np.ndarray, field: Field, sent: FieldElements) -> None:
        """Combine the deltas of one worker with those of a field."""
        if field.combine == "sum":
            add_deltas(sent.of(own), sent.rows, sent.values)
        elif field.combine in COMBINES["delta"]:
            at = sent.of(own)
            at[sent.rows] = combine_values(field, at[sent.rows], sent.values)
        else:  # a function gets all entries of a value, as a key stays with its number
            rows, given = whole_rows(sent, own, field.identity)
            self.table.combine_rows(name, own, rows, given)

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
            _add_weighted(total, rows, sent, each)
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
