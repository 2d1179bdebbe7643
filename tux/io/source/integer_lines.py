"""Files of whole numbers, any number of them on a line: read in large blocks by a compiled loop
that knows the line of each fault.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.errors import DataError
from tux.io.source.text import blocks, is_plain_number, quote_word

MAX_NUMBER = 2**62  # the largest number


class IntegerLines(NamedTuple):
    """Some lines of a file: the numbers of line i are ``values[bounds[i]:bounds[i + 1]]``.

    `values` (c,) int64; `bounds` (lines + 1,) int64; `number` (lines,) int64: each line's number in
    the file, from 1.
    """

    values: np.ndarray
    bounds: np.ndarray
    number: np.ndarray


@cached_njit
def _parse_lines(text, comment, values, bounds, number, at):  # type: ignore[no-untyped-def]
    """Parse `text`, which is whole lines, the first of them line `at`.

    Returns the counts of values and of lines; or -1 and the count of lines before a bad one,
    comments included.
    """
    i, count, lines, seen = 0, 0, 0, 0
    while i < len(text):
        while text[i] == 32 or text[i] == 9 or text[i] == 13:
            i += 1
        if text[i] == comment:
            while text[i] != 10:
                i += 1
            i += 1
            seen += 1
            continue
        while text[i] != 10:
            value = np.int64(0)
            begin = i
            while 48 <= text[i] <= 57:
                value = value * 10 + (text[i] - 48)
                i += 1
                if i - begin > 18:
                    return -1, seen
            if i == begin or not (text[i] == 32 or text[i] == 9 or text[i] == 13 or text[i] == 10):
                return -1, seen
            values[count] = value
            count += 1
            while text[i] == 32 or text[i] == 9 or text[i] == 13:
                i += 1
        i += 1
        number[lines] = at + seen
        seen += 1
        lines += 1
        bounds[lines] = count
    return count, lines


def read_integer_lines(path: str | os.PathLike[str], comment: str = "%") -> Iterator[IntegerLines]:
    """Yield the lines of a text file, packed or not, some at a time. Lines that begin with
    `comment` are left out, blank ones are not.

    Raises `DataError` with file and line for anything but whole numbers from 0 with blanks between
    them.
    """
    at = 1
    for block in blocks(os.fspath(path)):
        text = np.frombuffer(block, np.uint8)
        ends = block.count(b"\n")
        values = np.empty(len(text) // 2 + 1, np.int64)
        bounds, number = np.zeros(ends + 1, np.int64), np.empty(ends, np.int64)
        count, lines = _parse_lines(text, ord(comment), values, bounds, number, at)
        if count < 0:
            line = block.split(b"\n", lines + 1)[lines].decode(errors="replace")
            word = next((word for word in line.split() if not is_plain_number(word)), "?")
            why = "too large" if word.isdigit() else "no whole number from 0"
            raise DataError(f"{quote_word(word)} is {why}", where=f"{path}:{at + lines}")
        yield IntegerLines(values[:count].copy(), bounds[: lines + 1], number[:lines])
        at += ends
