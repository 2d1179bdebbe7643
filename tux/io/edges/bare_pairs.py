"""Edges without numbers. A number beside a pair is not read, and yet it may say that the pair is
not there, as 0 does among the entries of a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tux.arrays import arrow
from tux.arrays.frames import Frame
from tux.base.errors import DataError
from tux.base.text import plural_noun
from tux.io.edges.columns import NEVER, WantedColumns, plain_name
from tux.io.source.text import NUMBER

ENTRIES = {"value", "count"}
"""Names of the column of entries, where a matrix is written as a table."""


class NumbersBeside:
    """The column of a table whose numbers may say which pairs are there: one that is called as
    entries are, or the only one that is not taken. There is none, at the place -1, where the user
    names columns, or edges have numbers.
    """

    def __init__(self, place: int, name: str) -> None:
        self._place, self._name = place, name
        self._nothing = self._one = self._other = False  # whether such numbers are there

    @classmethod
    def of(cls, names: Sequence[str], picks: Sequence[int], wanted: WantedColumns) -> NumbersBeside:
        """Find the column in a table of columns with these names, of which those at `picks` are
        taken.
        """
        left = [
            place
            for place, name in enumerate(names)
            if place not in picks and not NEVER.fullmatch(plain_name(name))
        ]
        called = [place for place in left if plain_name(names[place]) in ENTRIES]
        found = called[:1] or left
        if wanted.bare in ("", "ones") or wanted.columns is not None or len(found) != 1:
            return cls(-1, "")
        return cls(found[0], names[found[0]])

    def add(self, numbers: np.ndarray) -> None:
        """Look at numbers of the column, (m,) float64; NaN stands where one is missing."""
        nothing = np.isnan(numbers) | (numbers == 0)
        self._nothing |= bool(nothing.any())
        self._one |= bool((numbers == 1).any())
        self._other |= bool((~nothing & (numbers != 1)).any())

    def add_cells(self, rows: Sequence[Sequence[str]]) -> None:
        """Look at the column in rows of text, if all its cells are numbers or empty."""
        cells = [row[self._place].strip() for row in rows] if self._place >= 0 else []
        if all(not cell or NUMBER.fullmatch(cell) for cell in cells):
            self.add(np.array([float(cell or "nan") for cell in cells]))

    def add_parquet(self, path: str, types: Mapping[str, str]) -> None:
        """Look at the column in the first rows of a Parquet file whose columns have these types, if
        it holds numbers.
        """
        if self._place < 0 or not arrow.is_number(types[self._name]):
            return
        for table, left_out in arrow.parquet_edges(path, [self._name], [np.dtype("f8")], 0, 1):
            self.add(np.asarray(table.column(0)))
            self._nothing |= len(left_out) > 0

    def watch(self, frame: Frame) -> Frame:
        """Return a table in memory whose column is looked at when other columns are read."""
        if self._place < 0 or not frame.has_numbers(self._place):
            return frame

        def batches(places: Sequence[int]) -> Iterator[list[Any]]:
            for *columns, own in frame.batches([*places, self._place]):
                self.add(own.to_numpy(zero_copy_only=False).astype(np.float64))
                yield columns

        return replace(frame, batches=batches)

    def notes(self, wanted: WantedColumns, where: str) -> tuple[str, ...]:
        """Return a sentence for the user if some rows say that they are no edges; () if none does.
        DataError for it where such edges are there or not.
        """
        called = plain_name(self._name) in ENTRIES
        if not self._nothing or not (called or self._one and not self._other):
            return ()
        name = self._name
        if wanted.bare == "members":
            raise DataError(
                f"rows with 0 or nothing in {name!r} would be edges like all others",
                where=where,
                do="Drop these rows; or the column, if it says something else.",
            )
        return (
            f"rows with 0 or nothing in {name!r} are edges like all others: drop them, or name the "
            "columns of the ends with --columns",
        )


def held_entries(values: np.ndarray, ends: tuple[str, str], what: str) -> np.ndarray:
    """Return which entries (n,) of a matrix say that an edge is there, bool: those that are not 0.
    DataError for others than one positive number, as an edge is there or not; `what` is the name of
    the matrix.
    """
    there: np.ndarray = values != 0
    held = values[there]
    wrong = held[~((held > 0) & (held < np.inf))]
    if len(wrong):
        raise DataError(f"{what} has the entry {wrong[0]:g}", do=members_advice(ends))
    if len(other := held[held != held[:1]]):
        raise DataError(
            f"{what} has the entries {held[0]:g} and {other[0]:g}",
            do=f"{members_advice(ends)} If all entries mean the same, give (matrix != 0).",
        )
    return there


def keep_held(entries: Any, ends: tuple[str, str], what: str) -> Any:
    """Return a matrix in scipy's form of coordinates without its entries that are 0. Raises what
    `held_entries` does.
    """
    there = held_entries(entries.data, ends, what)
    kept = entries.data[there], (entries.row[there], entries.col[there])
    return type(entries)(kept, shape=entries.shape)


def members_advice(ends: tuple[str, str]) -> str:
    """Return the advice about numbers where edges are there or not."""
    return f"{plural_noun(ends[1])} are there or not: cut numbers into ranges."
