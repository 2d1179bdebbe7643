"""Keeps the deltas and changes that one clock has gathered and not sent separate from those of
other unfinished clocks.

Between two segments of a clock, first segments of later clocks may run (slack >= 1). All of them
add to the same delta fields and change the same shared fields. So when a worker switches from a
clock to another one, it sets aside what a later segment of the first clock will send, and brings it
back when it returns. Changes of shared fields stay visible meanwhile, as a worker sees its own
changes at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from tux.clock.block import Block
from tux.clock.steps import Rows, Step
from tux.rows.table import RowTable
from tux.sync.mirrors import Mirrors


class UnsentRows(NamedTuple):
    """Rows of a table that a later stage will send, or use where the table has one copy and no
    `mirrors`.
    """

    table: RowTable
    rows: Rows
    mirrors: Mirrors | None = None


class StoredChanges(NamedTuple):
    """Deltas and changes that were set aside of some rows: arrays (r, *shape) by field."""

    of: UnsentRows
    deltas: dict[str, np.ndarray]
    changes: dict[str, np.ndarray]


def set_aside(unsent: UnsentRows) -> StoredChanges:
    """Copy the deltas of some rows and reset these to the identities. Changes of shared fields are
    copied too, and count as sent.
    """
    table, rows, mirrors = unsent
    deltas = {
        name: table.arrays[name][rows].copy()
        for name, f in table.declared.items()
        if f.kind == "delta"
    }
    table.clear_deltas(rows)
    return StoredChanges(unsent, deltas, mirrors.set_aside(rows) if mirrors else {})


def bring_back(aside: StoredChanges) -> None:
    """Combine deltas that were set aside with those now in their rows. Changes of shared fields
    will be sent later.
    """
    table, rows, mirrors = aside.of
    for name, gathered in aside.deltas.items():
        table.combine_rows(name, table.arrays[name], rows, gathered)
    if mirrors:
        mirrors.bring_back(rows, aside.changes)


class UnsentByClock:
    """An object that keeps in the rows only the unsent deltas and changes of the running clock."""

    def __init__(self) -> None:
        self._running: int | None = None
        self._aside: dict[int, list[StoredChanges]] = {}

    def switch_to(self, clock: int, unsent: Iterable[UnsentRows]) -> None:
        """Bring back the deltas and changes of `clock`, of which a segment is about to run.
        `unsent`: rows that later segments of the clock that ran before will send; these are set
        aside.
        """
        if clock == self._running:
            return
        if self._running is not None and (aside := [set_aside(each) for each in unsent]):
            self._aside[self._running] = aside
        for each in self._aside.pop(clock, ()):
            bring_back(each)
        self._running = clock


class TotalsByClock:
    """The totals that Apply functions on a server have added to its context, by clock, until a
    GlobalSync takes them.

    Applies of later clocks may run on a server before the GlobalSync of an earlier clock, which
    must not see their totals.
    """

    def __init__(self, tau: RowTable) -> None:
        self._tau = tau
        self._fields = [(name, f) for name, f in tau.declared.items() if f.kind == "delta"]
        self._by_clock: dict[int, list[StoredChanges]] = {}

    def store(self, clock: int) -> None:
        """Take from the context all that was added since the last call, and store it under
        `clock`.
        """
        if any((self._tau.arrays[name] != field.identity).any() for name, field in self._fields):
            self._by_clock.setdefault(clock, []).append(
                set_aside(UnsentRows(self._tau, slice(None)))
            )

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all that is stored, as CLOCK/NUMBER/FIELD: arrays (1, *shape)."""
        return {
            f"{clock}/{number}/{field}": array
            for clock, stored in self._by_clock.items()
            for number, aside in enumerate(stored)
            for field, array in aside.deltas.items()
        }

    def put_back(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Replace all that is stored by `arrays`, which the method `arrays` of another has
        returned.
        """
        self._by_clock.clear()
        for name, array in arrays.items():
            clock, number, field = name.split("/")
            stored = self._by_clock.setdefault(int(clock), [])
            if int(number) == len(stored):
                stored.append(StoredChanges(UnsentRows(self._tau, slice(None)), {}, {}))
            stored[int(number)].deltas[field] = array

    def restore(self, clock: int) -> None:
        """Combine all that is stored under the clocks up to `clock` with the context again."""
        for number in sorted(number for number in self._by_clock if number <= clock):
            for each in self._by_clock.pop(number):
                bring_back(each)


def list_unsent_rows(
    steps: Iterable[Step],
    block: Block | None,
    tables: dict[str, RowTable],
    mirrors: dict[str, Mirrors],
) -> list[UnsentRows]:
    """List the rows that `steps` will send or use, each table once."""
    by_table: dict[str, UnsentRows] = {}
    for step in steps:
        if (rows := step.unsent_rows(block)) is not None:
            by_table.setdefault(rows[0], UnsentRows(tables[rows[0]], rows[1], mirrors.get(rows[0])))
    return list(by_table.values())
