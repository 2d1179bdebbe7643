"""Rows as lines of ``column:number`` pairs: libsvm's format of samples, and lda-c's of documents.

    [label] column:number column:number ...  # comment libsvm, SVMlight: columns from 1, numbers are
                                             any
    N column:number column:number ...  lda-c: N pairs, columns from 0, numbers are counts

(Chang and Lin: LIBSVM, README; Joachims: SVMlight; Blei: lda-c, readme.) Columns of a row stand in
any order; they are sorted, and the numbers of a column that stands in a row several times are added
up. A compiled loop reads a block of lines and marks the bad ones; what is wrong with these is found
out line by line. It rounds numbers of up to 18 digits correctly; others are left to Python.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from tux.arrays.arrow import STRING
from tux.base.errors import DataError
from tux.io.entries import WHOLE, Asked, Entries, Gathered, repetitions, summed
from tux.io.text import NUMBER, note, short, text_blocks
from tux.partition.compiled import compiled

NOTHING, LABEL, COUNT = range(3)  # what a line begins with
PASSED, ROW, BAD = range(3)  # what a line is

REACH = 60  # powers of ten from -REACH to REACH are known, each as the sum of two doubles
POWERS = [Fraction(10) ** k for k in range(-REACH, REACH + 1)]
HIGH = np.array([float(power) for power in POWERS])
LOW = np.array([float(power - Fraction(float(power))) for power in POWERS])
SPLIT = 2.0**27 + 1.0


class Rules(NamedTuple):
    """What a line is to be."""

    head: int  # NOTHING, LABEL or COUNT
    first: np.uint64  # the lowest and the highest number of a column
    last: np.uint64
    comments: bool  # # begins a comment
    whole: bool  # an entry's number is whole
    least: float  # and lies between these
    most: float


class Parsed(NamedTuple):
    """Room for what a block of lines holds; `at` gives the places of numbers that are left to
    Python.
    """

    column: np.ndarray  # (m,) uint64
    value: np.ndarray  # (m,) float64
    state: np.ndarray  # (lines,) int8: PASSED, ROW or BAD
    bounds: np.ndarray  # (lines + 1,) int64
    label: np.ndarray  # (lines,) float64, NaN if it is left to Python
    label_at: np.ndarray  # (lines, 2) int64: begin and end
    late: np.ndarray  # (m, 3) int64: entry, begin and end


@compiled
def _scaled(mantissa, exponent):  # type: ignore[no-untyped-def]
    """``mantissa * 10**exponent``, and whether it is certain to be the nearest double.

    The product of two sums of two doubles (Dekker 1971) is known to about 104 bits, which decides
    the rounding but for near ties.
    """
    if mantissa == 0 or exponent == 0 and mantissa < 2**53:
        return np.float64(mantissa), True
    if not -REACH <= exponent <= REACH:
        half = exponent // 2
        return mantissa * 10.0**half * 10.0 ** (exponent - half), False
    a, b = np.float64(mantissa), HIGH[exponent + REACH]
    product = a * b
    a_high, b_high = SPLIT * a, SPLIT * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    rest = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    rest += a * LOW[exponent + REACH] + np.float64(mantissa - np.int64(a)) * b
    doubt = product * 2.0**-98
    return product + rest, product + (rest - doubt) == product + (rest + doubt)


@compiled
def _number(text, i):  # type: ignore[no-untyped-def]
    """The number at text[i]: its value (NaN if there is none), its end, whether it has the form
    of a whole number, whether it is exact.
    """
    negative = text[i] == 45
    if negative or text[i] == 43:
        i += 1
    mantissa, digits, exponent = np.int64(0), 0, 0
    any_, fraction, whole = False, 0, True
    while 48 <= text[i] <= 57 or (text[i] == 46 and not fraction):
        if text[i] == 46:
            fraction, whole = 1, False
        else:
            any_ = True
            if digits < 18:
                mantissa = mantissa * 10 + (text[i] - 48)
                digits += mantissa > 0
                exponent -= fraction
            else:
                exponent += 1 - fraction
                digits += 1
        i += 1
    if not any_:
        return np.nan, i, False, False
    if text[i] == 101 or text[i] == 69:
        i += 1
        whole = False
        down = text[i] == 45
        if down or text[i] == 43:
            i += 1
        begin, power = i, 0
        while 48 <= text[i] <= 57:
            power = min(power * 10 + (text[i] - 48), 100_000)
            i += 1
        if i == begin:
            return np.nan, i, False, False
        exponent += -power if down else power
    value, exact = _scaled(mantissa, exponent)
    return -value if negative else value, i, whole, exact and digits <= 18


@compiled
def _pair(text, i, rules):  # type: ignore[no-untyped-def]
    """The pair at text[i]: its column, number, the latter's begin and end, whether that is
    exact, and whether the pair may stand here.
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
    value, i, whole, exact = _number(text, begin)
    ended = (
        text[i] == 32
        or text[i] == 9
        or text[i] == 13
        or text[i] == 10
        or (rules.comments and text[i] == 35)
    )
    if (
        not ended
        or not rules.least <= value <= rules.most
        or (rules.whole and not (whole and value <= WHOLE and -value <= WHOLE))
    ):
        return column, 0.0, begin, i, False, False
    return column, value, begin, i, exact, True


@compiled
def _begun(text, i, rules, parsed, line):  # type: ignore[no-untyped-def]
    """The head of a line: its end, -1 if it is a bad one, and the number of pairs that it says
    there are.
    """
    begin, stated = i, np.int64(0)
    if rules.head == 2:
        while 48 <= text[i] <= 57 and i - begin < 18:
            stated = stated * 10 + (text[i] - 48)
            i += 1
        return (
            i
            if i > begin and (text[i] == 32 or text[i] == 9 or text[i] == 13 or text[i] == 10)
            else -1
        ), stated
    if rules.head == 1:
        while 32 < text[i] < 127 and text[i] != 35:
            if text[i] == 58:
                return -1, stated
            i += 1
        if text[i] > 32 and text[i] != 35:
            return -1, stated
        value, end, _, exact = _number(text, begin)
        parsed.label[line] = value if end == i and exact else np.nan
        parsed.label_at[line, 0] = begin
        parsed.label_at[line, 1] = i
    return i, stated


@compiled
def _read(text, rules, parsed):  # type: ignore[no-untyped-def]
    """Parse whole lines. Returns the counts of entries and of those left to Python; a bad line
    has neither.
    """
    i, line, count, late = 0, 0, 0, 0
    while i < len(text):
        count_before, late_before = count, late
        while text[i] == 32 or text[i] == 9 or text[i] == 13:
            i += 1
        state = 1
        if (rules.comments and text[i] == 35) or (text[i] == 10 and rules.head == 1):
            state = 0
        elif text[i] != 10:
            at, stated = _begun(text, i, rules, parsed, line)
            i = at if at >= 0 else i
            state = 1 if at >= 0 else 2
            while state == 1:
                while text[i] == 32 or text[i] == 9 or text[i] == 13:
                    i += 1
                if text[i] == 10 or (rules.comments and text[i] == 35):
                    break
                column, value, begin, i, exact, good = _pair(text, i, rules)
                if not good:
                    state = 2
                    break
                parsed.column[count] = column
                parsed.value[count] = value
                if not exact:
                    parsed.late[late, 0] = count
                    parsed.late[late, 1] = begin
                    parsed.late[late, 2] = i
                    late += 1
                count += 1
            if rules.head == 2 and count - count_before != stated:
                state = 2
        if state == 2:
            count, late = count_before, late_before
        while text[i] != 10:
            i += 1
        i += 1
        parsed.state[line] = state
        line += 1
        parsed.bounds[line] = count
    return count, late


def read_lines(asked: Asked, form: str) -> Entries:
    """Read a file of form "svm" or "lda-c"; rows are numbered from 1, and bad ones keep their
    numbers. See `tux.io.bags.read_bags`.
    """
    gathered, labels = Gathered(asked.dtype), _Labels()
    rules: Rules | None = None
    begun = b""  # lines before the first that shows whether there are labels
    number, rows, repeated = 1, 0, 0
    for block in text_blocks(asked.path):
        if rules is None:
            begun = block = begun + block
            if (rules := _rules(begun, asked, form)) is None:
                continue
        parsed, entries = _block(block, rules)
        lengths, columns, values, more = _sorted(parsed, entries, rules)
        repeated += more
        if (parsed.state == BAD).any():
            note(
                asked.bad,
                np.flatnonzero(parsed.state == BAD),
                block,
                number,
                lambda line: _fault(line, rules, asked),
            )
        good = parsed.state == ROW
        ids = (np.cumsum(parsed.state != PASSED) + rows)[good]
        gathered.add(ids, lengths[good], columns, values)
        if rules.head == LABEL:
            labels.add(block, parsed.label[good], parsed.label_at[good])
        rows += int(np.count_nonzero(parsed.state))
        number += len(parsed.state)
    if rules is None:
        raise DataError(
            f"{asked.path} is empty" if not begun.strip() else f"{asked.path} holds no {asked.row}"
        )
    whole = gathered.whole(labels.whole() if rules.head == LABEL else None)
    return whole._replace(notes=repetitions(repeated, asked.row, asked.column))


def _rules(lines: bytes, asked: Asked, form: str) -> Rules | None:
    """What the lines of a file are to be, by the first of them that is neither blank nor a
    comment; None if there is none.
    """
    if form == "lda-c":
        return (
            Rules(
                COUNT,
                np.uint64(asked.first),
                np.uint64(asked.last),
                False,
                True,
                *map(float, asked.counts()),
            )
            if lines.strip()
            else None
        )
    first = re.search(rb"^[ \t\r]*([^\s#]+)", lines, re.MULTILINE)
    if first is None:
        return None
    head = NOTHING if b":" in first[1] else LABEL
    return Rules(
        head,
        np.uint64(asked.first),
        np.uint64(asked.last),
        True,
        asked.dtype.kind != "f",
        *map(float, asked.reals()),
    )


def _block(block: bytes, rules: Rules) -> tuple[Parsed, int]:
    """The lines of a block, and the number of their entries."""
    text = np.frombuffer(block, np.uint8)
    lines, most = block.count(b"\n"), block.count(b":") + 1
    parsed = Parsed(
        np.empty(most, np.uint64),
        np.empty(most),
        np.empty(lines, np.int8),
        np.zeros(lines + 1, np.int64),
        np.full(lines, np.nan),
        np.empty((lines, 2), np.int64),
        np.empty((most, 3), np.int64),
    )
    entries, late = _read(text, rules, parsed)
    for entry, begin, end in parsed.late[:late].tolist():
        parsed.value[entry] = float(block[begin:end])
    return parsed, entries


def _sorted(
    parsed: Parsed, entries: int, rules: Rules
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The number of entries of each line, and these entries with ascending columns, each once a
    line; how many were repetitions.

    A line in which a sum is out of range is marked as bad, and its entries are left out.
    """
    column, value, lengths = parsed.column[:entries], parsed.value[:entries], np.diff(parsed.bounds)
    falls = column[1:] <= column[:-1]
    inner = parsed.bounds[1:-1]
    falls[inner[(inner > 0) & (inner < entries)] - 1] = False  # another line begins
    if not falls.any():
        return lengths, column, value, 0
    line = np.repeat(np.arange(len(lengths)), lengths)
    line, column, value = summed(line, column, value)
    wrong = line[~((rules.least <= value) & (value <= rules.most))]
    parsed.state[wrong] = BAD
    good = parsed.state[line] == ROW
    lengths = np.bincount(line[good], minlength=len(lengths))
    return lengths, column[good], value[good], entries - len(line)


class _Labels:
    """Labels that arrive block by block: numbers as long as all are; else strings, a number
    among them written plainly.
    """

    def __init__(self) -> None:
        self.numbers: list[np.ndarray] = [np.empty(0)]
        self.words: dict[int, str] = {}  # by place, those that are no numbers
        self.count = 0

    def add(self, block: bytes, label: np.ndarray, at: np.ndarray) -> None:
        """Append the labels of a block's rows."""
        for row in np.flatnonzero(np.isnan(label)).tolist():
            word = block[at[row, 0] : at[row, 1]].decode()
            if NUMBER.fullmatch(word) and np.isfinite(float(word)):
                label[row] = float(word)
            else:
                self.words[self.count + row] = word
        self.numbers.append(label)
        self.count += len(label)

    def whole(self) -> np.ndarray:
        """All of them, float64 or StringDType."""
        numbers = np.concatenate(self.numbers)
        if not self.words:
            return numbers
        return np.array(
            [self.words.get(at) or f"{number:.17g}" for at, number in enumerate(numbers.tolist())],
            STRING,
        )


# ---- what is wrong with a line


def _fault(line: str, rules: Rules, asked: Asked) -> str:
    """What is wrong with a line that was marked as bad."""
    words = re.findall(r"[^ \t\r]+", line.split("#")[0] if rules.comments else line)
    head = words[0] if words and rules.head != NOTHING else ""
    pairs = words[rules.head != NOTHING :]
    if rules.head == LABEL and ":" in head:
        return f"a {asked.row} without a label, but the first one has one"
    if rules.head == LABEL and not head.isascii() or not head.isprintable():
        return f"{short(head)} is no label: it is not plain text"
    if rules.head == COUNT and not (head.isascii() and head.isdigit() and len(head) <= 18):
        return f"{short(head)} is no number of {asked.column}s: a line begins with it"
    for pair in pairs:
        if why := _pair_fault(pair, rules, asked):
            return why
    if rules.head == COUNT and int(head) != len(pairs):
        return f"{int(head):,} {asked.column}s are announced, but there are {len(pairs):,}"
    sums: dict[int, float] = {}
    for column, number in (pair.split(":") for pair in pairs):
        sums[int(column)] = sums.get(int(column), 0.0) + float(number)
    wrong = next((at for at, each in sums.items() if not rules.least <= each <= rules.most), None)
    return (
        ""
        if wrong is None
        else (
            f"the numbers of {asked.column} {wrong} add up to {sums[wrong]:g}, beyond {asked.dtype}"
        )
    )


def _pair_fault(pair: str, rules: Rules, asked: Asked) -> str:
    column, colon, number = pair.partition(":")
    if not (colon and column.isascii() and column.isdigit()):
        return f"{short(pair)} is no {asked.column}:{asked.field}"
    if len(column.lstrip("0")) > 20:
        return f"{asked.column} {short(column)} is too large a number"
    if why := asked.outside(int(column)):
        return why
    return number_fault(
        number,
        f"{asked.field} of {asked.column} {int(column)}",
        rules.whole,
        rules.least,
        rules.most,
        asked.dtype,
    )


def number_fault(
    number: str, name: str, whole: bool, least: float, most: float, dtype: np.dtype
) -> str:
    """What is wrong with the number of an entry, or nothing."""
    if whole and not re.fullmatch(r"[+-]?\d+", number, re.ASCII) or not NUMBER.fullmatch(number):
        return f"{name} is {short(number)}, not a {'whole ' if whole else ''}number"
    if (
        not np.isfinite(value := float(number))
        or dtype.kind == "f"
        and not whole
        and not least <= value <= most
    ):
        return f"{name} is {short(number)}, not finite"
    if value < least == 1:
        return f"{name} is {short(number)}, but a count is at least 1"
    if not least <= value <= most or whole and abs(value) > WHOLE:
        return f"{name} is {short(number)}, beyond {dtype}"
    return ""
