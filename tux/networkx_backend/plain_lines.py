"""Lines of two integers, and of a decimal number if it is wanted, read from bytes by a compiled
loop. What else Python's `int` and `float` take, it leaves to them.
"""

from __future__ import annotations

from tux.base.compiled import cached_njit

NOTHING_ELSE, WEIGHT, ANYTHING = range(3)
"""What may follow two integers on a line."""

MOST_DIGITS = 18  # of an integer that surely fits in 64 bits
EXACT_DIGITS = 15  # of one that is exact as float64, as is the power of ten that divides it
ASCII = 128

NEW_LINE, RETURN, BLANK, TAB, MINUS, POINT, ZERO, NINE = b"\n\r \t-.09"


@cached_njit
def _skip_blanks(text, at):  # type: ignore[no-untyped-def]
    while text[at] == BLANK or text[at] == TAB:
        at += 1
    return at


@cached_njit
def _next_word(text, at, separator):  # type: ignore[no-untyped-def]
    """Return where the word after a separator at `at` begins, -1 if none is there."""
    if separator >= 0:
        return at + 1 if text[at] == separator else -1
    begin = _skip_blanks(text, at)
    return begin if begin > at else -1


@cached_njit
def _read_integer(text, at):  # type: ignore[no-untyped-def]
    """Return an integer and where it ends; `at` itself if there is none of up to 18 digits."""
    begin = at + (text[at] == MINUS)
    number, end = 0, begin
    while ZERO <= text[end] <= NINE:
        number = 10 * number + (text[end] - ZERO)
        end += 1
    if end == begin or end > begin + MOST_DIGITS:
        return 0, at
    return (-number if begin > at else number), end


@cached_njit
def _read_decimal(text, at):  # type: ignore[no-untyped-def]
    """Return a number as `float` reads it, and where it ends; `at` itself if there is none of up to
    15 digits.
    """
    begin = at + (text[at] == MINUS)
    number, digits, scale, is_fraction = 0, 0, 1.0, False
    end = begin
    while ZERO <= text[end] <= NINE or text[end] == POINT and not is_fraction:
        if text[end] == POINT:
            is_fraction = True
        else:
            number, digits = 10 * number + (text[end] - ZERO), digits + 1
            scale = 10 * scale if is_fraction else scale
        end += 1
    if digits == 0 or digits > EXACT_DIGITS:
        return 0.0, at
    return (-(number / scale) if begin > at else number / scale), end


@cached_njit
def _end_of_rest(text, at):  # type: ignore[no-untyped-def]
    """Return where a line ends, or has a first byte that a decoder may refuse."""
    while text[at] != NEW_LINE and text[at] < ASCII:
        at += 1
    return at


@cached_njit
def read_plain_lines(text, separator, rest, ends, weights):  # type: ignore[no-untyped-def]
    """Read lines up to the first other one: write their integers to `ends`, and with rest `WEIGHT`
    their numbers to `weights`; return where that line begins, and how many lines there are.

    Words are separated by the byte `separator`, or by blanks if it is -1. `text` ends with a new
    line.
    """
    line = count = 0
    while line < len(text):
        begin = _skip_blanks(text, line) if separator < 0 else line
        first, end = _read_integer(text, begin)
        at = _next_word(text, end, separator)
        if end == begin or at < 0:
            break
        second, end = _read_integer(text, at)
        if end == at:
            break
        if rest == WEIGHT:
            at = _next_word(text, end, separator)
            if at < 0:
                break
            weights[count], end = _read_decimal(text, at)
            if end == at:
                break
        elif rest == ANYTHING and _next_word(text, end, separator) >= 0:
            end = _end_of_rest(text, end)
        end = _skip_blanks(text, end) if separator < 0 else end
        end += text[end] == RETURN
        if text[end] != NEW_LINE:
            break
        ends[2 * count], ends[2 * count + 1] = first, second
        count += 1
        line = end + 1
    return line, count
