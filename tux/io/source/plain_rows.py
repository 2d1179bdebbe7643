"""Rows of text in their plainest form, ids that are whole numbers and numbers in decimals, parsed
by a compiled loop on all threads.

Most large files of edges look like this, and reading them is a third of a run: with Arrow's parser
20 M ratings take 3.4 s from the file to arrays on two cores, with this one 1.3 s. Whatever else a
row may hold (ids that are words, quotes, blanks, comments, faults) is for Arrow: a block with any
such row is refused here as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tux.arrays.integers import narrow
from tux.base.compiled import cached_njit
from tux.base.parallel import slices, spread
from tux.io.source.cells import TextLayout
from tux.io.source.decimals import number_at

BYTES_PER_THREAD = 1 << 19
"""Bytes of text that are worth a thread; less than two pieces of that size are left to Arrow, so
that small files do without compiled code.
"""

SKIPPED, WHOLE, REAL, SINGLE = range(4)  # kinds of columns; SINGLE is real, of 32 bits
TINY = 1e-30  # nearer to 0, numbers of 32 bits have fewer digits
DOUBLE_DIGITS = 15  # digits of a whole number that is surely a double
TENS = 10.0 ** np.arange(DOUBLE_DIGITS + 1)


@cached_njit
def lines_in(text):  # type: ignore[no-untyped-def]
    """Count the lines that end in `text` (bytes,)."""
    lines = 0
    for byte in text:
        lines += byte == 10
    return lines


@cached_njit
def _may_round_twice(value):  # type: ignore[no-untyped-def]
    """Return whether a double, which is rounded itself, may be rounded to another float32 than its
    decimal number: it lies in the middle between two.
    """
    rest = value - np.float64(np.float32(value))
    return (rest != 0 and np.float64(np.float32(value + rest)) == value + rest) or (
        0 < abs(value) < TINY
    )


@cached_njit
def _real_at(text, i, single):  # type: ignore[no-untyped-def]
    """Parse the number at text[i]. Returns it and its end, -1 if it is none, or not surely the
    nearest double or (`single`) float32.
    """
    value, i, whole, exact = number_at(text, i)
    whole = whole and abs(value) < 2.0**53
    if not exact or (single and not whole and _may_round_twice(value)):
        return value, -1
    return value, i


@cached_njit
def _column_end(text, i, separator, quotes):  # type: ignore[no-untyped-def]
    """Return the end of the column at text[i], -1 if there is a quote in it that may hide a
    separator.
    """
    while text[i] != separator and text[i] != 10 and text[i] != 13:
        if quotes and text[i] == 34:
            return -1
        i += 1
    return i


@cached_njit
def _parse(text, separator, quotes, kinds, places, wholes, reals):  # type: ignore[no-untyped-def]
    """Parse whole lines of len(kinds) columns: column c, of kind kinds[c], goes to row places[c] of
    `wholes` (., lines) int64 or `reals` (., lines) float64. Returns True if all rows are plain.

    Digits are read in this one function: a call for each number takes longer than the number.
    """
    i, line, last = 0, 0, len(kinds) - 1
    while i < len(text):
        for column in range(len(kinds)):
            kind, begin, number = kinds[column], i, np.int64(0)
            negative = text[i] == 45
            first = i + negative
            if kind == SKIPPED:
                i = _column_end(text, i, separator, quotes)
            else:
                i = first
                while 48 <= text[i] <= 57:
                    number = number * 10 + (text[i] - 48)
                    i += 1
            digits = i - first
            if kind == WHOLE:
                if digits == 0 or digits > 18 or (text[first] == 48 and digits + negative > 1):
                    return False
                wholes[places[column], line] = -number if negative else number
            elif kind != SKIPPED:
                if text[i] == 46:
                    i += 1
                    while 48 <= text[i] <= 57:
                        number = number * 10 + (text[i] - 48)
                        i += 1
                    fraction = i - first - digits - 1
                    digits += fraction
                    # a quotient of two numbers that are doubles is the nearest one
                    value = number / TENS[min(fraction, DOUBLE_DIGITS)]
                else:
                    fraction, value = 0, np.float64(number)
                value = -value if negative else value
                if digits == 0 or digits > DOUBLE_DIGITS or text[i] == 101 or text[i] == 69:
                    value, i = _real_at(text, begin, kind == SINGLE)
                elif fraction and kind == SINGLE and _may_round_twice(value):
                    return False
                reals[places[column], line] = value
            if i < 0:
                return False
            if column == last and text[i] == 13:
                i += 1
            if text[i] != (10 if column == last else separator):
                return False
            i += 1
        line += 1
    return True


def count_lines(text: bytes) -> int:
    """Count the lines that end in a text."""
    if len(text) < 2 * BYTES_PER_THREAD:
        return text.count(b"\n")
    return int(lines_in(np.frombuffer(text, np.uint8)))


def plain_rows(
    text: bytes, layout: TextLayout, kinds: Sequence[np.dtype | None]
) -> list[list[np.ndarray]] | None:
    """Parse the picked columns of lines of text that `layout.cut` has made, in pieces; None if
    there are few lines, or one is not plain.

    `kinds` are as in `tux.arrays.arrow.Pieces`: a column of ids is int32, or int64 if it has to be.
    """
    known = (
        kind is None or kind.kind in "iu" or kind in (np.float32, np.float64) for kind in kinds
    )
    # the compiled loop knows by the last newline where to stop
    if len(text) < 2 * BYTES_PER_THREAD or not text.endswith(b"\n") or not all(known):
        return None
    ends = [text.find(b"\n", piece.stop - 1) + 1 for piece in slices(len(text), BYTES_PER_THREAD)]
    whole = np.frombuffer(text, np.uint8)
    pieces = [whole[a:b] for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    columns = spread(lambda piece: _columns(piece, layout, kinds), pieces)
    return None if any(each is None for each in columns) else columns  # type: ignore[return-value]


def _columns(
    text: np.ndarray, layout: TextLayout, kinds: Sequence[np.dtype | None]
) -> list[np.ndarray] | None:
    """Parse the picked columns of one piece of text."""
    lines = lines_in(text)
    of, places = np.zeros(layout.width, np.int8), np.zeros(layout.width, np.int64)
    room: tuple[list[int], list[int]] = ([], [])
    for pick, kind in zip(layout.picks, kinds, strict=True):
        real = kind is not None and kind.kind == "f"
        of[pick] = (SINGLE if kind == np.float32 else REAL) if real else WHOLE
        places[pick] = len(room[real])
        room[real].append(pick)
    wholes, reals = np.empty((len(room[0]), lines), np.int64), np.empty((len(room[1]), lines))
    if not _parse(text, ord(layout.mark), layout.quotes, of, places, wholes, reals):
        return None
    found = []
    for pick, kind in zip(layout.picks, kinds, strict=True):
        if kind is None:
            found.append(narrow(wholes[places[pick]]))
            continue
        values = (reals if kind.kind == "f" else wholes)[places[pick]]
        if kind.kind != "f" and not _fits(values, kind):
            return None
        found.append(values.astype(kind))
    return found


def _fits(values: np.ndarray, kind: np.dtype) -> bool:
    """Return whether integers of a type can hold all `values`."""
    limits = np.iinfo(kind)
    return int(values.min(initial=0)) >= limits.min and int(values.max(initial=0)) <= limits.max
