"""The list of items that the threads of a kernel share: ranges of edges or rows, and the tickets by
which those that touch the same rows run one after the other (see `tux.rows.turns`).

Pure functions on arrays. The list depends on data and seeds alone, never on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tux.rows.turns import (
    FIRST,
    FIRST_NEED,
    HI,
    LO,
    PART,
    SECOND,
    SECOND_NEED,
    TICKETS,
    WIDTH,
)

WEIGHT = 1 << 13
"""Edges and rows in an item of vertices: 10 to 100 us."""

MOST = 256
"""Items of vertices in a list."""


def needs(numbers: np.ndarray) -> np.ndarray:
    """(n,) int64: how many earlier entries of `numbers` (n,) are equal to each."""
    order = np.argsort(numbers, kind="stable")
    inside = numbers[order]
    begins = np.flatnonzero(np.concatenate([[True], inside[1:] != inside[:-1]]))
    runs = np.diff(np.append(begins, len(numbers)))
    out = np.empty(len(numbers), np.int64)
    out[order] = np.arange(len(numbers)) - np.repeat(begins, runs)
    return out


def ranges(lo: np.ndarray, hi: np.ndarray, part: np.ndarray | int = 0) -> np.ndarray:
    """Items without tickets."""
    items = np.zeros((len(lo), WIDTH), np.int64)
    items[:, LO], items[:, HI], items[:, PART] = lo, hi, part
    return items


def with_tickets(
    items: np.ndarray, rows: np.ndarray | None, columns: np.ndarray | None
) -> tuple[np.ndarray, int]:
    """The items with tickets of their `rows` (n,) and `columns` (n,), numbers of ranges of either
    end, None: no ticket; and the number of tickets.
    """
    used = 0
    for numbers, place, need in ((rows, FIRST, FIRST_NEED), (columns, SECOND, SECOND_NEED)):
        if numbers is not None and len(numbers):
            lowest = int(numbers.min())
            items[:, place] = TICKETS + used + numbers - lowest
            items[:, need] = needs(numbers)
            used += int(numbers.max()) - lowest + 1
    return items, used


def even_items(lo: int, hi: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Cut rows lo..hi into items of about equal weight, each of WEIGHT or more, MOST at most.
    `weights` (rows + 1,): running sums, such as the bounds of edges; a row itself counts one more.
    """
    if hi <= lo:
        return ranges(np.empty(0, np.int64), np.empty(0, np.int64))
    rows = np.arange(lo, hi + 1, dtype=np.int64)
    sums = rows if weights is None else weights[lo : hi + 1] + rows
    whole = int(sums[-1] - sums[0])
    count = max(1, min(MOST, whole // WEIGHT, hi - lo))
    inner = sums[0] + whole * np.arange(1, count) // count
    cuts = np.unique(np.concatenate([[lo], lo + np.searchsorted(sums, inner), [hi]]))
    return ranges(cuts[:-1], cuts[1:])


class Items(NamedTuple):
    """A list of items (n, WIDTH), and how many tickets they hold."""

    array: np.ndarray
    tickets: int = 0

    def pieces(self, count: int) -> list[Items]:
        """The list, or, if it is long and holds no tickets, about `count` lists of equal length."""
        if count <= 1 or self.tickets or len(self.array) < 2 * count:
            return [self]
        return [Items(piece) for piece in np.array_split(self.array, count)]
