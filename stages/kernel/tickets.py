"""The list of items that the threads of a kernel share: ranges of edges or rows, and the tickets by
which those that touch the same rows run one after the other (see `tux.rows.turns`).

Pure functions on arrays. The list depends on data and seeds alone, never on the number of threads.
"""

from __future__ import annotations

import numpy as np

from tux.base.random import permutation
from tux.graph.layout import diagonals
from tux.rows.turns import (
    FIRST,
    FIRST_NEED,
    HI,
    LO,
    PART,
    PART_END,
    SECOND,
    SECOND_NEED,
    TICKETS,
    WIDTH,
)

WEIGHT = 1 << 12
"""Edges and rows in an item of vertices: 5 to 200 us."""

EACH = 32
"""Edges of a vertex in a share, on average, if there are enough: each share is a call of its UDF.
"""

EDGES_PER_ITEM = 1 << 14
"""Edges and rows of which there is one item: to share fewer would cost as much as it spares."""

FAR = 8
"""Parts of the rows from which items come in turn. Edges of neighbours lie side by side in memory,
and two threads that write to one cache line wait for each other.
"""

MAX_ITEMS = 256
"""Items of vertices in a list."""


def count_earlier(numbers: np.ndarray) -> np.ndarray:
    """Return (n,) int64: how many earlier entries of `numbers` (n,) are equal to each."""
    order = np.argsort(numbers, kind="stable")
    inside = numbers[order]
    begins = np.flatnonzero(np.concatenate([[True], inside[1:] != inside[:-1]]))
    runs = np.diff(np.append(begins, len(numbers)))
    out = np.empty(len(numbers), np.int64)
    out[order] = np.arange(len(numbers)) - np.repeat(begins, runs)
    return out


def ranges(lo: np.ndarray, hi: np.ndarray, part: np.ndarray | int = 0) -> np.ndarray:
    """Return items without tickets."""
    items = np.zeros((len(lo), WIDTH), np.int64)
    items[:, LO], items[:, HI], items[:, PART] = lo, hi, part
    return items


def with_tickets(
    items: np.ndarray, rows: np.ndarray | None, columns: np.ndarray | None
) -> tuple[np.ndarray, int]:
    """Return the items with tickets of their `rows` (n,) and `columns` (n,), numbers of ranges of
    either end, None: no ticket; and the number of tickets.
    """
    used = 0
    for numbers, place, need in ((rows, FIRST, FIRST_NEED), (columns, SECOND, SECOND_NEED)):
        if numbers is not None and len(numbers):
            lowest = int(numbers.min())
            items[:, place] = TICKETS + used + numbers - lowest
            items[:, need] = count_earlier(numbers)
            used += int(numbers.max()) - lowest + 1
    return items, used


def pair_ranges(numbers: np.ndarray) -> np.ndarray:
    """Return (n,) int64: the number that is paired with each of `numbers` (n,).

    In the order in which they appear, the first half is paired with the second. So neighbours in a
    list of which the order is random are of different pairs, and another list has other pairs. If
    their count is odd, the last is paired with itself.
    """
    found, at = np.unique(numbers, return_index=True)
    order = found[np.argsort(at)]
    half = len(order) // 2
    paired = np.concatenate([order[half : 2 * half], order[:half], order[2 * half :]])
    return paired[np.argsort(order)][np.searchsorted(found, numbers)]


def even_items(lo: int, hi: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Cut rows lo..hi into items of about equal weight, each of WEIGHT or more, MAX_ITEMS at most;
    less than EDGES_PER_ITEM is one. They come from FAR parts of the rows in turn. `weights`
    (rows + 1,): running sums, such as the bounds of edges; a row itself counts one more.
    """
    if hi <= lo:
        return ranges(np.empty(0, np.int64), np.empty(0, np.int64))
    whole = hi - lo + (0 if weights is None else int(weights[hi] - weights[lo]))
    count = max(1, min(MAX_ITEMS, whole // WEIGHT, hi - lo)) if whole >= EDGES_PER_ITEM else 1
    inner = whole * np.arange(1, count) // count
    if weights is not None:
        sums = weights[lo : hi + 1] - weights[lo] + np.arange(hi - lo + 1)
        inner = np.searchsorted(sums, inner)
    cuts = np.unique(np.concatenate([[lo], lo + inner, [hi]]))
    far = np.argsort(np.arange(len(cuts) - 1) % -(-(len(cuts) - 1) // FAR), kind="stable")
    return ranges(cuts[:-1][far], cuts[1:][far])


def cells(
    lo: int,
    hi: int,
    bounds: np.ndarray,
    parts: int,
    stream: np.uint64,
    *,
    columns: bool,
    least: int = EDGES_PER_ITEM,
) -> tuple[np.ndarray, int]:
    """Return ranges of the rows lo..hi by `parts` of the other end, with tickets of the rows and,
    with `columns`, of the parts; and the number of tickets. `bounds` (rows * parts + 1,): running
    numbers of edges by row and part.

    There are as many ranges as parts, and cells come along the diagonals of this grid in random
    order. Edges and rows that are fewer than `least` are one item.
    """
    rows = np.arange(lo, hi + 1, dtype=np.int64)
    weights = bounds[lo * parts : hi * parts + 1 : parts] + rows
    whole = int(weights[-1] - weights[0])
    if hi <= lo or whole < least:
        items = ranges(np.arange(lo, lo + (hi > lo)), np.full(int(hi > lo), hi))
        items[:, PART_END] = parts
        return items, 0
    inner = weights[0] + whole * np.arange(1, parts) // parts
    cuts = np.unique(np.concatenate([[lo], lo + np.searchsorted(weights, inner), [hi]]))
    rows, at = diagonals(len(cuts) - 1, parts)
    rows = permutation(stream, len(cuts) - 1)[rows]
    at = permutation(stream + np.uint64(1), parts)[at]
    items = ranges(cuts[rows], cuts[rows + 1], at)
    items[:, PART_END] = at + 1
    return with_tickets(items, rows, at if columns else None)


class Items:
    """A list of items (n, WIDTH), how many tickets they hold, and the boundaries (runs + 1,) of the
    runs that threads take; None if each item is one. `edges`: the number of edges that are visited;
    items are ranges `of_edges` themselves, or of rows. `beside` (n, 8) int64: of the edges beside
    those of each item the first, the last + 1, the row from which their ends count, and how many
    are visited with it, none if they are its own; and the first row and the last + 1 of its own
    range, and of the one beside. Many lists are run in every pass, so what is known of one is kept.
    """

    def __init__(
        self,
        array: np.ndarray,
        tickets: int = 0,
        runs: np.ndarray | None = None,
        *,
        edges: int = 0,
        of_edges: bool = False,
        beside: np.ndarray | None = None,
    ) -> None:
        self.array, self.tickets, self.of_edges, self.beside = array, tickets, of_edges, beside
        self.runs = np.arange(len(array) + 1) if runs is None else runs
        self.size = int((array[:, HI] - array[:, LO]).sum())
        self.size += int(beside[:, 3].sum()) if beside is not None else 0
        """Edges, or rows, of all items."""
        self.edges = self.size if of_edges else edges
        self._pieces: dict[tuple[int, int], list[Items]] = {}

    def pieces(self, most: int, least: int) -> list[Items]:
        """Return the list alone; or, if it holds no tickets, up to `most` lists of `least` items or
        more.
        """
        count = min(most, len(self.array) // max(least, 1))
        if count <= 1 or self.tickets:
            return [self]
        if (most, least) not in self._pieces:
            split = [
                Items(piece, of_edges=self.of_edges) for piece in np.array_split(self.array, count)
            ]
            self._pieces[most, least] = split
        return self._pieces[most, least]
