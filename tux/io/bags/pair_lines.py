"""A block of lines of ``column:number`` pairs as arrays, by a compiled loop that marks bad lines.

The faults of bad lines are found by `tux.io.bags.pair_faults`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.io.bags.entries import WHOLE
from tux.io.source.decimals import number_at

NOTHING, LABEL, COUNT, WEIGHTED = range(4)  # the beginning of a line; WEIGHTED: label:weight
PASSED, ROW, BAD = range(3)  # the state of a line: passed over, a row, or a bad one

MAX_QUERY = 2**64 - 2  # the largest number of a query
_TENTH, _LAST = np.uint64(MAX_QUERY // 10), np.uint64(MAX_QUERY % 10)


class Rules(NamedTuple):
    """The form that lines must have."""

    head: int  # NOTHING, LABEL, COUNT or WEIGHTED
    first: np.uint64  # the lowest and the highest number of a column
    last: np.uint64
    comments: bool  # # begins a comment, and qid:number may stand before the pairs
    whole: bool  # an entry's number is whole
    least: float  # and lies between these
    most: float
    heaviest: float = float(np.finfo(np.float32).max)  # weight of a row


class PairArrays(NamedTuple):
    """Arrays for the content of a block of lines. `label_at` and `late` hold the places of texts
    that the compiled code leaves to Python.
    """

    column: np.ndarray  # (m,) uint64
    value: np.ndarray  # (m,) float64
    state: np.ndarray  # (lines,) int8: PASSED, ROW or BAD
    bounds: np.ndarray  # (lines + 1,) int64
    label: np.ndarray  # (lines,) float64, NaN if it is left to Python
    label_at: np.ndarray  # (lines, 2) int64: begin and end
    weight: np.ndarray  # (lines,) float64
    query: np.ndarray  # (lines,) int64, -1 if there is none
    late: np.ndarray  # (m, 3) int64: entry, begin and end


@cached_njit
def _is_blank(byte):  # type: ignore[no-untyped-def]
    """Return whether a byte separates words of a line."""
    return byte == 32 or byte == 9 or byte == 13


@cached_njit
def _after_blanks(text, i):  # type: ignore[no-untyped-def]
    """Return the place of the first byte from text[i] on that is no blank."""
    while _is_blank(text[i]):
        i += 1
    return i


@cached_njit
def _pair(text, i, rules):  # type: ignore[no-untyped-def]
    """Parse the pair at text[i]. Returns its column, its number, the begin and the end of the
    number, True if the number is exact, and True if the pair may stand here.
    """
    begin, column, ten = i, np.uint64(0), np.uint64(10)
    while 48 <= text[i] <= 57:
        digit = np.uint64(text[i] - 48)
        if digit > rules.last or column > (rules.last - digit) // ten:
            return column, 0.0, i, i, False, False
        column = column * ten + digit
        i += 1
    if i == begin or text[i] != 58 or column < rules.first:
        return column, 0.0, i, i, False, False
    begin = i + 1
    value, i, whole, exact = number_at(text, begin)
    ended = _is_blank(text[i]) or text[i] == 10 or (rules.comments and text[i] == 35)
    if (
        not ended
        or not rules.least <= value <= rules.most
        or (rules.whole and not (whole and value <= WHOLE and -value <= WHOLE))
    ):
        return column, 0.0, begin, i, False, False
    return column, value, begin, i, exact, True


@cached_njit
def _count(text, i):  # type: ignore[no-untyped-def]
    """Parse the number of pairs that a line states at text[i]. Returns it and its end, -1 if there
    is none.
    """
    begin, stated = i, np.int64(0)
    while 48 <= text[i] <= 57 and i - begin < 18:
        stated = stated * 10 + (text[i] - 48)
        i += 1
    good = i > begin and (_is_blank(text[i]) or text[i] == 10)
    return stated, i if good else -1


@cached_njit
def _label(text, i, rules, parsed, line):  # type: ignore[no-untyped-def]
    """Store the label at text[i], and its weight. Returns the end of both, -1 if one is missing."""
    begin = i
    while 32 < text[i] < 127 and text[i] != 35 and text[i] != 58:
        i += 1
    colon = text[i] == 58
    if colon != (rules.head == WEIGHTED) or i == begin:
        return -1
    after = i
    if colon:
        weight, after, _, _ = number_at(text, i + 1)
        if not 0.0 <= weight <= rules.heaviest or text[after] > 32 and text[after] != 35:
            return -1
        parsed.weight[line] = weight
    elif text[i] > 32 and text[i] != 35:
        return -1
    value, end, _, exact = number_at(text, begin)
    parsed.label[line] = value if end == i and exact else np.nan
    parsed.label_at[line, 0] = begin
    parsed.label_at[line, 1] = i
    return after


@cached_njit
def _query(text, i):  # type: ignore[no-untyped-def]
    """Parse ``qid:number`` at text[i]. Returns the place after it and the number, whose 64 bits are
    those of an int64; i and -1 if there is none.
    """
    if not (text[i] == 113 and text[i + 1] == 105 and text[i + 2] == 100 and text[i + 3] == 58):
        return i, np.int64(-1)
    end, number = i + 4, np.uint64(0)
    while 48 <= text[end] <= 57:
        digit = np.uint64(text[end] - 48)
        if number > _TENTH or number == _TENTH and digit > _LAST:
            return i, np.int64(-1)
        number = number * np.uint64(10) + digit
        end += 1
    good = end > i + 4 and (_is_blank(text[end]) or text[end] == 10)
    return (end, np.int64(number)) if good else (i, np.int64(-1))


@cached_njit
def _pairs(text, i, rules, parsed, count, late):  # type: ignore[no-untyped-def]
    """Store the pairs from text[i] to the end of the line, as entries from `count` on.

    Returns the place of its end, the counts of entries and of numbers left to Python, and True if
    all pairs are good.
    """
    while True:
        i = _after_blanks(text, i)
        if text[i] == 10 or (rules.comments and text[i] == 35):
            return i, count, late, True
        column, value, begin, i, exact, good = _pair(text, i, rules)
        if not good:
            return i, count, late, False
        parsed.column[count] = column
        parsed.value[count] = value
        if not exact:
            parsed.late[late, 0] = count
            parsed.late[late, 1] = begin
            parsed.late[late, 2] = i
            late += 1
        count += 1


@cached_njit
def _row(text, i, rules, parsed, line, count, late):  # type: ignore[no-untyped-def]
    """Parse the line at text[i], its head and its pairs; returns as `_pairs`."""
    before, stated = count, np.int64(0)
    end = i
    if rules.head == COUNT:
        stated, end = _count(text, i)
    elif rules.head != NOTHING:
        end = _label(text, i, rules, parsed, line)
    if end < 0:
        return i, count, late, False
    if rules.comments:
        end, parsed.query[line] = _query(text, _after_blanks(text, end))
    i, count, late, good = _pairs(text, end, rules, parsed, count, late)
    return i, count, late, good and (rules.head != COUNT or count - before == stated)


@cached_njit
def _parse(text, rules, parsed):  # type: ignore[no-untyped-def]
    """Parse whole lines. Returns the counts of entries and of numbers left to Python; a bad line
    has neither.
    """
    i, line, count, late = 0, 0, 0, 0
    while i < len(text):
        i = _after_blanks(text, i)
        if (rules.comments and text[i] == 35) or (
            text[i] == 10 and (rules.head == LABEL or rules.head == WEIGHTED)
        ):
            parsed.state[line] = PASSED
        elif text[i] == 10:
            parsed.state[line] = ROW  # without entries
        else:
            i, entries, numbers, good = _row(text, i, rules, parsed, line, count, late)
            parsed.state[line] = ROW if good else BAD
            if good:
                count, late = entries, numbers
        while text[i] != 10:
            i += 1
        i += 1
        line += 1
        parsed.bounds[line] = count
    return count, late


def parse_block(block: bytes, rules: Rules) -> tuple[PairArrays, int]:
    """Parse the lines of a block. Returns the arrays, and the number of entries in them."""
    text = np.frombuffer(block, np.uint8)
    lines, most = block.count(b"\n"), block.count(b":") + 1
    parsed = PairArrays(
        np.empty(most, np.uint64),
        np.empty(most),
        np.empty(lines, np.int8),
        np.zeros(lines + 1, np.int64),
        np.full(lines, np.nan),
        np.empty((lines, 2), np.int64),
        np.ones(lines),
        np.full(lines, -1, np.int64),
        np.empty((most, 3), np.int64),
    )
    entries, late = _parse(text, rules, parsed)
    for entry, begin, end in parsed.late[:late].tolist():
        parsed.value[entry] = float(block[begin:end])
    return parsed, entries
