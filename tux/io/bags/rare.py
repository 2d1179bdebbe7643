"""Columns of bags that occur rarely, such as words with a few occurrences in all documents, or
features of a few samples: the rule by which they are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import numpy as np

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
        if not self.field:
            return np.bincount(codes, minlength=columns).astype(np.int64)
        totals = np.zeros(columns, np.int64)
        np.add.at(totals, codes, np.asarray(fields[self.field]))
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
