"""Loss of digits of numbers in 32 bits, in which edges and samples hold them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tux.arrays.arrow import CodedColumn, Column
from tux.arrays.disk_columns import row_slices

COARSE_STEPS = 1 << 16
"""Steps of 32 bits between the least and the largest number: with more, what two numbers lose is
little beside what all others differ by.
"""
LOOKED_AT, SHOWN = 100, 3  # columns with large numbers, at most
Key = TypeVar("Key")
FROM = float(1 << 24)  # whole numbers up to here lose nothing


class NumberRange(NamedTuple):
    """The least and the largest number of a column."""

    least: float
    most: float


def lost_values(values: np.ndarray) -> tuple[int, int] | None:
    """Count the different numbers among `values` (m,) float64, and those that remain in 32 bits;
    None if the loss does not matter.
    """
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    if not may_lose_digits(float(known.min()), float(known.max())):
        return None
    many, few = len(np.unique(known)), len(np.unique(known.astype(np.float32)))
    return (many, few) if few < many else None


def may_lose_digits(least: float, most: float) -> bool:
    """Return whether numbers from `least` to `most` are so close together that a loss in 32 bits
    matters.
    """
    top = max(abs(least), abs(most))
    if least == most or top > float(np.finfo(np.float32).max):
        return False
    return most - least <= COARSE_STEPS * _step(top)


def lost_note(name: str, values: np.ndarray) -> str:
    """Return a sentence for the user about a column of numbers in 64 bits that are held in 32; ""
    if the loss does not matter.
    """
    if (lost := lost_values(values)) is None:
        return ""
    many, few = lost
    return (
        f"{name}: {many:,} different numbers are {few:,} in 32 bits; subtract one near to them, "
        f"such as {float(values[np.isfinite(values)].min()):.15g}"
    )


class CloseNumbers:
    """The different numbers of a column that is read piece by piece. They are kept as long as
    they, or those of other pieces with them, may lose digits that matter in 32 bits.
    """

    def __init__(self) -> None:
        self.least, self.most = np.inf, -np.inf
        self.values: np.ndarray | None = np.empty(0)  # ascending; None if they are far apart

    def add(self, numbers: np.ndarray) -> None:
        """Add the numbers of a piece (m,) float64."""
        known = numbers[np.isfinite(numbers)]
        if self.values is None or not len(known):
            return
        self.least = min(self.least, float(known.min()))
        self.most = max(self.most, float(known.max()))
        if self.least == self.most:
            self.values = np.array([self.least])
            return
        # of numbers that are close together, some may have half the step of the largest
        step = 2 * _step(max(abs(self.least), abs(self.most)))
        is_close = self.most - self.least <= COARSE_STEPS * step
        self.values = np.union1d(self.values, known) if is_close else None

    @property
    def extremes(self) -> NumberRange | None:
        """The range of the numbers, None if there is none; of numbers that are far apart, one in
        which they are.
        """
        return NumberRange(self.least, self.most) if self.least <= self.most else None

    def note(self, name: str) -> str:
        """Return the sentence of `lost_note` about a column of this name, "" if there is none."""
        return "" if self.values is None else lost_note(name, self.values)


def coarse_notes(fields: Mapping[str, Column]) -> list[str]:
    """Return sentences for the user about fields of edges that are numbers in 32 bits: one for each
    field whose steps of 32 bits are not small beside the range of its numbers.
    """
    ranges = {
        name: NumberRange(float(values.min()), float(values.max()))
        for name, values in fields.items()
        if not isinstance(values, CodedColumn) and values.dtype == np.float32 and len(values)
    }
    return range_notes(ranges)


def join_ranges(found: Iterable[Mapping[Key, NumberRange]]) -> dict[Key, NumberRange]:
    """Join the ranges of parts of some columns, by name or number, to those of the whole ones."""
    joined: dict[Key, NumberRange] = {}
    for ranges in found:
        for name, own in ranges.items():
            before = joined.get(name, own)
            joined[name] = NumberRange(min(before.least, own.least), max(before.most, own.most))
    return joined


def range_notes(ranges: Mapping[str, NumberRange]) -> list[str]:
    """Return the sentences of `coarse_notes` about fields by the ranges of their numbers."""
    notes = []
    for name, (least, most) in ranges.items():
        top = max(abs(least), abs(most))
        step = _step(top)
        if FROM <= top < np.inf and most - least <= COARSE_STEPS * step:
            what = f"32 bits tell numbers such as {top:.15g} apart by {step:.15g} only"
            notes.append(f"{name}: {what}; subtract one near to them")
    return notes


def coarse_columns(columns: Column, values: np.ndarray) -> list[str]:
    """Return such sentences about entries: `values` (m,) of `columns` (m,), which are numbers or
    names of columns. Only the first columns are named.
    """
    codes, names = columns if isinstance(columns, CodedColumn) else (columns, None)
    ranges = column_ranges(codes, values, large_columns(codes, values))
    return column_notes(
        {code if names is None else names[code]: each for code, each in ranges.items()}
    )


def large_columns(columns: np.ndarray, values: np.ndarray) -> list[int]:
    """Return the first columns, in ascending order, that have large numbers among their `values`:
    of entries (m,).
    """
    found: list[int] = []
    for rows in row_slices(len(values) if values.dtype == np.float32 else 0):
        large = np.abs(values[rows]) >= FROM
        if large.any():
            more = np.unique(columns[rows][large])[:LOOKED_AT].tolist()
            found = sorted({*found, *more})[:LOOKED_AT]
    return found


def column_ranges(
    columns: np.ndarray, values: np.ndarray, wanted: Iterable[int]
) -> dict[int, NumberRange]:
    """Return the range of the values of each wanted column that has entries (m,)."""
    found = dict[int, NumberRange]()
    for column in wanted:
        for rows in row_slices(len(values)):
            own = values[rows][columns[rows] == column]
            if len(own):
                piece = {column: NumberRange(float(own.min()), float(own.max()))}
                found |= join_ranges([found, piece])
    return found


def column_notes(ranges: Mapping[Any, NumberRange]) -> list[str]:
    """Return the sentences of `coarse_columns` about columns by the ranges of their values."""
    notes = range_notes({f"column {name}": each for name, each in ranges.items()})
    more = f" and of {len(notes) - SHOWN:,} more columns" if len(notes) > SHOWN else ""
    return [*notes[: SHOWN - 1], f"{notes[SHOWN - 1]}{more}"] if len(notes) >= SHOWN else notes


def _step(number: float) -> float:
    """Return the difference between neighbouring numbers of 32 bits of this size."""
    return math.ldexp(1.0, math.frexp(number)[1] - 24) if np.isfinite(number) else np.inf
