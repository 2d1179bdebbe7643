"""Rows of a cut vertex type on both sides: what mirrors send to masters, how masters fold it, what comes back, how mirrors take it.

A mirror shows the master's value plus its own changes that no answer has covered yet. For each `shared` field it keeps

    base     the value as of the last send: what the mirror would show if it had changed nothing since
    pending  the sum of changes that were sent and are not answered

so that what it shows is base + changes since the last send. An answer with the master's value M for changes c sets
pending -= c, then base = M + pending, and shifts what is shown by as much as base moved.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable

import numpy as np

from tux.fields import COMBINE
from tux.partition.compiled import compiled
from tux.tables import Table

Arrays = list[np.ndarray]

UP, DOWN = ("shared", "delta"), ("value", "shared")


def of_kinds(table: Table, kinds: tuple[str, ...]) -> list[str]:
    """Names of the fields of some kinds, in the order in which they were declared."""
    return [name for name, field in table.declared.items() if field.kind in kinds]


def _flat(array: np.ndarray) -> np.ndarray:
    """`array` (n, *shape) as (n, width)."""
    return array.reshape(len(array), math.prod(array.shape[1:]))


@compiled
def _take(shown, base, pending, rows, out):  # type: ignore[no-untyped-def]
    """Changes of `rows` since the last send to `out`; from now on they are pending."""
    for j in range(len(rows)):
        r = rows[j]
        for k in range(shown.shape[1]):
            change = shown[r, k] - base[r, k]
            base[r, k] = shown[r, k]
            pending[r, k] += change
            out[j, k] = change


@compiled
def _put(shown, base, pending, rows, masters):  # type: ignore[no-untyped-def]
    """The masters' values of `rows` come in below what is pending and unsent."""
    for j in range(len(rows)):
        r = rows[j]
        for k in range(shown.shape[1]):
            below = masters[j, k] + pending[r, k]
            unsent = shown[r, k] - base[r, k]
            # Where nothing is unsent the master's value must arrive to the bit.
            shown[r, k] = below + unsent if unsent != 0 else below
            base[r, k] = below


@compiled
def _add(own, rows, changes, sign):  # type: ignore[no-untyped-def]
    """own[rows] += sign * changes."""
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            own[rows[j], k] += changes[j, k] if sign > 0 else -changes[j, k]


def _locked_rows(rows: np.ndarray) -> np.ndarray:
    """Row numbers as read-only int32, for the same reason."""
    view = rows.astype(np.int32, copy=False).view()
    view.flags.writeable = False
    return view


NO_ROWS = np.empty(0, np.int32)


def _locked(array: np.ndarray) -> np.ndarray:
    """`array` (n, *shape) as a read-only (n, width): what came by a socket is read-only, and one kind of array means one compilation."""
    view = _flat(array).view()
    view.flags.writeable = False
    return view


class Mirrors:
    """The worker's replicas of one cut type: packs what goes up, installs what comes down.

    `rows` arguments are local row numbers, int32 (r,), each at most once. Messages to and from one home come and go in order.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.base = {name: table.arrays[name].copy() for name in of_kinds(table, ("shared",))}
        self.pending = {name: np.zeros_like(base) for name, base in self.base.items()}
        self._sent: dict[tuple[int, int], deque[tuple[np.ndarray, Arrays]]] = defaultdict(deque)
        nothing = [table.arrays[name][:0] for name in of_kinds(table, DOWN)]
        self.pack(NO_ROWS, (-1, -1))  # compiles, or loads, what training must not wait for
        self.install(NO_ROWS, (-1, -1), nothing)

    def reset(self) -> None:
        """Take what is shown now as what the masters hold: after initialisation."""
        for name, base in self.base.items():
            base[...] = self.table.arrays[name]
            self.pending[name][...] = 0

    def pack(self, rows: np.ndarray, channel: tuple[int, int]) -> Arrays:
        """Changes of the shared fields since the last send, then deltas, of `rows`; the deltas are cleared.

        `channel` (synchronisation, home) is where the answer will come from.
        """
        up: Arrays = []
        for name in of_kinds(self.table, UP):
            shown, field = self.table.arrays[name], self.table.declared[name]
            if field.kind == "delta":
                up.append(shown[rows])
                shown[rows] = field.identity
                continue
            change = np.empty((len(rows), *shown.shape[1:]), shown.dtype)
            _take(_flat(shown), _flat(self.base[name]), _flat(self.pending[name]), _locked_rows(rows), _flat(change))
            up.append(change)
        changes = [array for name, array in zip(of_kinds(self.table, UP), up, strict=True) if name in self.base]
        self._sent[channel].append((rows, changes))
        return up

    def install(self, rows: np.ndarray, channel: tuple[int, int], down: Arrays) -> None:
        """The masters' `value` and `shared` fields of `rows`, which may be more than those sent to that home; answers the oldest send."""
        sent_rows, changes = self._sent[channel].popleft()
        for name, change in zip(self.base, changes, strict=True):
            _add(_flat(self.pending[name]), _locked_rows(sent_rows), _locked(change), -1)
        for name, now in zip(of_kinds(self.table, DOWN), down, strict=True):
            shown = self.table.arrays[name]
            if name not in self.base:
                shown[rows] = now
            else:
                _put(_flat(shown), _flat(self.base[name]), _flat(self.pending[name]), _locked_rows(rows), _locked(now))

    def settle(self) -> None:
        """With no answer outstanding nothing is pending: drop what rounding has left there."""
        if not any(self._sent.values()):
            for pending in self.pending.values():
                pending[...] = 0


class Masters:
    """The server's rows of one cut type: folds contributions and reads answers. `rows` are master row numbers."""

    def __init__(self, table: Table) -> None:
        self.table = table
        means = [name for name, field in table.declared.items() if field.kind == "shared" and field.combine == "mean"]
        self.needs_weights = bool(means)
        self.fold([(NO_ROWS, [table.arrays[name][:0] for name in of_kinds(table, UP)], np.empty(0, np.float32))])

    def fold(self, contributions: Iterable[tuple[np.ndarray, Arrays, np.ndarray | None]]) -> None:
        """Fold (rows, what `Mirrors.pack` made, weights) of each worker, in worker order.

        Weights (r,) are local edges in the block; "mean" adds sum n_r change_r / sum n_r over the replicas of a row.
        """
        means: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for rows, up, weights in contributions:
            for name, array in zip(of_kinds(self.table, UP), up, strict=True):
                field, own = self.table.declared[name], self.table.arrays[name]
                if field.kind == "shared" and field.combine == "mean":
                    assert weights is not None
                    total, weight = means.setdefault(name, (np.zeros(own.shape, np.float64), np.zeros(len(own))))
                    total[rows] += array * weights.reshape(-1, *[1] * (array.ndim - 1))
                    weight[rows] += weights
                elif field.combine == "sum":
                    _add(_flat(own), _locked_rows(rows), _locked(array), 1)
                else:
                    own[rows] = COMBINE[field.combine](own[rows], array)
        for name, (total, weight) in means.items():
            own, heard = self.table.arrays[name], weight > 0
            own[heard] += total[heard] / weight[heard].reshape(-1, *[1] * (own.ndim - 1))

    def read(self, rows: np.ndarray) -> Arrays:
        """Copies of the `value` and `shared` fields of `rows`."""
        return [self.table.arrays[name][rows] for name in of_kinds(self.table, DOWN)]
