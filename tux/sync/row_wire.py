"""Rows of remote types as they travel (`tux.sync.pull`): the arrays of a message, by field.

A field's rows travel as they are, (r, width). Those of a field declared `wire="i1"` travel as two
arrays: codes (r, width) int8, and units (r, 1) float32, the largest magnitude of a row / 127. A
number is its code times the unit of its row.

    values    are rounded to the nearest unit; masters keep them in full
    changes   are rounded down or up by a coin, up with the probability by which the number is
              above the lower unit. So the mean of what travels is the change itself, and nothing
              that rounding loses needs to be kept for later

The coins come from a `stream`, which must follow from what the changes are, not from when they are
sent. A row with NaN, an infinity, or a unit beyond float32 arrives with NaN in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tux.base.compiled import cached_njit
from tux.messages.encoding import Arrays

CODES = 127
"""Codes above 0; as many are below."""


class RowWire:
    """The arrays in which rows of some `fields` (n, width) travel; `coded` says of which codes
    do.
    """

    def __init__(self, fields: Arrays, coded: Sequence[bool]) -> None:
        self.coded = coded
        self.like: Arrays = []  # an array of each kind that a message has
        self._spans: list[slice] = []  # the arrays of each field
        for own, is_coded in zip(fields, coded, strict=True):
            first = len(self.like)
            codes = np.empty((0, math.prod(own.shape[1:])), np.int8)
            self.like += [codes, np.empty((0, 1), np.float32)] if is_coded else [own]
            self._spans.append(slice(first, len(self.like)))

    def counts(self, rows: Sequence[int]) -> list[int]:
        """Return the number of rows of each array, where each field has so many `rows`."""
        out: list[int] = []
        for count, span in zip(rows, self._spans, strict=True):
            out += [count] * (span.stop - span.start)
        return out

    def take_values(self, fields: Arrays, rows: Sequence[np.ndarray]) -> Arrays:
        """Return the arrays of the values of some `rows` of each field."""
        out: Arrays = []
        for own, at, is_coded in zip(fields, rows, self.coded, strict=True):
            out += code_values(own, at) if is_coded else (take_rows(own, at),)
        return out

    def pack_changes(self, changes: Arrays, streams: Sequence[np.uint64]) -> Arrays:
        """Return the arrays of the `changes` of each field, with the stream of its coins."""
        out: Arrays = []
        for each, stream, is_coded in zip(changes, streams, self.coded, strict=True):
            out += code_changes(each, stream) if is_coded else (each,)
        return out

    def add_changes(self, fields: Arrays, rows: Sequence[np.ndarray], arrays: Arrays) -> None:
        """Add the changes that `arrays` hold to some distinct `rows` of each field."""
        for own, at, span, is_coded in zip(fields, rows, self._spans, self.coded, strict=True):
            if is_coded:
                add_codes(own, at, *arrays[span])
            else:
                add_rows(own, at, *arrays[span])

    def write_values(self, field: int, arrays: Arrays, out: np.ndarray) -> None:
        """Write the values of a field that the `arrays` of a message hold to `out` (r, width)."""
        own = arrays[self._spans[field]]
        if self.coded[field]:
            decode_rows(out, *own)
        else:
            out[:] = own[0]


@cached_njit
def take_rows(own, rows):  # type: ignore[no-untyped-def]
    """Return own[rows]."""
    out = np.empty((len(rows), own.shape[1]), own.dtype)
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            out[j, k] = own[rows[j], k]
    return out


@cached_njit
def add_rows(own, rows, changes):  # type: ignore[no-untyped-def]
    """Compute own[rows] += changes. No row comes twice."""
    for j in range(len(rows)):
        for k in range(own.shape[1]):
            own[rows[j], k] += changes[j, k]


@cached_njit
def _unit_of(row):  # type: ignore[no-untyped-def]
    """Return the unit of a row, and how many make 1; NaN and 0 where the row has no unit."""
    most = 0.0
    for x in row:
        if x != x:
            return np.float32(np.nan), 0.0
        most = max(most, abs(float(x)))
    unit = np.float32(most / CODES)
    if np.float32(unit * np.float32(CODES)) == np.inf:
        return np.float32(np.nan), 0.0
    return unit, 1.0 / float(unit) if unit > 0 else 0.0


@cached_njit
def code_values(own, rows):  # type: ignore[no-untyped-def]
    """Return codes and units of some `rows` of values, rounded to the nearest."""
    codes = np.empty((len(rows), own.shape[1]), np.int8)
    units = np.empty((len(rows), 1), np.float32)
    for j in range(len(rows)):
        row = own[rows[j]]
        unit, many = _unit_of(row)
        units[j, 0] = unit
        for k in range(len(row)):
            x = np.floor(float(row[k]) * many + 0.5) if many > 0 else 0.0
            codes[j, k] = np.int8(min(max(x, -CODES), CODES))
    return codes, units


@cached_njit
def code_changes(changes, stream):  # type: ignore[no-untyped-def]
    """Return codes and units of changes (r, width), rounded by coins."""
    codes = np.empty(changes.shape, np.int8)
    units = np.empty((len(changes), 1), np.float32)
    state = stream
    for j in range(len(changes)):
        unit, many = _unit_of(changes[j])
        units[j, 0] = unit
        for k in range(changes.shape[1]):
            # a linear congruential generator, of which the upper bits count (Knuth, 3.3.4)
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            coin = float(state >> np.uint64(40)) * 2.0**-24
            x = np.floor(float(changes[j, k]) * many + coin) if many > 0 else 0.0
            codes[j, k] = np.int8(min(max(x, -CODES), CODES))
    return codes, units


@cached_njit
def decode_rows(out, codes, units):  # type: ignore[no-untyped-def]
    """Write the numbers that codes stand for to `out` (r, width)."""
    for j in range(len(codes)):
        for k in range(codes.shape[1]):
            out[j, k] = codes[j, k] * units[j, 0]


@cached_njit
def add_codes(own, rows, codes, units):  # type: ignore[no-untyped-def]
    """Add the numbers that codes stand for to own[rows]. No row comes twice."""
    for j in range(len(rows)):
        for k in range(codes.shape[1]):
            own[rows[j], k] += codes[j, k] * units[j, 0]
