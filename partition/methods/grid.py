"""2D grid: the parts are cells of a grid; a source picks the column and a target the row, or both
pick a row and a column.

The first is EdgePartition2D of GraphX (OSDI 2014), the second the constrained greedy cut of
GraphBuilder (Jain et al., GRADES 2013).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tux.base.compiled import cached_njit
from tux.base.hashing import by_hash, hash_values
from tux.partition.common.capacity import capacity, limit_parts
from tux.partition.common.ends import Progress, ends
from tux.partition.common.pieces import place_pieces

_CHUNK = 1 << 20


def grid(
    src: np.ndarray,
    dst: np.ndarray,
    k: int,
    seed: int = 0,
    *,
    bipartite: bool = False,
    cap: float | None = None,
    progress: Progress = None,
    greedy: bool = False,
) -> np.ndarray:
    """Place each edge in a cell that its ends have in common; parts (m,) int16. Without `cap`,
    |A(v)| < 2 sqrt(k) for any k.

    The k cells fill columns of ceil(k / ceil(sqrt k)) rows, the last one perhaps in part: cell p is
    in column p // rows and row p % rows, and a vertex has the cell ``hash(v) mod k``. An edge goes
    to the column of its source and to the row ``hash(dst) mod r``, where r is the number of rows in
    that column.

    With `greedy`, a vertex may have edges in the row and in the column of its cell, and the edge
    goes to the least loaded part that both ends may use (the lowest number of several): better
    balanced and the same for (u, v) and (v, u), for more replicas.
    """
    edges = ends(src, dst, bipartite)
    m, limit = len(edges.src), capacity(len(edges.src), k, cap)
    numbers = np.arange(edges.vertices)
    if not greedy:
        rule = cells_of(numbers, k, seed).parts
        return limit_parts(place_pieces(rule, edges.src, edges.dst, progress), k, limit)
    rows, load, parts = _rows(k), np.zeros(k, np.int64), np.empty(m, np.int16)
    home = by_hash(numbers, k, seed)
    for lo in range(0, m, _CHUNK):
        a, b, out = (x[lo : lo + _CHUNK] for x in (edges.src, edges.dst, parts))
        _least_loaded(a, b, home, rows, load, out)
        if progress:
            progress((lo + len(a)) / m)
    return limit_parts(parts, k, limit)


class Cells(NamedTuple):
    """The choices of each vertex (n,) int16: the `column` that it picks as a source, and as a
    target the `row`, or the one in the `last` column, which may have fewer than `rows`.
    """

    rows: int
    last: int
    column: np.ndarray
    row: np.ndarray
    row_in_last: np.ndarray

    def parts(self, src: np.ndarray, dst: np.ndarray) -> np.ndarray:
        """Return the part of each edge between these vertices, (m,) int16."""
        across = self.column[src]
        return across * self.rows + np.where(
            across < self.last, self.row[dst], self.row_in_last[dst]
        )


def cells_of(numbers: np.ndarray, k: int, seed: int) -> Cells:
    """Return the choices of the vertices of these numbers in a grid of k cells."""
    rows = _rows(k)
    last = (k - 1) // rows
    wide = hash_values(numbers, seed)
    column = (wide % np.uint64(k)).astype(np.int16) // rows
    row, row_in_last = (
        (wide % np.uint64(count)).astype(np.int16) for count in (rows, k - last * rows)
    )
    return Cells(rows, last, column, row, row_in_last)


def _rows(k: int) -> int:
    """Return the number of rows in a full column of a grid of k cells."""
    return -(-k // (math.isqrt(k - 1) + 1))


@cached_njit
def _least_loaded(src, dst, home, rows, load, parts):  # type: ignore[no-untyped-def]
    k = len(load)
    for i in range(len(src)):
        a, b = home[src[i]], home[dst[i]]
        column_a, column_b = a // rows, b // rows
        row_a, row_b = a - column_a * rows, b - column_b * rows
        # A cell missing from the short last column: then the other corner exists, since its row is
        # that of a cell in the last column.
        first, second = column_a * rows + row_b, column_b * rows + row_a
        best = first if first < k else second
        if second < k and (
            load[second] < load[best] or (load[second] == load[best] and second < best)
        ):
            best = second
        if column_a == column_b:
            for p in range(column_a * rows, min(k, column_a * rows + rows)):
                if load[p] < load[best] or (load[p] == load[best] and p < best):
                    best = p
        if row_a == row_b:
            for p in range(row_a, k, rows):
                if load[p] < load[best] or (load[p] == load[best] and p < best):
                    best = p
        parts[i] = best
        load[best] += 1
