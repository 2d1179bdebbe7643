"""Columns of bags that occur rarely, such as words with a few occurrences in all documents, or
features of a few samples: the rule by which they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from tux.arrays.disk_columns import kept_rows, row_slices
from tux.arrays.edges import EdgeData
from tux.arrays.ids import Ids
from tux.arrays.integers import LAST
from tux.arrays.lookup import look_up
from tux.base.errors import DataError
from tux.base.text import plural, plural_noun


class RareRule(msgspec.Struct):
    """The rule that columns which occur fewer than `least` times are left out. An entry counts as
    often as its `field` says, a whole number; without one, once. `row` and `column`: the nouns.
    """

    least: int
    field: str
    row: str
    column: str

    def amounts(
        self, codes: np.ndarray, columns: int, fields: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """Return how often each column occurs (columns,) int64, in entries (m,) of the columns with
        the numbers `codes`; `fields` of the entries.
        """
        totals = np.zeros(columns, np.int64)
        for rows in row_slices(len(codes)):
            if self.field:
                np.add.at(totals, codes[rows], np.asarray(fields[self.field][rows]))
            else:
                totals += np.bincount(codes[rows], minlength=columns)
        return totals

    def notes(self, found: RareFound) -> tuple[str, ...]:
        """Return a sentence about what was left out; none if nothing was."""
        if not found.columns:
            return ()
        which, counted = f"that fewer than {self.least:,} {plural_noun(self.row)} have", "entry"
        if self.field:
            verb = "occurs" if found.columns == 1 else "occur"
            which, counted = f"that {verb} fewer than {self.least:,} times", "occurrence"
        verb = "is" if found.columns == 1 else "are"
        left = f"{plural(found.columns, self.column)} {which} {verb} left out"
        return (f"{left}, {plural(found.amount, counted)} in all",)

    def nothing_left(self, path: str) -> DataError:
        """Return the error about data in which all columns are rare."""
        which = f"occurs {plural(self.least, 'time')}"
        if not self.field:
            which = f"is in {plural(self.least, self.row)}"
        return DataError(
            f"no {self.column} of {path} {which} or more",
            do="Give a smaller number as --min-count.",
        )


class RareFound(NamedTuple):
    """The number of columns that are left out, and how often all of them occur; and the number of
    columns that are `kept`.
    """

    columns: int
    amount: int
    kept: int

    @classmethod
    def of(cls, amounts: np.ndarray, kept: np.ndarray) -> RareFound:
        """Count columns that occur so often (n,), of which some are `kept` (n,)."""
        rare = ~kept
        return cls(int(rare.sum()), int(amounts[rare].sum()), int(kept.sum()))


def leave_out_rare(edges: EdgeData, rule: RareRule | None, name: str) -> EdgeData:
    """Return edges without those of rare columns, if a rule says so. Raises `DataError` if all
    columns of the input, called `name`, are rare.
    """
    if rule is None:
        return edges
    kind = edges.ends[1]
    ids = edges.ids[kind].values
    amounts = rule.amounts(edges.dst, len(ids), edges.fields)
    kept = amounts >= rule.least
    found = RareFound.of(amounts, kept)
    if not found.columns:
        return edges
    if not found.kept:
        raise rule.nothing_left(name)
    there = look_up(kept, edges.dst)
    places = np.cumsum(kept, dtype=np.int32) - np.int32(1)
    known = {name: values[kept] for name, values in edges.vertex_fields.get(kind, {}).items()}
    return replace(
        edges,
        ids={**edges.ids, kind: Ids(_narrow_ids(ids[kept]))},
        src=kept_rows(edges.src, there),
        dst=look_up(places, kept_rows(edges.dst, there)),
        fields={name: kept_rows(values, there) for name, values in edges.fields.items()},
        vertex_fields={**edges.vertex_fields, **({kind: known} if known else {})},
        rows=len(edges) if edges.rows is None else edges.rows,
        notes=(*edges.notes, *rule.notes(found)),
    )


def _narrow_ids(values: np.ndarray) -> np.ndarray:
    """Return ids as int64 if they were uint64 for others' sake."""
    large = values.dtype.kind == "u" and int(values.max()) > LAST
    return values.astype(np.int64) if values.dtype.kind == "u" and not large else values
